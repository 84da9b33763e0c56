"""Whether a run may be judged: it is the registered one, and its records are what they must be."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from audits.paper.acceptance import Window
from audits.paper.files import Record, Run
from audits.paper.registry import RunSpec, differences

_ROUNDING = 0.1  # of a return: a thousand rewards from 0 to 1, added up in 32 bits


def departures(
    run: Run,
    registry: Mapping[str, RunSpec],
    agent: Mapping[str, Any],
    scores: tuple[float, float] | None = None,
) -> list[str]:
    """Why a run is off protocol; nothing of one that is on it.

    A verdict can not come from changed settings, a changed budget or chosen seeds.

    Args:
        run: The run, whose folder has the name of a registered one.
        registry: The registered runs.
        agent: What the agent's own loader makes of the registered settings.
        scores: Where returns lie; None where that is not known.
    """
    wanted = registry.get(run.folder.name)
    if wanted is None:
        return ["no run of the protocol has this name"]
    told = differences(run.spec, wanted)
    if not told:
        told = [
            f"agent.{key} is {run.agent.get(key)!r}, not {agent.get(key)!r}"
            for key in sorted({*run.agent, *agent})
            if run.agent.get(key) != agent.get(key)
        ]
    return told or damages(run, scores)


def damages(run: Run, scores: tuple[float, float] | None = None) -> list[str]:
    """What is wrong with a run's records.

    Environments of the control suite have no terminations: every environment ends an episode
    every so many rows, so that the number and the length of a chunk's episodes are known. A
    simulation that became not-a-number ends one early, and shows here; so does a return that is
    not-a-number, which a log holds as null, and one that no episode can have.
    """
    spec = run.spec
    told = []
    expected = list(spec.records)[: len(run.records)]
    found = [record.env_steps for record in run.records]
    if found != expected:
        at = next((a for a, b in zip(found, expected, strict=False) if a != b), found[-1])
        told.append(f"the record at {at:,} environment steps is not where one should be")
    for record in run.records:
        sizes = {len(record.values), len(record.episodes), len(record.lengths)}
        if sizes != {len(spec.seeds)}:
            told.append(f"the record at {record.env_steps:,} has not one value per seed")
            continue
        told += _episodes(spec, record) or _returns(spec, record, scores)
    return told[:3] + ([f"and {len(told) - 3} more"] if len(told) > 3 else [])


def _episodes(spec: RunSpec, record: Record) -> list[str]:
    expected = expected_episodes(spec, record.env_steps)
    length = float(spec.episode_length)
    return [
        f"at {record.env_steps:,} environment steps, seed {seed} has {episodes} episodes of {mean} "
        f"actions, not {expected} of {length:g}"
        for seed, episodes, mean in zip(spec.seeds, record.episodes, record.lengths, strict=True)
        if episodes != expected or (episodes and mean != length)
    ]


def _returns(spec: RunSpec, record: Record, scores: tuple[float, float] | None) -> list[str]:
    told = []
    low, high = scores or (-math.inf, math.inf)
    for seed, value, episodes in zip(spec.seeds, record.values, record.episodes, strict=True):
        where = f"at {record.env_steps:,} environment steps, seed {seed}"
        if episodes and value is None:
            told.append(f"{where} has a return that is not finite")
        elif value is not None and not low - _ROUNDING <= value <= high + _ROUNDING:
            told.append(f"{where} has a return of {value:g}, not from {low:g} to {high:g}")
    return told


def expected_episodes(spec: RunSpec, env_steps: int) -> int:
    """Episodes of one seed in the chunk that ends there.

    The k-th training episode of an environment ends with step k (T + 1) + T − 1 of it: T actions,
    and one row for the reset.
    """
    if spec.metric == "evaluation":
        return spec.eval_episodes

    def ended(steps: int) -> int:
        ticks = spec.progress(steps) // spec.n_envs
        return spec.n_envs * ((ticks + 1) // (spec.episode_length + 1))

    return ended(env_steps) - ended(env_steps - spec.chunk)


def not_judged(run: Run | None, window: Window, least_seeds: int) -> str:
    """Why a run that is on protocol can not be judged in a window; "" if it can."""
    if run is None:
        return "no run"
    if len(run.spec.seeds) < least_seeds:
        return f"{len(run.spec.seeds)} seeds, {least_seeds} are the least"
    after, until = window.bounds(run.spec.budget)
    reached = run.records[-1].env_steps if run.records else 0
    if reached < until:
        return f"at {reached:,} of {until:,} environment steps"
    inside = [record for record in run.records if after < record.env_steps <= until]
    for index, seed in enumerate(run.spec.seeds):
        if not any(record.episodes[index] for record in inside):
            return f"seed {seed} has no episode in the window"
    return ""


def window_scores(run: Run, window: Window) -> list[float]:
    """Mean return of every seed over a window, each record with the weight of its episodes.

    Args:
        run: For which `not_judged` says nothing.
        window: Of its agent.
    """
    after, until = window.bounds(run.spec.budget)
    inside = [record for record in run.records if after < record.env_steps <= until]
    scores = []
    for index in range(len(run.spec.seeds)):
        pairs = [(r.values[index], r.episodes[index]) for r in inside]
        weighed = [(value, count) for value, count in pairs if value is not None and count]
        # Exact until the end, so that returns that are all the same have that for a mean.
        total = sum(Fraction(value) * count for value, count in weighed)
        scores.append(float(total / sum(count for _, count in weighed)))
    return scores
