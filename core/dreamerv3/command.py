"""The command `python -m core.dreamerv3`: its options, and what they are made into."""

from __future__ import annotations

from core.training.command import AgentSettings, Options, command, execute, typed
from core.typed import Whole

app = command(
    "python -m core.dreamerv3",
    "Train DreamerV3 on vector observations, or go on where the run in --logdir stopped.",
)


@app.default
def train(
    *,
    options: Options,
    env: str = "CartPole-v1",
    size: str = "1m",
    steps: Whole = 20_000,
    n_envs: Whole = 16,
    log_every: Whole = 2_000,
    replay_capacity: Whole = 5_000_000,
    agent: AgentSettings = None,
) -> None:
    """Train.

    Parameters
    ----------
    options
        Of every agent's command.
    env
        A gymnax environment or one of mujoco_playground's control suite.
    size
        Widths of the networks: tiny (for trying things out), 1m, 12m, 25m, 50m, 100m, 200m
        or 400m.
    steps
        Environment rows per seed, reset rows included. A run that was made for fewer goes
        on to more.
    n_envs
        Environments per seed.
    log_every
        Rows per line of metrics.
    replay_capacity
        Rows that a seed's replay may hold.
    agent
        Any key of the agent's configuration, as in --agent.learning_rate 1e-4.
    """
    settings = typed(agent)

    def go() -> None:
        from core.dreamerv3.config import Config
        from core.dreamerv3.outside import run
        from core.dreamerv3.train_config import TrainConfig

        config = TrainConfig(
            agent=Config.of_size(size, **settings),
            steps=steps,
            n_envs=n_envs,
            replay_capacity=replay_capacity,
            log_every=log_every,
            eval_episodes=options.eval_episodes,
        )
        run(options.run_config(config, env))

    execute(go, options)
