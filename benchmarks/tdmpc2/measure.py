"""Updates and plans of TD-MPC2, both sides taking turns."""

from __future__ import annotations

import dataclasses

from benchmarks.sides import Say, Steps, Timed, alternate
from benchmarks.tdmpc2 import products
from benchmarks.tdmpc2.ours import Ours
from benchmarks.tdmpc2.problems import CASES
from benchmarks.tdmpc2.theirs import Theirs


def steps(name: str, rounds: int, *, pin: str, reference: bool, say: Say) -> Steps:
    """Times one case.

    Args:
        name: A key of `CASES`.
        rounds: How often each side has its turn.
        pin: Short hash of the reference's commit, whose era the core takes too.
        reference: Whether the reference is asked at all.
        say: Told what is going on.
    """
    case = dataclasses.replace(CASES[name], pin=pin)
    theirs = None
    if reference:
        say(f"{case.name}: the reference looks for its best number of threads")
        theirs = Theirs(case)
    try:
        say(f"{case.name}: the core compiles")
        ours = Ours(case)
        updates, plans = products.of_update(ours.agent), products.of_plan(ours.agent)
        timed = (
            Timed("update", lambda side, n: side.update(n), case.updates, updates),
            Timed("planned action", lambda side, n: side.plan(n), case.plans, plans),
        )
        compared = alternate(case.name, timed, [ours, theirs] if theirs else [ours], rounds, say)
        if theirs is None:
            return Steps(case.name, compared, ours.compile_seconds)
        threads = " and ".join(f"{n} for its {what}" for what, n in theirs.threads.items())
        return Steps(
            case.name,
            compared,
            ours.compile_seconds,
            their_packages={k: theirs.packages[k] for k in ("torch", "tensordict", "numpy")},
            note=f"At {case.name}, the reference is fastest with threads: {threads}.",
        )
    finally:
        if theirs:
            theirs.close()
