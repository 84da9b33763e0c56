"""Our side of the comparison: all seeds in one run of the core, and the files that follow.

The run itself is the core's, with its log and its checkpoints. What the protocol wants of a
seed is read from what the run leaves: the records from its log, the episodes from the rows in
the replay, which this run never overwrites. Nothing is added to the training program.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from audits.cartpole.protocol import ENVIRONMENT, WIDTHS, WORKERS, Plan
from audits.cartpole.source import source_digest
from reference_harness.dreamerv3.training.files import read_lines, write_json, write_lines

LOG = "metrics.jsonl"


def run_folder(out: Path, seeds: Sequence[int]) -> Path:
    """Where the core's run of these seeds is."""
    return out / f"run-{'-'.join(map(str, seeds))}"


def seed_folder(out: Path, seed: int) -> Path:
    """Where the files of one seed are."""
    return out / f"seed{seed}"


def unfinished(out: Path, plan: Plan) -> tuple[int, ...]:
    """The seeds that have no finished files of this plan.

    Raises:
        RunFileError: A finished run has other settings.
    """
    from audits.run_files import RunFileError
    from reference_harness import home

    missing = []
    for seed in plan.seeds:
        folder = seed_folder(out, seed)
        marker = home.read_json(folder / "finished.json")
        if marker is None:
            missing.append(seed)
        elif marker.get("settings") != dataclasses.asdict(plan.settings(seed)):
            raise RunFileError(
                f"{folder} holds a finished run with other settings; choose another folder with "
                "--out, or remove it"
            )
    return tuple(missing)


def train_seeds(plan: Plan, out: Path, *, devices: int = 1, bar: Any = None) -> None:
    """Trains the seeds that are not finished, side by side, and writes their files.

    Goes on from the core's checkpoint where there is one.

    Args:
        plan: What to run.
        out: The folder of our side.
        devices: Host devices to spread the seeds over.
        bar: The core's progress bar; its own by default.

    Raises:
        RunFileError: See `unfinished`.
        Exception: Whatever `core.dreamerv3.outside.run` raises.
    """
    from core.dreamerv3.outside import run

    seeds = unfinished(out, plan)
    if not seeds:
        return
    folder = run_folder(out, seeds)
    # Seeds that can not be shared out evenly go without: the result is the same.
    config = run_config(plan, folder, seeds, devices if len(seeds) % devices == 0 else 1)
    state = run(config, bar)
    log = read_lines(folder / LOG)
    for index, seed in enumerate(seeds):
        write_seed(plan, out, config, state, [e for e in log if e["seed"] == seed], index)


def run_config(plan: Plan, folder: Path, seeds: Sequence[int], devices: int = 1) -> Any:
    """The core's configuration of a run, through the core's own loader."""
    from core.dreamerv3.config import Config
    from core.dreamerv3.train_config import TrainConfig
    from core.training.run_config import RunConfig

    return RunConfig(
        train=TrainConfig(
            agent=Config().replace(**WIDTHS[plan.size]),
            steps=plan.steps,
            n_envs=WORKERS,
            log_every=plan.record_every,
            eval_episodes=plan.eval_episodes,
        ),
        env=ENVIRONMENT,
        seeds=tuple(seeds),
        logdir=folder,
        eval_every=plan.record_every,
        devices=devices,
    )


def resolved(plan: Plan, config: Any, seed: int) -> dict[str, Any]:
    """What our side resolves, with dotted keys: the keys that `config_table.yaml` names."""
    import gymnax
    import jax

    from core.dreamerv3.schedule import gate
    from core.environments import make_environment

    train = config.train
    environment = make_environment(
        config.env, action_repeat=config.action_repeat, time_limit=config.time_limit
    )
    run = {
        "size": plan.size,
        "env": config.env,
        "seed": seed,
        "steps": train.steps,
        "n_envs": train.n_envs,
        "replay_capacity": train.replay_capacity,
        "log_every": train.log_every,
        "eval_every": config.eval_every,
        "eval_episodes": train.eval_episodes,
        "action_repeat": config.action_repeat,
        "time_limit": config.time_limit,
        "platform": jax.default_backend(),
    }
    derived = {
        "gate": gate(train.n_envs, train.agent.batch_size, train.agent.batch_length),
        "updates": int(train.updates_after(train.ticks)),
        "ring_rows": train.ring_rows,
        "observation_size": environment.observation_size,
        "actions": getattr(environment.action_space, "n", None),
        "episode_limit": gymnax.make(config.env)[1].max_steps_in_episode,
    }
    return {
        **{f"agent.{key}": value for key, value in train.agent.to_dict().items()},
        **{f"run.{key}": value for key, value in run.items()},
        **{f"derived.{key}": value for key, value in derived.items()},
    }


def write_seed(
    plan: Plan, out: Path, config: Any, state: Any, log: list[dict[str, Any]], index: int
) -> None:
    """Writes the files of one seed of a run that has ended."""
    seed = config.seeds[index]
    folder = seed_folder(out, seed)
    folder.mkdir(parents=True, exist_ok=True)
    records = list(_records(log, seed))
    episodes, flushed = episodes_of(state, index, seed)
    settings = dataclasses.asdict(plan.settings(seed))
    write_json(folder / "run_args.json", _arguments(settings, config, state))
    write_json(folder / "config.json", resolved(plan, config, seed))
    write_lines(folder / "records.jsonl", records)
    write_lines(folder / "episodes.jsonl", episodes)
    facts = {
        "rows": int(state.tick) * config.train.n_envs,
        "updates": int(np.asarray(state.learners.train.updates)[index]),
        "flush_episodes": flushed,
        **_cost(log),
    }
    write_json(folder / "timing.json", facts)
    write_json(folder / "finished.json", {"settings": settings, "together": list(config.seeds)})


def episodes_of(state: Any, index: int, seed: int) -> tuple[list[dict[str, Any]], int]:
    """The finished training episodes of a seed, and how many only the flush step shows.

    The collector is always one row ahead of the replay: it holds the row that the next tick
    would store. That row is our flush step.

    Args:
        state: The run's final state, whose rings have overwritten nothing.
        index: Of the seed in the run.
        seed: Its number.

    Raises:
        ValueError: A row has been overwritten.
    """
    learner = state.learners
    added = int(np.asarray(learner.replay.added)[index])
    stored, ahead = learner.replay.rows, learner.environments.row
    if added > stored.reward.shape[2]:
        raise ValueError(f"the replay has overwritten rows: {added} were added")

    def column(name: str) -> np.ndarray:
        rows = np.asarray(getattr(stored, name)[index])[:, :added]
        return np.concatenate([rows, np.asarray(getattr(ahead, name)[index])[:, None]], 1)

    last, terminal, reward = column("is_last"), column("is_terminal"), column("reward")
    episodes = []
    for worker in range(len(last)):
        begin = 0
        for row in np.flatnonzero(last[worker]).tolist():
            episodes.append(
                {
                    "seed": seed,
                    "worker": worker,
                    "row_last": row,
                    "length": row - begin,
                    "score": float(reward[worker, begin : row + 1].sum(dtype=np.float64)),
                    "terminal": bool(terminal[worker, row]),
                }
            )
            begin = row + 1
    episodes.sort(key=lambda episode: (episode["row_last"], episode["worker"]))
    return episodes, int(last[:, added].sum())


def _records(log: list[dict[str, Any]], seed: int) -> Any:
    for index, entry in enumerate(log, start=1):
        low, high = entry["retnorm/low"], entry["retnorm/high"]
        yield {
            "side": "ours",
            "seed": seed,
            "rows": entry["rows"],
            "updates": entry["updates"],
            "eval_mean": entry["eval/return"],
            "eval_len_mean": entry["eval/length"],
            "eval_returns": entry["eval/returns"],
            "eval_lengths": entry["eval/lengths"],
            "s2_logged": entry["episode/recent_return"],
            "train_raw": {
                name.removeprefix("train/"): value
                for name, value in entry.items()
                if name.startswith("train/") and entry["updates"]
            },
            "retnorm": {"lo": low, "hi": high, "scale": entry["retnorm/scale"]},
            "wall_s": _cost(log[:index])["wall_s"],
        }


def _cost(log: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds on the clock and of processors that the rows in a log took; interruptions not."""
    wall = processor = rows = 0.0
    for entry in log:
        seconds = (entry["rows"] - rows) / entry["time/rows_per_second"]
        wall, processor = wall + seconds, processor + seconds * entry["time/busy_cores"]
        rows = entry["rows"]
    return {"wall_s": wall, "cpu_s": processor}


def _arguments(settings: dict[str, Any], config: Any, state: Any) -> dict[str, Any]:
    import flax
    import jax
    import jaxlib
    import optax

    import core.dreamerv3.agent

    params = state.learners.train.params
    sizes = {
        name: sum(leaf[0].size for leaf in jax.tree.leaves(tree)) for name, tree in params.items()
    }
    module = core.dreamerv3.agent
    return {
        "side": "ours",
        **settings,
        "parameters": {**sizes, "all": sum(sizes.values())},
        "imported": {module.__name__: module.__file__},
        "source_digest": source_digest(),
        "packages": {m.__name__: m.__version__ for m in (jax, jaxlib, np, flax, optax)},
        "python": sys.version.split()[0],
        "platform": f"{platform.system()} {platform.machine()}",
        "cores": _cores(),
        "devices": config.devices,
    }


def _cores() -> list[int]:
    affinity = getattr(os, "sched_getaffinity", None)
    return sorted(affinity(0)) if affinity else list(range(os.cpu_count() or 1))
