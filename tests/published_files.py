"""Made-up score files in the formats of the two references."""

import gzip
import json

import msgspec

from audits.references.sources import sources

TASKS = {"dreamerv3": "dmc_walker_walk", "tdmpc2": "walker-walk"}


def source(agent, *, known=(), **changes):
    """A source with one mapped task, and aggregates of its own."""
    task = TASKS[agent]
    published = sources()[agent]
    return msgspec.structs.replace(
        published,
        mapped={task: published.mapped[task]},
        known=list(known),
        mt30=[task] if agent == "tdmpc2" else [],
        **changes,
    )


def scores(runs):
    """A file of DreamerV3's: runs are (task, seed, {step: return})."""
    return gzip.compress(
        json.dumps(
            [
                {
                    "task": t,
                    "method": "m",
                    "seed": s,
                    "xs": list(map(float, p)),
                    "ys": [*p.values()],
                }
                for t, s, p in runs
            ]
        ).encode()
    )


def results(rows):
    """A file of TD-MPC2's: rows are (step, return, seed)."""
    lines = ["step,reward,seed", *(",".join(map(str, row)) for row in rows)]
    return ("\n".join(lines) + "\n").encode()


def dreamerv3_files(value=lambda seed, step: 100.0 * seed, seeds=range(5), steps=None):
    steps = steps or range(10_000, 500_000, 10_000)
    runs = [(TASKS["dreamerv3"], s, {at: value(s, at) for at in steps}) for s in seeds]
    return {"scores/dmc_proprio-dreamerv3.json.gz": scores(runs)}


def tdmpc2_files(value=lambda seed, step: 100.0 * seed, seeds=(1, 2, 3), lacks=()):
    steps = range(0, 4_000_001, 100_000)
    rows = [(at, value(s, at), s) for s in seeds for at in steps if (s, at) not in lacks]
    return {"results/walker-walk.csv": results(rows)}
