"""Updates and acting of DreamerV3, both sides taking turns."""

from __future__ import annotations

from benchmarks.dreamerv3 import products
from benchmarks.dreamerv3.ours import Ours
from benchmarks.dreamerv3.problems import CASES
from benchmarks.dreamerv3.theirs import Theirs
from benchmarks.sides import Say, Steps, Timed, alternate

_UPDATES = {"1m": 4, "12m": 1}  # in a round
_ACTS = 50


def steps(name: str, rounds: int, *, reference: bool, dtype: str, say: Say) -> Steps:
    """Times one case.

    Args:
        name: A key of `CASES`.
        rounds: How often each side has its turn.
        reference: Whether the reference is asked at all.
        dtype: What the core computes in; the reference always computes in float32.
        say: Told what is going on.
    """
    case = CASES[name]
    theirs = None
    if reference:
        say(f"{case.name}: the reference compiles, which takes minutes the first time")
        theirs = Theirs(case)
    try:
        say(f"{case.name}: the core compiles")
        ours = Ours(case, dtype)
        problem = case.problem
        gflop = products.per_update(case.agent, problem.batch, problem.length) / 1e9
        timed = (
            Timed("update", lambda side, n: side.update(n), _UPDATES[case.size], gflop),
            Timed("acting, 16 rows", lambda side, n: side.act(n), _ACTS),
        )
        sides = [ours, theirs] if theirs else [ours]
        return Steps(
            case.name,
            alternate(case.name, timed, sides, rounds, say),
            ours.compile_seconds,
            theirs.compile_seconds if theirs else None,
            {k: theirs.packages[k] for k in ("jax", "jaxlib", "numpy")} if theirs else {},
        )
    finally:
        if theirs:
            theirs.close()
