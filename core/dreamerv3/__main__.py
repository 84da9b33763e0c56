"""Trains from the command line: `python -m core.dreamerv3 --env CartPole-v1 --size 1m`."""

from __future__ import annotations

import ast
import os
import sys
from pathlib import Path
from typing import Annotated, Any

import cyclopts
from cyclopts import Parameter

from core.compiled import default_folder
from core.dreamerv3.interruption import leave

app = cyclopts.App(
    name="python -m core.dreamerv3",
    help="Train DreamerV3 on vector observations, or go on where the run in --logdir stopped.",
    help_epilogue="Any key of the agent's configuration is an option too, as in "
    "--agent.learning_rate 1e-4 --agent.batch_size 8.",
    version_flags=[],
)


@app.default
def train(
    *,
    logdir: Path,
    env: str = "CartPole-v1",
    size: str = "1m",
    steps: int = 20_000,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True)] = (0,),
    n_envs: int = 16,
    action_repeat: int = 1,
    time_limit: int | None = None,
    log_every: int = 2_000,
    eval_every: int = 0,
    eval_episodes: int = 10,
    save_every: float = 300.0,
    replay_capacity: int = 5_000_000,
    tensorboard: bool = False,
    devices: int = 1,
    cache: Path | None = None,
    agent: Annotated[dict[str, str] | None, Parameter(show=False)] = None,
) -> None:
    """Train.

    Parameters
    ----------
    logdir
        The run's folder: metrics.jsonl, config.json, checkpoints.
    env
        A gymnax environment or one of mujoco_playground's control suite.
    size
        Widths of the networks: tiny (for trying things out), 1m, 12m, 25m, 50m, 100m, 200m
        or 400m.
    steps
        Environment rows per seed, reset rows included. A run that was made for fewer goes
        on to more.
    seeds
        Independent runs, side by side.
    n_envs
        Environments per seed.
    action_repeat
        Steps of the environment per action.
    time_limit
        Steps after which an episode is cut off; the environment's own by default.
    log_every
        Rows per line of metrics.
    eval_every
        Rows between evaluations; 0 for none.
    eval_episodes
        Episodes per evaluation.
    save_every
        Seconds between checkpoints; 0 saves whenever it can.
    replay_capacity
        Rows that a seed's replay may hold.
    tensorboard
        Write TensorBoard files too (needs tensorboardX).
    devices
        Spread the seeds over so many devices, evenly; on a CPU these are parts of it.
    cache
        Where compiled programs are kept; the user's cache folder by default.
    agent
        Any key of the agent's configuration, as in --agent.learning_rate 1e-4.
    """
    # XLA calls every compilation of more than two minutes a bug; physics takes longer.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    if 1 < devices <= len(seeds):
        flag = f"--xla_force_host_platform_device_count={devices}"
        os.environ["XLA_FLAGS"] = f"{os.environ.get('XLA_FLAGS', '')} {flag}".strip()
    agent_settings = _typed(agent or {})
    try:
        # After the command line is read: jax and orbax take seconds to import.
        import jax

        from core.dreamerv3.checkpoint import CheckpointError
        from core.dreamerv3.config import Config, ConfigError
        from core.dreamerv3.logging import LoggingError
        from core.dreamerv3.run import RunConfig, RunError, RunInterruptedError, run
        from core.dreamerv3.train import TrainConfig
        from core.environments import EnvironmentSetupError
    except KeyboardInterrupt:
        print("interrupted before the run began", file=sys.stderr)
        sys.exit(130)

    jax.config.update("jax_compilation_cache_dir", str(cache or default_folder()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
    try:
        config = RunConfig(
            train=TrainConfig(
                agent=Config.of_size(size, **agent_settings),
                steps=steps,
                n_envs=n_envs,
                replay_capacity=replay_capacity,
                log_every=log_every,
                eval_episodes=eval_episodes,
            ),
            env=env,
            seeds=seeds,
            logdir=logdir,
            action_repeat=action_repeat,
            time_limit=time_limit,
            eval_every=eval_every,
            save_every=save_every,
            tensorboard=tensorboard,
            devices=devices,
        )
        run(config)
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
        print("interrupted before the run began", file=sys.stderr)
        sys.exit(130)


def _typed(texts: dict[str, str]) -> dict[str, Any]:
    """Numbers as numbers; whether a key takes them is for the configuration to say."""

    def value(text: str) -> Any:
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return text

    return {key: value(text) for key, text in texts.items()}


if __name__ == "__main__":
    app()
