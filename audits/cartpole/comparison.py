"""The whole comparison as one record: what `summary.json` holds, and all documents show."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from audits.cartpole import metrics
from audits.cartpole.check import Check, Outcome
from audits.cartpole.checks import checks
from audits.cartpole.differences import DIFFERENCES, Difference
from audits.cartpole.learning import Statistic, s1, s2, statistic
from audits.cartpole.protocol import MARGIN, SMOKE, Plan
from audits.cartpole.reference import Configuration
from audits.run_files import Run
from audits.statistics.equivalence import Verdict

SCHEMA_VERSION = 1
SCHEMA_PATH = Path(__file__).with_name("summary.schema.json")


class Curve(msgspec.Struct, frozen=True):
    """One seed of one side, record by record.

    Attributes:
        side: "ours" or "reference".
        seed: Of the run.
        rows: At each record.
        evaluation: Mean return of the evaluation.
        s2: S2(N); None while an environment has finished no episode.
        retnorm: Scale of the return normaliser.
    """

    side: str
    seed: int
    rows: list[int]
    evaluation: list[float]
    s2: list[float | None]
    retnorm: list[float]


class Provenance(msgspec.Struct, frozen=True):
    """Where a run came from.

    Attributes:
        side: "ours" or "reference".
        seed: Of the run.
        source: "recorded" or "live".
        program: The commit of the reference, or the digest of the core's source.
        packages: With their versions.
        platform: Operating system and machine.
        cores: That it might use.
        together: Seeds that ran in the same program.
        hours: Wall time of the run.
        processor_hours: Of all processors together.
    """

    side: str
    seed: int
    source: str
    program: str
    packages: dict[str, str]
    platform: str
    cores: list[int]
    together: list[int]
    hours: float
    processor_hours: float


class Summary(msgspec.Struct, frozen=True):
    """A comparison.

    Attributes:
        version: Of this format.
        plan: "full" or "smoke".
        size: Of the networks.
        seeds: Of each side.
        rows: Of a run.
        neutralised: Rows of the deviation table that the reference answered as the core does.
        margin: Of the tests of equivalence.
        verdict: FAIL if a check failed or S1 differs by more than the margin; PASS if all
            checks passed and S1 is equivalent; else INCONCLUSIVE. Of a smoke run, which is too
            short to learn anything, only the checks count.
        statistics: S1, which decides, and S2.
        curves: Every seed of every side.
        windows: The training metrics.
        checks: Every assertion.
        differences: Known ones.
        provenance: Of every run.
    """

    version: int
    plan: str
    size: str
    seeds: list[int]
    rows: int
    neutralised: tuple[str, ...]
    margin: float
    verdict: Verdict
    statistics: list[Statistic]
    curves: list[Curve]
    windows: metrics.Windows
    checks: list[Check]
    differences: tuple[Difference, ...]
    provenance: list[Provenance]


def compare(
    plan: Plan,
    ours: Sequence[Run],
    reference: Sequence[Run],
    sources: dict[str, str],
    configuration: Configuration | None = None,
) -> Summary:
    """Compares the runs of both sides.

    Args:
        plan: Of the comparison.
        ours: One run per seed of the plan.
        reference: Likewise.
        sources: Of each side, "recorded" or "live".
        configuration: Of the installed reference, where there is one.
    """
    found = checks(plan, ours, reference, configuration=configuration)
    statistics = [
        statistic("S1", [s1(run) for run in ours], [s1(run) for run in reference]),
        statistic(
            "S2",
            [s2(run.episodes, plan.steps) for run in ours],
            [s2(run.episodes, plan.steps) for run in reference],
        ),
    ]
    return Summary(
        SCHEMA_VERSION,
        plan.name,
        plan.size,
        list(plan.seeds),
        plan.steps,
        plan.neutralised,
        MARGIN,
        _verdict(plan, found, statistics[0]),
        statistics,
        [_curve(run) for run in (*ours, *reference)],
        metrics.windows(ours, reference),
        found,
        DIFFERENCES,
        [_provenance(run, sources[run.side]) for run in (*ours, *reference)],
    )


def _verdict(plan: Plan, found: Sequence[Check], gate: Statistic) -> Verdict:
    if any(check.outcome is Outcome.FAIL for check in found):
        return Verdict.FAIL
    return Verdict.PASS if plan.name == SMOKE else gate.verdict


def _curve(run: Run) -> Curve:
    rows = [record.rows for record in run.records]
    found = [s2(run.episodes, n) for n in rows]
    return Curve(
        run.side,
        run.seed,
        rows,
        [record.eval_mean for record in run.records],
        [value if math.isfinite(value) else None for value in found],
        [record.retnorm.scale for record in run.records],
    )


def _provenance(run: Run, source: str) -> Provenance:
    args, finished = run.args, run.finished or {}
    program: Any = args.get("source_digest") or finished.get("program") or ""
    return Provenance(
        run.side,
        run.seed,
        source,
        str(program),
        args.get("packages", {}),
        str(args.get("platform", "")),
        args.get("cores", []),
        finished.get("together", [run.seed]),
        float(run.timing.get("wall_s") or math.nan) / 3600,
        float(run.timing.get("cpu_s") or math.nan) / 3600,
    )


def json_schema() -> dict[str, Any]:
    """The format of `summary.json`."""
    return msgspec.json.decode(msgspec.json.encode(msgspec.json.schema(Summary)))
