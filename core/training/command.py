"""What the commands that train have in common: options, what they mean, and how they end.

jax and orbax take seconds to import, so nothing here does so before the command line is read.
"""

from __future__ import annotations

import ast
import dataclasses
import itertools
import os
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import cyclopts
from cyclopts import Parameter
from rich.console import Console

from core.compiled import keep_programs
from core.training.interruption import leave
from core.typed import Folder, Whole

if TYPE_CHECKING:
    from core.training.run_config import RunConfig
    from core.training.train_config import TrainConfig

EPILOGUE = (
    "Any key of the agent's configuration is an option too, as in "
    "--agent.learning_rate 1e-4 --agent.batch_size 8."
)


AgentSettings = Annotated[dict[str, str] | None, Parameter(show=False)]


def command(name: str, text: str) -> cyclopts.App:
    """A command that trains, without its function.

    Args:
        name: As it is called.
        text: What it is for.
    """
    return cyclopts.App(
        name=name,
        help=text,
        help_epilogue=EPILOGUE,
        version_flags=[],
        error_formatter=lambda error: f"error: {_mistaken_key(error) or error}",
        error_console=Console(stderr=True, soft_wrap=True, markup=False, highlight=False),
    )


def _mistaken_key(error: cyclopts.CycloptsError) -> str | None:
    """What to write instead of `--agent units=3` or `--agent.dreamer.units 3`, if that is it."""
    words = error.root_input_tokens or []
    for place, word in enumerate(words):
        option, *value = word.split("=", 1)
        names = option.split(".")
        if names[0] != "--agent":
            continue
        after = itertools.takewhile(lambda word: not word.startswith("--"), words[place + 1 :])
        parts = [part for text in (*value, *after) for part in text.split("=", 1)]
        if len(names) == 2 and parts:
            continue
        if len(names) == 2:
            return f"{option} needs a value"
        if len(names) == 1:
            if parts and parts[0].startswith("{"):  # all keys as JSON, which cyclopts takes
                continue
            names += parts.pop(0).split(".") if parts else ["learning_rate"]
        meant = " ".join((f"--agent.{names[-1]}", *parts[:1]))
        return f"{option} does not set a key of the agent's configuration; write {meant}"
    return None


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of every agent's command.

    Parameters
    ----------
    logdir
        The run's folder: metrics.jsonl, config.json, checkpoints.
    seeds
        Independent runs, side by side.
    action_repeat
        Steps of the environment per action.
    time_limit
        Steps after which an episode is cut off; the environment's own by default.
    eval_every
        Rows between evaluations; 0 for none.
    eval_episodes
        Episodes per evaluation.
    save_every
        Seconds between checkpoints; 0 saves whenever it can.
    tensorboard
        Write TensorBoard files too (needs tensorboardX).
    devices
        Spread the seeds over so many devices, evenly; on a CPU these are parts of it.
    cache
        Where compiled programs are kept; the user's cache folder by default.
    """

    logdir: Folder
    seeds: Annotated[tuple[Whole, ...], Parameter(consume_multiple=True)] = (0,)
    action_repeat: Whole = 1
    time_limit: Whole | None = None
    eval_every: Whole = 0
    eval_episodes: Whole = 10
    save_every: float = 300.0
    tensorboard: bool = False
    devices: Whole = 1
    cache: Folder | None = None

    def run_config(self, train: TrainConfig, env: str) -> RunConfig:
        """The run of a training program."""
        from core.training.run_config import RunConfig

        return RunConfig(
            train=train,
            env=env,
            seeds=self.seeds,
            logdir=self.logdir,
            action_repeat=self.action_repeat,
            time_limit=self.time_limit,
            eval_every=self.eval_every,
            save_every=self.save_every,
            tensorboard=self.tensorboard,
            devices=self.devices,
        )


def typed(texts: Mapping[str, str] | None) -> dict[str, Any]:
    """Numbers as numbers; whether a key takes them is for the configuration to say."""

    def value(text: str) -> Any:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text

    return {key: value(text) for key, text in (texts or {}).items()}


def execute(train: Callable[[], object], options: Options) -> None:
    """Trains, and ends the process with a sentence and a status of its own for every outcome.

    Args:
        train: Makes the configuration and runs it. What it needs of jax it imports itself.
        options: Of the command.
    """
    # XLA calls every compilation of more than two minutes a bug; physics takes longer.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if 1 < options.devices <= len(options.seeds):
        flag = f"--xla_force_host_platform_device_count={options.devices}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    try:
        from core.config import ConfigError
        from core.environments import EnvironmentSetupError
        from core.training.checkpoint import CheckpointError
        from core.training.errors import RunError, RunInterruptedError
        from core.training.logging import LoggingError
    except KeyboardInterrupt:
        _end_before_the_run()

    keep_programs(options.cache)
    try:
        train()
    except (ConfigError, EnvironmentSetupError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except RunInterruptedError as error:
        print(error, file=sys.stderr)
        leave(128 + error.number)
    except (CheckpointError, LoggingError, RunError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        _end_before_the_run()


def _end_before_the_run() -> NoReturn:
    print("interrupted before the run began", file=sys.stderr)
    sys.exit(130)
