"""Every assertion of the protocol's section 5.3, by name."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence

import numpy as np

from audits.cartpole.check import Check, Finding, made
from audits.cartpole.configuration import configuration_checks, default_checks
from audits.cartpole.learning import s2
from audits.cartpole.protocol import EXTRA_OUTPUTS, LIMIT, WIDTHS, WORKERS, Plan
from audits.cartpole.reference import Configuration
from audits.run_files import Run


def checks(
    plan: Plan,
    ours: Sequence[Run],
    reference: Sequence[Run],
    *,
    configuration: Configuration | None = None,
) -> list[Check]:
    """All checks, in the order of the report.

    Args:
        plan: Of the comparison.
        ours: One run per seed.
        reference: Likewise.
        configuration: Of the installed reference, for what its runs do not show; None if it is
            not there to be asked.
    """
    found = []
    for name, says, function in _OF_A_RUN:
        for run in (*ours, *reference):
            found.append(made(f"{name}/{run.side}/seed{run.seed}", says, function(plan, run)))
    for run in ours:
        found.append(
            made(
                f"s2/ours/seed{run.seed}",
                "S2 as the run logged it is S2 of its episodes, at every record",
                _s2(plan, run),
            )
        )
    for side, runs in (("ours", ours), ("reference", reference)):
        resolved = [(f"seed {run.seed}: ", run.seed, run.config) for run in runs]
        found += configuration_checks(plan, side, resolved)
    strangers = [(f"seed {run.seed}: ", (run.finished or {}).get("strangers")) for run in reference]
    found += default_checks(configuration, strangers)
    says = "the networks of both sides have the same sizes, but for outputs that are dropped (D22)"
    found.append(made("parameters", says, _parameters(plan, ours, reference)))
    return found


def _finished(plan: Plan, run: Run) -> Finding:
    if run.finished is None:
        yield "there is no finished.json"
    elif run.finished.get("settings") != dataclasses.asdict(plan.settings(run.seed)):
        yield f"finished.json is of {run.finished.get('settings')}"


def _arguments(plan: Plan, run: Run) -> Finding:
    for key, wanted in dataclasses.asdict(plan.settings(run.seed)).items():
        if run.args.get(key) != wanted:
            yield f"{key} is {run.args.get(key)!r}, expected {wanted!r}"
    settled, wanted = run.args.get("neutralised", []), list(plan.neutralised)
    if run.side == "reference" and settled != wanted:
        yield f"rows {settled} of the deviation table were neutralised, expected {wanted}"


def _imported(plan: Plan, run: Run) -> Finding:
    del plan
    ends = {
        "reference": {
            "dreamerv3.agent": "dreamerv3/agent.py",
            "embodied": "embodied/__init__.py",
        },
        "ours": {"core.dreamerv3.agent": "core/dreamerv3/agent.py"},
    }[run.side]
    imported = run.args.get("imported", {})
    roots = set()
    for module, end in ends.items():
        path = str(imported.get(module))
        if not path.endswith(end):
            yield f"{module} came from {path}, expected .../{end}"
        roots.add(path.removesuffix(end))
    if len(roots) > 1:
        yield f"its modules came from different places: {', '.join(sorted(roots))}"


def _records(plan: Plan, run: Run) -> Finding:
    rows = [record.rows for record in run.records]
    if rows != plan.records:
        yield f"records at {rows}, expected {plan.records}"
    for record in run.records:
        if record.seed != run.seed:
            yield f"the record at {record.rows:,} rows is of seed {record.seed}"


def _updates(plan: Plan, run: Run) -> Finding:
    settings = plan.settings(run.seed)
    for record in run.records:
        wanted = settings.updates_at(record.rows)
        if record.updates != wanted:
            yield f"{record.updates:,} updates at {record.rows:,} rows, expected {wanted:,}"


def _final(plan: Plan, run: Run) -> Finding:
    wanted = {"rows": plan.steps, "updates": plan.settings(run.seed).updates_at(plan.steps)}
    for key, value in wanted.items():
        if run.timing.get(key) != value:
            yield f"{key} is {run.timing.get(key)} at the end, expected {value:,}"


def _evaluations(plan: Plan, run: Run) -> Finding:
    for record in run.records:
        where = f"at {record.rows:,} rows"
        counts = {len(record.eval_returns), len(record.eval_lengths)}
        if counts != {plan.eval_episodes}:
            yield f"{len(record.eval_returns)} episodes {where}, expected {plan.eval_episodes}"
        elif not math.isclose(record.eval_mean, np.mean(record.eval_returns), rel_tol=1e-6):
            yield f"the mean {record.eval_mean:g} {where} is not that of the returns"
        elif not math.isclose(record.eval_len_mean, np.mean(record.eval_lengths), rel_tol=1e-6):
            yield f"the mean length {record.eval_len_mean:g} {where} is not that of the lengths"
        if max(record.eval_lengths, default=0) > LIMIT:
            yield f"an episode of {max(record.eval_lengths)} steps {where}"


def _episodes(plan: Plan, run: Run) -> Finding:
    """One environment's episodes of L steps tile its rows, with L + 1 rows each."""
    tiles: dict[int, int] = dict.fromkeys(range(WORKERS), 0)
    for episode in sorted(run.episodes, key=lambda e: (e.worker, e.row_last)):
        where = f"environment {episode.worker}, row {episode.row_last}"
        if episode.seed != run.seed or episode.worker not in tiles:
            yield f"{where}: is of seed {episode.seed}"
            continue
        if episode.length != episode.score:
            yield f"{where}: length {episode.length}, score {episode.score:g}"
        if not 1 <= episode.length <= LIMIT:
            yield f"{where}: {episode.length} steps"
        if not episode.terminal and episode.length != LIMIT:
            yield f"{where}: cut off after {episode.length} steps"
        if tiles[episode.worker] + episode.length != episode.row_last:
            begin = tiles[episode.worker]
            yield f"{where}: {episode.length} steps since row {begin} do not end there"
        tiles[episode.worker] = episode.row_last + 1
    for worker, end in tiles.items():
        if plan.last_row + 1 - end > LIMIT + 1:
            yield f"environment {worker}: no episode ends after row {end}"


def _flush(plan: Plan, run: Run) -> Finding:
    told = run.timing.get("flush_episodes")
    seen = sum(episode.row_last == plan.last_row for episode in run.episodes)
    if told is None:
        yield "timing.json has no flush_episodes: the step after the last row was not taken"
    elif told != seen:
        yield f"{told} episodes ended with the flush step, {seen} in episodes.jsonl"


def _s2(plan: Plan, run: Run) -> Finding:
    del plan
    for record in run.records:
        logged = math.nan if record.s2_logged is None else record.s2_logged
        wanted = s2(run.episodes, record.rows)
        same = math.isnan(logged) == math.isnan(wanted)
        if not same or abs(logged - wanted) > 1e-4 * max(1.0, abs(wanted)):
            yield f"{logged:g} at {record.rows:,} rows, {wanted:g} from the episodes"


def _parameters(plan: Plan, ours: Sequence[Run], reference: Sequence[Run]) -> Finding:
    extra = EXTRA_OUTPUTS * (WIDTHS[plan.size]["units"] + 1)
    dropped = {"rew": extra // 2, "critic": extra // 2, "all": extra}
    for run in (*ours, *reference):
        sizes = run.args.get("parameters", {})
        against = (ours if run.side == "reference" else reference)[0].args.get("parameters", {})
        sign = -1 if run.side == "reference" else 1
        for name in sorted({*sizes, *against}):
            wanted = against.get(name, math.nan) - sign * dropped.get(name, 0)
            if sizes.get(name) != wanted:
                told = f"{sizes.get(name)} parameters in {name}, expected {wanted}"
                yield f"{run.side}, seed {run.seed}: {told}"


_OF_A_RUN: tuple[tuple[str, str, Callable[[Plan, Run], Finding]], ...] = (
    ("finished", "the run ended well, with the settings of this comparison", _finished),
    ("arguments", "it was told what this comparison is made of", _arguments),
    ("imported", "the code came from the place that it should come from", _imported),
    ("records", "there is a record at every due number of rows", _records),
    ("updates", "at every record, 1 + ⌊(rows − 1,040) / 2⌋ updates have run", _updates),
    ("final", "the run ended with all of its rows and updates", _final),
    ("evaluations", "every evaluation has its episodes, and their means", _evaluations),
    ("episodes", "the training episodes are consistent and tile the rows", _episodes),
    ("flush", "the step after the last row was taken, and its episodes are there", _flush),
)
