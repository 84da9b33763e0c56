"""The command `python -m core.tdmpc2`: its options, and what they are made into."""

from __future__ import annotations

from core.training.command import AgentSettings, Options, command, execute, typed
from core.typed import Whole

app = command(
    "python -m core.tdmpc2",
    "Train TD-MPC2 on vector observations and continuous actions, or go on where the run in "
    "--logdir stopped.",
)


@app.default
def train(
    *,
    options: Options,
    env: str = "Pendulum-v1",
    size: Whole = 1,
    steps: Whole = 100_000,
    n_envs: Whole = 1,
    seed_steps: Whole | None = None,
    updates_per_step: float = 1.0,
    log_every: Whole = 1_000,
    replay_capacity: Whole = 1_000_000,
    replay_rounding: str = "ceil",
    episodic: bool = False,
    agent: AgentSettings = None,
) -> None:
    """Train.

    Parameters
    ----------
    options
        Of every agent's command.
    env
        A gymnax environment or one of mujoco_playground's control suite, which the reference
        trains with --action-repeat 2.
    size
        Millions of parameters: 1, 5, 19, 48 or 317.
    steps
        Steps per seed, of all its environments together. A row is a step. A run that was made
        for fewer goes on to more.
    n_envs
        Environments per seed; 1 in the reference.
    seed_steps
        Steps with random actions, and updates that follow them at once; five episodes by
        default, and 1,000 at least.
    updates_per_step
        Updates per step after that.
    log_every
        Rows per line of metrics.
    replay_capacity
        Rows that a seed's replay may hold.
    replay_rounding
        Which way that is rounded to whole rounds of episodes: ceil or floor.
    episodic
        Episodes may end by themselves, and the agent predicts it; a row is a step, or an episode's
        last observation.
    agent
        Any key of the agent's configuration, as in --agent.learning_rate 1e-4.
    """
    settings = typed(agent)

    def go() -> None:
        from core.tdmpc2.config import Config
        from core.tdmpc2.outside import run
        from core.tdmpc2.train_config import TrainConfig

        config = TrainConfig(
            agent=Config.of_size(size, **settings),
            steps=steps,
            n_envs=n_envs,
            replay_capacity=replay_capacity,
            log_every=log_every,
            eval_episodes=options.eval_episodes,
            seed_steps=seed_steps,
            updates_per_step=updates_per_step,
            replay_rounding=replay_rounding,
            episodic=episodic,
        )
        run(options.run_config(config, env))

    execute(go, options)
