"""Made-up runs that satisfy every check, for tests of what happens when one does not."""

import dataclasses
import json

import numpy as np

from audits.cartpole import table
from audits.cartpole.learning import s2
from audits.cartpole.metrics import REFERENCE_NAMES
from audits.cartpole.protocol import WIDTHS, WORKERS, plan
from audits.run_files import CONFIGS, Episode
from reference_harness.dreamerv3.training.files import write_json, write_lines

PLAN = plan((0, 1, 2), smoke=True)
METRICS = ("rec_loss", "dyn_loss", "ret/std", "ret_normed/std", "rew/mean")


def write_runs(root, scale=1.0):
    """Both sides of the smoke plan; `scale` multiplies the metrics of ours."""
    for side in table.SIDES:
        for seed in PLAN.seeds:
            write_run(root / side / f"seed{seed}", side, seed, scale if side == "ours" else 1.0)


def write_run(folder, side, seed, scale=1.0):
    folder.mkdir(parents=True)
    rng = np.random.default_rng([seed, side == "ours"])
    settings = dataclasses.asdict(PLAN.settings(seed))
    episodes, flushed = tiling(seed, rng)
    extra = 1 if side == "reference" else 0
    width = WIDTHS[PLAN.size]["units"] + 1
    sizes = {"enc": 100, "rew": 50 + extra * width, "critic": 70 + extra * width}
    imported = {
        "ours": {"core.dreamerv3.agent": "/somewhere/core/dreamerv3/agent.py"},
        "reference": {
            "dreamerv3.agent": "/tree/dreamerv3/agent.py",
            "embodied": "/tree/embodied/__init__.py",
        },
    }
    args = {
        "side": side,
        **settings,
        "parameters": {**sizes, "all": sum(sizes.values())},
        "imported": imported[side],
        "packages": {"jax": "1.0"},
        "platform": "Linux",
        "cores": [0],
    }
    values = table.values_of(PLAN, seed, "/tmp/run")
    config = {}
    for row in table.rows():
        config |= row.expected(side, values)
    write_json(folder / "run_args.json", args)
    # YAML holds JSON.
    (folder / CONFIGS[side]).write_text(json.dumps(nested(config)))
    write_lines(folder / "episodes.jsonl", episodes)
    write_lines(folder / "records.jsonl", list(records(side, seed, rng, episodes, scale)))
    updates = PLAN.settings(seed).updates_at(PLAN.steps)
    timing = {"rows": PLAN.steps, "updates": updates, "flush_episodes": flushed}
    timing |= {"wall_s": 60.0, "cpu_s": 90.0}
    write_json(folder / "timing.json", timing)
    write_json(folder / "finished.json", {"settings": settings, "program": "dreamerv3-29eb964"})


def tiling(seed, rng):
    """Episodes of 9 to 30 steps; environment 3 ends one with the flush step."""
    episodes = []
    for worker in range(WORKERS):
        row = 0
        while True:
            length = int(rng.integers(9, 30))
            if worker == 3 and row + length + 31 > PLAN.last_row:
                length = PLAN.last_row - row
            if row + length > PLAN.last_row or length < 1:
                break
            episodes.append(
                {
                    "seed": seed,
                    "worker": worker,
                    "row_last": row + length,
                    "length": length,
                    "score": float(length),
                    "terminal": True,
                }
            )
            row += length + 1
    return episodes, sum(e["row_last"] == PLAN.last_row for e in episodes)


def records(side, seed, rng, episodes, scale):
    finished = [Episode(**episode) for episode in episodes]
    for rows in PLAN.records:
        returns = [float(v) for v in rng.integers(10, 60, PLAN.eval_episodes)]
        updates = PLAN.settings(seed).updates_at(rows)
        values = {name: float(rng.uniform(1, 2)) * scale for name in METRICS} if updates else {}
        if side == "reference":
            values = {REFERENCE_NAMES.get(name, name): value for name, value in values.items()}
        yield {
            "side": side,
            "seed": seed,
            "rows": rows,
            "updates": updates,
            "eval_mean": float(np.mean(returns)),
            "eval_len_mean": float(np.mean(returns)),
            "eval_returns": returns,
            "eval_lengths": [int(v) for v in returns],
            "s2_logged": s2(finished, rows) if side == "ours" else None,
            "train_raw": values,
            "retnorm": {"lo": 0.0, "hi": 0.5, "scale": 1.0},
            "wall_s": rows / 100,
        }


def nested(config):
    tree = {}
    for key, value in config.items():
        *path, last = key.split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return tree
