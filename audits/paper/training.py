"""The agents' training, behind one interface. What is the core's own is named here only.

An agent that can be trained has the modules `run`, `train` and `train_config` in its package. A
run keeps a log with a line per seed and window, and checkpoints named by their rows; it is
started and resumed by one call. That is all that the rest of the audit relies on.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from audits.paper.agents import agent_config
from audits.paper.errors import PaperError
from audits.paper.registry import RunSpec

LOG, CHECKPOINTS = "metrics.jsonl", "checkpoints"

# Called with the rows so far of every seed, now and then while a run goes on.
Observer = Callable[[int], None]


class InterruptedRunError(PaperError):
    """A run was asked to stop, and can go on."""


def offered(agent: str) -> bool:
    """Whether the core trains an agent."""
    return importlib.util.find_spec(f"core.{agent}.train") is not None


def require(spec: RunSpec) -> None:
    """Refuses a run that the core can not make.

    Raises:
        PaperError: It can not.
    """
    if not offered(spec.agent):
        raise PaperError(
            f"{spec.name} can not be run: the core does not train {spec.agent}; see "
            "`audit paper list` for the runs of other agents"
        )


def run_config(spec: RunSpec, folder: Path, save_every: float = 900.0) -> Any:
    """The core's configuration of a run.

    Args:
        spec: The run.
        folder: Where it is kept.
        save_every: Seconds between checkpoints.
    """
    from core.training.run_config import RunConfig

    chunk = spec.progress(spec.chunk)
    return RunConfig(
        train=_module(spec, "train_config").TrainConfig(
            agent=agent_config(spec),
            steps=spec.progress(spec.budget),
            n_envs=spec.n_envs,
            log_every=chunk,
            eval_episodes=spec.eval_episodes or 1,
        ),
        env=spec.environment,
        seeds=spec.seeds,
        logdir=folder,
        action_repeat=spec.action_repeat,
        time_limit=spec.time_limit,
        eval_every=chunk if spec.eval_episodes else 0,
        save_every=save_every,
    )


def program(spec: RunSpec) -> tuple[Any, Any, Any]:
    """What a run compiles.

    Returns:
        The core's configuration, the run's functions, and the shapes of its state.

    Raises:
        PaperError: The core does not train this agent.
        EnvironmentSetupError: The environment is not installed.
    """
    require(spec)
    import jax
    import numpy as np

    from core.environments import make_environment

    config = run_config(spec, Path("unused"))
    environment = make_environment(
        spec.environment, action_repeat=spec.action_repeat, time_limit=spec.time_limit
    )
    functions = _module(spec, "train").make_train(config.train, environment)
    keys = jax.vmap(jax.random.key)(np.asarray(spec.seeds, np.uint32))
    return config, functions, jax.eval_shape(functions.init, keys)


def train(spec: RunSpec, folder: Path, observe: Observer, *, save_every: float = 900.0) -> str:
    """Trains a run to its end, from the newest checkpoint if there is one.

    Args:
        spec: The run.
        folder: Where it is kept.
        observe: Told how far it is.
        save_every: Seconds between checkpoints.

    Returns:
        A digest of what was learned: parameters, optimiser and normaliser of every seed.

    Raises:
        InterruptedRunError: A signal asked it to stop.
        PaperError: It can not start or can not go on.
    """
    require(spec)
    with explained(spec.name):
        config = run_config(spec, folder, save_every)
        bar = observed_bar(config.train.ticks * config.train.n_envs, observe)
        state = _module(spec, "outside").run(config, bar)
    return learned_digest(state)


@contextlib.contextmanager
def explained(name: str) -> Iterator[None]:
    """Within it, what the core refuses or can not do is told of a run.

    Args:
        name: Of the run.

    Raises:
        InterruptedRunError: A signal asked it to stop.
        PaperError: Everything else.
    """
    from core.config import ConfigError
    from core.environments import EnvironmentSetupError
    from core.training.checkpoint import CheckpointError
    from core.training.errors import RunError, RunInterruptedError
    from core.training.logging import LoggingError

    try:
        yield
    except RunInterruptedError as error:
        raise InterruptedRunError(f"{name}: {error}") from error
    except (CheckpointError, ConfigError, EnvironmentSetupError, LoggingError, RunError) as error:
        raise PaperError(f"{name}: {error}") from error


def observed_bar(total: int, observe: Observer) -> Any:
    """A progress bar of the core that tells the audit, too.

    Args:
        total: Rows of the run.
        observe: Told how many there are so far.
    """
    from core.training.progress import ProgressBar

    class ObservedBar(ProgressBar):
        """Of one run."""

        def move(self, rows: int, updates_per_second: float, score: float) -> None:
            super().move(rows, updates_per_second, score)
            observe(rows)

    return ObservedBar(total)


def learned_digest(state: Any) -> str:
    """SHA-256 of the trained part of a run's state, every bit of it."""
    import jax
    import numpy as np

    digest = hashlib.sha256()
    for path, leaf in jax.tree_util.tree_leaves_with_path(state.learners.train):
        array = np.asarray(leaf)
        digest.update(f"{jax.tree_util.keystr(path)} {array.dtype} {array.shape}\0".encode())
        digest.update(array.tobytes())
    return digest.hexdigest()


def _module(spec: RunSpec, name: str) -> Any:
    return importlib.import_module(f"core.{spec.agent}.{name}")


def newest_checkpoint(folder: Path) -> int:
    """Rows of the newest checkpoint of a run; 0 without one."""
    found = [int(p.name) for p in (folder / CHECKPOINTS).glob("*") if p.name.isdigit()]
    return max(found, default=0)
