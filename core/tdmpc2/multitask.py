"""Several tasks from the command line: `python -m core.tdmpc2.multitask pool` and `train`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import cyclopts
from cyclopts import Parameter

from core.training.command import EPILOGUE, AgentSettings, Options, Whole, execute, typed

app = cyclopts.App(
    name="python -m core.tdmpc2.multitask",
    help="Train one TD-MPC2 agent on episodes of several tasks.",
    version_flags=[],
    error_formatter=lambda error: f"error: {error}",
)


@app.command
def pool(
    *,
    runs: Annotated[tuple[Path, ...], Parameter(consume_multiple=True)],
    dataset: Path,
    mt30: bool = False,
) -> None:
    """Make a dataset of all episodes of runs of `python -m core.tdmpc2`.

    Parameters
    ----------
    runs
        Folders of the runs. Several runs of one environment make one task.
    dataset
        The folder to make.
    mt30
        The runs must be of the 19 tasks of the reference's set of 30 that mujoco_playground
        has; the tasks get its names and its order.
    """

    def go() -> None:
        from core.tdmpc2.dataset import save
        from core.tdmpc2.pooling import pooled, source_of_run

        made = pooled([source_of_run(folder) for folder in runs], mt30=mt30)
        save(made, dataset)
        for task in made.about["tasks"]:
            print(f"{task['name']}: {task['episodes']:,} episodes of {task['episode_length']:,}")

    execute(go, Options(logdir=dataset))


@app.command(help_epilogue=EPILOGUE)
def train(
    *,
    dataset: Path,
    logdir: Path,
    size: Whole = 5,
    mt30_widths: bool = False,
    steps: Whole = 1_000_000,
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True)] = (0,),
    log_every: Whole = 50_000,
    eval_episodes: Whole = 10,
    save_every: float = 300.0,
    tensorboard: bool = False,
    devices: Whole = 1,
    cache: Path | None = None,
    agent: AgentSettings = None,
) -> None:
    """Train on a dataset, or go on where the run in --logdir stopped.

    Parameters
    ----------
    dataset
        The folder that `pool` made.
    logdir
        The run's folder: metrics.jsonl, config.json, checkpoints.
    size
        Millions of parameters: 1, 5, 19, 48 or 317.
    mt30_widths
        The widths of the reference's own agents of the set of 30 tasks, instead of the paper's.
    steps
        Updates. A run that was made for fewer goes on to more.
    seeds
        Independent runs, side by side.
    log_every
        Updates per line of metrics; an evaluation of every task follows.
    eval_episodes
        Episodes of each task per evaluation.
    save_every
        Seconds between checkpoints; 0 saves whenever it can.
    tensorboard
        Write TensorBoard files too (needs tensorboardX).
    devices
        Spread the seeds over so many devices, evenly; on a CPU these are parts of it.
    cache
        Where compiled programs are kept; the user's cache folder by default.
    agent
        Any key of the agent's configuration, as in --agent.learning_rate 1e-4.
    """
    settings = typed(agent)
    options = Options(
        logdir=logdir,
        seeds=seeds,
        eval_every=log_every,
        save_every=save_every,
        tensorboard=tensorboard,
        devices=devices,
        cache=cache,
    )

    def go() -> None:
        from core.tdmpc2.config import MT30_WIDTHS, Config
        from core.tdmpc2.dataset import load
        from core.tdmpc2.offline import OfflineConfig, run_offline

        widths = MT30_WIDTHS.get(size, {}) if mt30_widths else {}
        config = Config.of_size(size, **{**widths, **settings})
        episodes = load(dataset)
        offline = OfflineConfig.on(
            episodes,
            agent=config,
            steps=steps,
            log_every=log_every,
            eval_episodes=eval_episodes,
        )
        run_offline(options.run_config(offline, " ".join(episodes.tasks.names)), episodes)

    execute(go, options)


if __name__ == "__main__":
    app()
