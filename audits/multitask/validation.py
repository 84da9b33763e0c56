"""The whole validation as one record: what `summary.json` holds, and the report shows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec

from audits.multitask import offline, pooling
from audits.multitask.criteria import Criteria, criteria
from audits.multitask.judgement import Judgement, judge
from audits.multitask.offline import OFFLINE_RUNS, OfflineRun
from audits.multitask.pooling import DatasetFile
from audits.multitask.protocol import OFFLINE, SOURCES, Protocol, protocol
from audits.multitask.sources import SourceState, states
from audits.paper.errors import PaperError
from audits.paper.files import RUN, Session, contributors, read_run
from audits.paper.judgement import Verdict
from audits.paper.provenance import remarks
from audits.paper.registry import different
from audits.paper.validation import OffProtocol, Provenance

VERSION = 1


class Curve(msgspec.Struct, frozen=True):
    """A task for the pictures: the mean return over the seeds after so many updates."""

    task: str
    updates: list[int]
    returns: list[float | None]


class Summary(msgspec.Struct, frozen=True):
    """A validation.

    Attributes:
        version: Of this format.
        smoke: Whether it is a trial of the plumbing, which validates nothing.
        judgement: The verdict, task by task.
        dataset: What was trained on; None if there is no dataset.
        budget: Updates of the run on it.
        changed: Sources that are no longer those that it was pooled from.
        off_protocol: Runs that were not judged because of what they are.
        provenance: Of every run that could be read; what its `env_steps` counts are updates in
            the run on the dataset.
        curves: Of that run.
        criteria: What was judged by.
        reasons: Of the protocol.
    """

    version: int
    smoke: bool
    judgement: Judgement
    dataset: DatasetFile | None
    budget: int
    changed: list[str]
    off_protocol: list[OffProtocol]
    provenance: list[Provenance]
    curves: list[Curve]
    criteria: Criteria
    reasons: dict[str, str]

    @property
    def verdict(self) -> Verdict:
        """Of all tasks."""
        return self.judgement.verdict


def validate(
    out: Path,
    *,
    smoke: bool = False,
    wanted: Protocol | None = None,
    rules: Criteria | None = None,
) -> Summary:
    """Judges what is in a folder as it is now; every byte of the episodes is compared.

    Args:
        out: The folder of the validation.
        smoke: Of the trial of the plumbing.
        wanted: The protocol; by default the one that is registered.
        rules: The criterion; likewise.

    Raises:
        PaperError: There is no such folder.
    """
    if not out.is_dir():
        raise PaperError(
            f"{out} is no folder; make the sources with `audit multitask sources --out {out}`"
        )
    wanted, rules = wanted or protocol(smoke=smoke), rules or criteria()
    found = states(wanted, out / SOURCES, verify=True)
    off = [OffProtocol(state.run, [state.why]) for state in found if state.off_protocol]
    about, run, changed, why_not = None, None, [], ""
    try:
        about = pooling.read_about(out)
        pooling.read_episodes(about, out)
        changed = pooling.changes(about, found)
        run = offline.read_offline(out) if (out / OFFLINE / RUN).exists() else None
        why_not = _why_not(run, about, changed, wanted, off)
    except PaperError as error:
        why_not = str(error)
    final = {}
    if run is not None and not why_not:
        last = run.records[-1].returns
        final = {task: [seed[i] for seed in last] for i, task in enumerate(run.spec.tasks)}
    return Summary(
        VERSION,
        smoke,
        judge(found, final, why_not, rules),
        about,
        wanted.offline.budget,
        changed,
        off,
        [*_of_sources(found, out / SOURCES), *_of_offline(run, off)],
        _curves(run),
        rules,
        wanted.reasons,
    )


def _why_not(
    run: OfflineRun | None,
    about: DatasetFile,
    changed: Sequence[str],
    wanted: Protocol,
    off: list[OffProtocol],
) -> str:
    """Why the run on the dataset can not be judged; also notes it if it is another run."""
    if changed:
        return "the dataset is no longer that of its sources"
    if run is None:
        return "there is no run on the dataset"
    spec = wanted.offline_spec(about.digest, about.digests)
    told = different(msgspec.to_builtins(run.spec), msgspec.to_builtins(spec))
    told += different(run.agent, OFFLINE_RUNS.resolved(spec), "agent.")
    told = told or offline.damages(run)
    if told:
        off.append(OffProtocol(OFFLINE, told))
        return "the run on the dataset is off protocol"
    reached = run.records[-1].updates if run.records else 0
    if run.finished is None or reached < spec.budget:
        return f"the run on the dataset is at {reached:,} of {spec.budget:,} updates"
    return ""


def _of_sources(found: Sequence[SourceState], folder: Path) -> list[Provenance]:
    told = []
    for state in found:
        try:
            run = read_run(folder / state.run)
        except PaperError:
            continue
        reached = run.records[-1].env_steps if run.records else 0
        told.append(
            _provenance(
                state.run,
                run.spec.seeds,
                reached,
                run.finished is not None,
                not state.off_protocol,
                run.sessions,
            )
        )
    return told


def _of_offline(run: OfflineRun | None, off: Sequence[OffProtocol]) -> list[Provenance]:
    if run is None:
        return []
    reached = run.records[-1].updates if run.records else 0
    on = all(other.run != OFFLINE for other in off)
    return [
        _provenance(OFFLINE, run.spec.seeds, reached, run.finished is not None, on, run.sessions)
    ]


def _provenance(
    name: str,
    seeds: tuple[int, ...],
    reached: int,
    finished: bool,
    on_protocol: bool,
    sessions: Sequence[Session],
) -> Provenance:
    kept = contributors(sessions)
    return Provenance(name, seeds, reached, finished, on_protocol, kept, remarks(kept))


def _curves(run: OfflineRun | None) -> list[Curve]:
    if run is None or offline.damages(run):
        return []
    updates = [record.updates for record in run.records]
    curves = []
    for index, task in enumerate(run.spec.tasks):
        returns = []
        for record in run.records:
            of_seeds = [seed[index] for seed in record.returns]
            finite = [value for value in of_seeds if value is not None]
            returns.append(sum(finite) / len(finite) if len(finite) == len(of_seeds) else None)
        curves.append(Curve(task, updates, returns))
    return curves
