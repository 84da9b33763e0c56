"""A training run from the outside: compile, chunk by chunk, log, save, resume."""

from __future__ import annotations

import dataclasses
import json
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from filelock import FileLock, Timeout

from core.dreamerv3.checkpoint import Checkpoints
from core.dreamerv3.config import ConfigError
from core.dreamerv3.devices import place, seed_mesh, spread
from core.dreamerv3.logging import MetricsLog, ProgressBar, closing, write_atomically
from core.dreamerv3.train import RunState, TrainConfig, make_train
from core.environments import make_environment


class RunError(Exception):
    """A run can not start or can not go on."""


@dataclasses.dataclass(frozen=True)
class RunConfig:
    """A run from the command line.

    Attributes:
        train: What is trained.
        env: Name of the environment.
        seeds: One independent run each, side by side.
        logdir: The run's folder.
        action_repeat: Steps of the environment per action.
        time_limit: Steps after which an episode is cut off; None for the environment's own.
        eval_every: Rows between evaluations; 0 for none.
        save_every: Seconds between checkpoints, one of which always ends the run.
        chunk_seconds: How long the device works before the progress bar moves.
        tensorboard: Whether to write TensorBoard files too.
        devices: Devices that the seeds are spread over.
    """

    train: TrainConfig
    env: str
    seeds: tuple[int, ...]
    logdir: Path
    action_repeat: int = 1
    time_limit: int | None = None
    eval_every: int = 0
    save_every: float = 300.0
    chunk_seconds: float = 2.0
    tensorboard: bool = False
    devices: int = 1

    def __post_init__(self) -> None:
        if not self.seeds or len(set(self.seeds)) < len(self.seeds):
            raise ConfigError(f"seeds must be one or more different numbers, not {self.seeds}")
        if min(self.seeds) < 0 or max(self.seeds) >= 2**32:
            raise ConfigError(f"seeds must lie in 0 to {2**32 - 1}, not {self.seeds}")
        if self.eval_every < 0 or self.save_every < 0:
            raise ConfigError("eval_every and save_every must not be negative")

    def identity(self) -> dict[str, Any]:
        """What a resumed run must have in common with the one that saved.

        The length of the run is not part of it, but the size of the ring is.
        """
        train = dataclasses.asdict(self.train)
        agent = {f"agent.{key}": value for key, value in train.pop("agent").items()}
        del train["steps"], train["replay_capacity"]
        return {
            "env": self.env,
            "seeds": list(self.seeds),
            "action_repeat": self.action_repeat,
            "time_limit": self.time_limit,
            "devices": self.devices,
            **train,
            "replay rows per environment (from --steps, --replay-capacity)": self.train.ring_rows,
            **agent,
        }


def run(config: RunConfig, bar: ProgressBar | None = None) -> RunState:
    """Trains to the end, from the newest checkpoint of the folder if it has one.

    Args:
        config: The run.
        bar: Where to show progress; standard error by default.

    Returns:
        The final state.

    Raises:
        RunError: Another process has the folder, a loss was not finite, or the run was
            interrupted (after it saved itself).
        CheckpointError: See `Checkpoints`.
        LoggingError: See `MetricsLog`.
        ConfigError: See `TrainConfig`.
        EnvironmentSetupError: See `make_environment`.
    """
    environment = make_environment(
        config.env, action_repeat=config.action_repeat, time_limit=config.time_limit
    )
    mesh = seed_mesh(len(config.seeds), config.devices)
    train = spread(make_train(config.train, environment), mesh)
    bar = bar or ProgressBar(config.train.ticks * config.train.n_envs)
    with ExitStack() as stack:
        stack.enter_context(_sole_user(config.logdir))
        checkpoints = Checkpoints(config.logdir / "checkpoints", config.identity())
        keys = jax.vmap(jax.random.key)(np.asarray(config.seeds, np.uint32))
        shape = place(jax.eval_shape(train.init, keys), mesh)
        if checkpoints.latest is None:
            state = jax.jit(train.init)(keys)
        else:
            rows, state = checkpoints.restore(shape)
            state = place(state, mesh)
            bar.note(f"resuming at {rows:,} rows from {checkpoints.folder}")
        if int(state.tick) >= config.train.ticks:
            bar.note("nothing is left to do: choose more --steps or another --logdir")
            return state
        write_atomically(config.logdir / "config.json", _pretty(config))
        started = time.perf_counter()
        with bar.busy("compiling the training program, which later starts find in the cache"):
            # From shapes and not from the arrays: those of a checkpoint are tied to their
            # device, which would be another program in the eyes of the cache.
            chunk = jax.jit(train.chunk, donate_argnums=0).lower(shape, jnp.int32(1)).compile()
            evaluate = None
            if config.eval_every:
                evaluate = jax.jit(train.evaluate).lower(shape).compile()
        bar.note(f"compiled in {time.perf_counter() - started:.1f} s")
        log = stack.enter_context(
            closing(
                MetricsLog(
                    config.logdir / "metrics.jsonl",
                    rows=int(state.tick) * config.train.n_envs,
                    tensorboard=config.logdir / "tensorboard" if config.tensorboard else None,
                )
            )
        )
        stack.enter_context(bar)
        stopping = stack.enter_context(_signals())
        return _loop(config, state, chunk, evaluate, train.terms, checkpoints, log, bar, stopping)


def _loop(
    config: RunConfig,
    state: RunState,
    chunk: Callable[..., Any],
    evaluate: Callable[..., Any] | None,
    terms: tuple[str, ...],
    checkpoints: Checkpoints,
    log: MetricsLog,
    bar: ProgressBar,
    stopping: threading.Event,
) -> RunState:
    train, seeds = config.train, config.seeds
    tick, pace = int(state.tick), _Pace(config.chunk_seconds)
    saved = window_start = time.perf_counter()
    window_tick, window_updates = tick, int(train.updates_after(tick))
    log_ticks = train.ticks_of(train.log_every)
    eval_ticks = train.ticks_of(config.eval_every) if config.eval_every else 0
    while tick < train.ticks:
        ends = [train.ticks, *(tick - tick % n + n for n in (log_ticks, eval_ticks) if n)]
        if tick < train.ticks_without_updates:
            ends.append(train.ticks_without_updates)
        elif tick == train.ticks_without_updates:
            pace = _Pace(config.chunk_seconds)  # from here on a tick takes far longer
        ticks = min(pace.ticks, min(ends) - tick)
        updates, began = int(train.updates_after(tick)), time.perf_counter()
        state, metrics = chunk(state, jnp.int32(ticks))
        tick = int(state.tick)  # waits for the device
        pace.took(ticks, time.perf_counter() - began)
        _stop_at_fault(state, seeds, terms)
        rows, done = tick * train.n_envs, int(train.updates_after(tick))
        speed = (done - updates) / (time.perf_counter() - began)
        bar.move(rows, speed, float(np.mean(metrics["episode/recent_return"])))

        figures: dict[str, np.ndarray] = {}
        if tick % log_ticks == 0 or tick == train.ticks:
            figures = {name: np.asarray(value) for name, value in metrics.items()}
            elapsed = time.perf_counter() - window_start
            speeds = {
                "time/rows_per_second": (tick - window_tick) * train.n_envs / elapsed,
                "time/updates_per_second": (done - window_updates) / elapsed,
            }
            figures |= {name: np.full(len(seeds), speed) for name, speed in speeds.items()}
            window_start, window_tick, window_updates = time.perf_counter(), tick, done
        if evaluate is not None and (tick % eval_ticks == 0 or tick == train.ticks):
            scores, lengths = jax.device_get(evaluate(state))
            figures["eval/return"], figures["eval/length"] = scores.mean(-1), lengths.mean(-1)
            figures["eval/returns"] = scores
        if figures:
            for i, seed in enumerate(seeds):
                own = {name: values[i].tolist() for name, values in figures.items()}
                log.write(rows, seed, {"updates": done} | own)
            bar.note(_summary(rows, done, figures))
        last = tick == train.ticks or stopping.is_set()
        if last or time.perf_counter() - saved >= config.save_every:
            checkpoints.save(rows, state)
            saved = time.perf_counter()
        if stopping.is_set() and tick < train.ticks:
            raise RunError(
                f"interrupted at {rows:,} rows, which are saved; the same command goes on there"
            )
    return state


class _Pace:
    """How many ticks take about as long as the terminal may stand still."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self.ticks = 1

    def took(self, ticks: int, seconds: float) -> None:
        """Adapts to the last chunk, by at most a factor of two upwards."""
        fitting = int(ticks * self._seconds / max(seconds, 1e-6))
        self.ticks = max(1, min(fitting, 2 * ticks))


def _stop_at_fault(state: RunState, seeds: tuple[int, ...], terms: tuple[str, ...]) -> None:
    updates, found = jax.device_get(state.learners.fault)
    faulty = [i for i in range(len(seeds)) if updates[i]]
    if faulty:
        told = "; ".join(
            f"seed {seeds[i]}: {terms[found[i]]} at update {updates[i]:,}" for i in faulty
        )
        raise RunError(
            f"a loss is not finite ({told}); the run stops, the checkpoint from before is "
            f"intact: try a smaller learning_rate or float32"
        )


def _summary(rows: int, updates: int, figures: dict[str, np.ndarray]) -> str:
    """The figures that a person follows, one line for all seeds."""
    shown = {
        "return": "episode/return",
        "eval": "eval/return",
        "loss": "train/opt_loss",
        "updates/s": "time/updates_per_second",
        "rows/s": "time/rows_per_second",
    }
    parts = [f"{rows:,} rows", f"{updates:,} updates"]
    for label, name in shown.items():
        if name in figures:
            values = [f"{value:.4g}" if math.isfinite(value) else "–" for value in figures[name]]
            # Seeds go side by side, so that one speed is that of each.
            parts.append(f"{label} {values[0] if name.startswith('time/') else ' '.join(values)}")
    return " · ".join(parts)


def _pretty(config: RunConfig) -> str:
    return json.dumps(config.identity() | {"steps": config.train.steps}, indent=2) + "\n"


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


@contextmanager
def _signals() -> Iterator[threading.Event]:
    """Turns the first interrupt into an orderly stop; the second one kills."""
    stopping = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stopping
        return
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def stop(number: int, frame: object) -> None:
        del frame
        stopping.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in before:
        signal.signal(number, stop)
    try:
        yield stopping
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
