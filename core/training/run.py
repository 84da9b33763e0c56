"""A training run from the outside: its folder, its state, its programs, and how it can end."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from filelock import FileLock, Timeout

from core.environments import TimedEnvironment, make_environment
from core.training.checkpoint import Checkpoints
from core.training.devices import check_memory, place, seed_mesh, spread
from core.training.errors import RunError, RunInterruptedError
from core.training.interruption import Interruption, interruptible
from core.training.logging import MetricsLog, closing, write_atomically
from core.training.loop import Programs, train_to_the_end
from core.training.program import RunState, Train
from core.training.progress import ProgressBar
from core.training.resumption import resume
from core.training.run_config import RunConfig


def run(
    config: RunConfig,
    make_train: Callable[[Any, TimedEnvironment], Train],
    bar: ProgressBar | None = None,
) -> RunState:
    """Trains to the end, from the newest checkpoint of the folder if it has one.

    Args:
        config: The run.
        make_train: The agent's: from `RunConfig.train` and an environment to the run's functions.
        bar: Where to show progress; standard error by default.

    Returns:
        The final state.

    Raises:
        RunInterruptedError: Ctrl-C or SIGTERM; says from where the run can go on.
        RunError: Another process has the folder, it can not be written, a loss was not
            finite, or the device failed.
        CheckpointError: See `Checkpoints` and `resume`.
        LoggingError: See `MetricsLog`.
        ConfigError: See `TrainConfig`, `seed_mesh`, `check_memory` and `resume`.
        EnvironmentSetupError: See `make_environment`.
    """
    environment = make_environment(
        config.env, action_repeat=config.action_repeat, time_limit=config.time_limit
    )
    return run_program(config, make_train(config.train, environment), bar)


def run_program(config: RunConfig, train: Train, bar: ProgressBar | None = None) -> RunState:
    """Trains to the end, as `run`, with the functions of a run whatever they are of.

    Raises:
        RunInterruptedError, RunError, CheckpointError, LoggingError, ConfigError: See `run`.
    """
    mesh = seed_mesh(len(config.seeds), config.devices)
    train = spread(train, mesh)
    keys = jax.vmap(jax.random.key)(np.asarray(config.seeds, np.uint32))
    shape = place(jax.eval_shape(train.init, keys), mesh)
    check_memory(shape, mesh)
    bar = bar or ProgressBar(config.train.ticks * config.train.n_envs)
    with _sole_user(config.logdir):
        checkpoints = Checkpoints(
            config.logdir / "checkpoints", config.identity(), config.defaults()
        )
        interruption = Interruption()
        try:
            if checkpoints.latest is None:
                state = jax.jit(train.init)(keys)
            else:
                rows, state = resume(checkpoints, config.train, train, shape, mesh)
                bar.note(f"resuming at {rows:,} rows from {checkpoints.folder}")
            if int(state.tick) >= config.train.ticks:
                bar.note("nothing is left to do: choose more --steps or another --logdir")
                return state
            return _go_on(config, train, state, shape, checkpoints, bar, interruption)
        except KeyboardInterrupt as interrupt:
            raise RunInterruptedError(
                _where_it_goes_on(checkpoints), interruption.number or signal.SIGINT
            ) from interrupt
        except jax.errors.JaxRuntimeError as error:
            told = str(error).splitlines()[0]
            raise RunError(
                f"the device failed: {told}; if it is memory that lacks, choose a smaller --size, "
                f"--replay-capacity, --agent.batch_size or number of seeds"
            ) from error


def _where_it_goes_on(checkpoints: Checkpoints) -> str:
    if checkpoints.latest is None:
        return "interrupted before the first checkpoint; the same command starts anew"
    return (
        f"interrupted; the last checkpoint holds {checkpoints.latest:,} rows, and the same command "
        f"goes on there"
    )


def _go_on(
    config: RunConfig,
    train: Train,
    state: RunState,
    shape: RunState,
    checkpoints: Checkpoints,
    bar: ProgressBar,
    interruption: Interruption,
) -> RunState:
    """From a state to the end."""
    if train.ticks_without_updates >= config.train.ticks:
        first = train.ticks_without_updates + 1
        bar.note(
            f"the first update would come at {first * config.train.n_envs:,} rows: "
            f"nothing is learned in {config.train.steps:,} steps"
        )
    with ExitStack() as stack:
        stack.enter_context(interruption.watched())
        # Before the compilation, because they may find out that the run can not be.
        _write_config(config)
        log = stack.enter_context(
            closing(
                MetricsLog(
                    config.logdir / "metrics.jsonl",
                    rows=int(state.tick) * config.train.n_envs,
                    tensorboard=config.logdir / "tensorboard" if config.tensorboard else None,
                )
            )
        )
        if log.remark:
            bar.note(log.remark)
        programs = _compiled(config, train, shape, bar, interruption)
        stack.enter_context(bar)
        return train_to_the_end(config, state, programs, checkpoints, log, bar, interruption)


def _compiled(
    config: RunConfig,
    train: Train,
    shape: RunState,
    bar: ProgressBar,
    interruption: Interruption,
) -> Programs:
    started = time.perf_counter()
    with bar.busy("compiling the training program, which later starts find in the cache") as beat:
        # From shapes and not from the arrays: those of a checkpoint are tied to their
        # device, which would be another program in the eyes of the cache.
        chunk = interruptible(
            lambda: (
                jax.jit(train.chunk, donate_argnums=0)
                .lower(shape, jnp.int32(1), *train.constants)
                .compile()
            ),
            interruption,
            beat,
        )
        evaluate = None
        if config.eval_every:
            evaluate = interruptible(
                lambda: jax.jit(train.evaluate).lower(shape).compile(), interruption, beat
            )
    bar.note(f"compiled in {time.perf_counter() - started:.1f} s")
    return Programs(train, chunk, evaluate)


def _write_config(config: RunConfig) -> None:
    path = config.logdir / "config.json"
    try:
        write_atomically(path, config.to_json().encode())
    except OSError as error:
        raise RunError(
            f"{path} can not be written: {error.strerror or error}; make room and start again with "
            f"the same command, or choose another --logdir"
        ) from error


@contextmanager
def _sole_user(logdir: Path) -> Iterator[None]:
    try:
        logdir.mkdir(parents=True, exist_ok=True)
        lock = FileLock(logdir / ".lock")
        lock.acquire(timeout=0)
    except Timeout as error:
        raise RunError(
            f"another process is training in {logdir}; wait for it, stop it, or choose another "
            f"folder"
        ) from error
    except OSError as error:
        raise RunError(
            f"{logdir} can not be used: {error.strerror or error}; choose another folder"
        ) from error
    try:
        yield
    finally:
        lock.release()
