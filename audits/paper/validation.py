"""The whole validation as one record: what `summary.json` holds, and the report shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from audits.paper import agents
from audits.paper.acceptance import Criteria, criteria
from audits.paper.eligibility import departures
from audits.paper.errors import PaperError
from audits.paper.files import RUN, Record, Run, Session, read_run
from audits.paper.judgement import Verdict, WindowResult, judge, overall
from audits.paper.provenance import remarks
from audits.paper.registry import RunSpec, registered
from audits.references import store
from audits.references.store import Reference

VERSION = 1


class Curve(msgspec.Struct, frozen=True):
    """A run for the pictures: [records][seeds]."""

    run: str
    agent: str
    task: str
    seeds: tuple[int, ...]
    env_steps: list[int]
    values: list[list[float | None]]


class OffProtocol(msgspec.Struct, frozen=True):
    """A run that is reported and never judged.

    Attributes:
        run: Name of its folder.
        why: How it departs from the protocol.
        curve: Of one of the tasks, as far as it came.
    """

    run: str
    why: list[str]
    curve: Curve | None = None


class Provenance(msgspec.Struct, frozen=True):
    """What a run was made with.

    Attributes:
        run: Name of the run.
        seeds: Of the run.
        env_steps: That it has reached.
        finished: Whether it has ended.
        on_protocol: Whether it may be judged.
        sessions: Processes of which a part of it is left.
        remarks: What a reader should look at: several codes, a tree with changes.
    """

    run: str
    seeds: tuple[int, ...]
    env_steps: int
    finished: bool
    on_protocol: bool
    sessions: list[Session]
    remarks: list[str]


class Summary(msgspec.Struct, frozen=True):
    """A validation.

    Attributes:
        version: Of this format.
        agents: That were judged.
        verdict: Of all windows.
        windows: Of every agent.
        off_protocol: Runs that were not judged because of what they are.
        provenance: Of every run that could be read.
        curves: Of the runs on protocol.
        references: Repository and commit of each agent's curves.
        criteria: What was judged by.
    """

    version: int
    agents: list[str]
    verdict: Verdict
    windows: list[WindowResult]
    off_protocol: list[OffProtocol]
    provenance: list[Provenance]
    curves: list[Curve]
    references: dict[str, str]
    criteria: Criteria


def validate(
    folder: Path,
    chosen: Sequence[str],
    *,
    registry: Mapping[str, RunSpec] | None = None,
    references: Mapping[str, Reference] | None = None,
    rules: Criteria | None = None,
) -> Summary:
    """Judges the runs of a folder as they are now.

    Args:
        folder: Of the runs, each a folder with its registered name.
        chosen: The agents to judge.
        registry: The registered runs; the protocol's by default.
        references: The published results by agent; those that are kept by default.
        rules: The criteria; those of the protocol by default.

    Raises:
        PaperError: There is no such folder.
    """
    if not folder.is_dir():
        raise PaperError(f"{folder} is no folder; make runs with `audit paper run --out {folder}`")
    registry = registered() if registry is None else registry
    references = references or {agent: store.read(agent) for agent in chosen}
    rules = rules or criteria()
    off: list[OffProtocol] = []
    on: dict[str, Run] = {}
    every: list[Run] = []
    for place in sorted(path.parent for path in folder.glob(f"*/{RUN}")):
        try:
            run = read_run(place)
        except PaperError as error:
            off.append(OffProtocol(place.name, [str(error)]))
            continue
        every.append(run)
        wanted = registry.get(place.name)
        why = departures(run, registry, agents.resolved(wanted) if wanted else {}, rules.scores)
        if why:
            off.append(OffProtocol(place.name, why, _beside(run, references)))
        else:
            on[place.name] = run
    windows = []
    for agent in chosen:
        names = {spec.task: name for name, spec in registry.items() if spec.agent == agent}
        windows += judge(agent, references[agent], on, names, rules)
    return Summary(
        VERSION,
        list(chosen),
        overall(windows),
        windows,
        off,
        [_provenance(run, run.folder.name in on) for run in every],
        [_curve(run) for run in on.values() if run.spec.agent in chosen],
        {
            agent: f"{references[agent].repository} at {references[agent].commit}"
            for agent in chosen
        },
        rules,
    )


def _beside(run: Run, references: Mapping[str, Reference]) -> Curve | None:
    """The curve of a run, if there is a published one to show it with."""
    reference = references.get(run.spec.agent)
    known = reference is not None and run.spec.task in {t.task for t in reference.tasks}
    return _curve(run) if known and run.records else None


def _curve(run: Run) -> Curve:
    return Curve(
        run.folder.name,
        run.spec.agent,
        run.spec.task,
        run.spec.seeds,
        [record.env_steps for record in run.records],
        [record.values for record in run.records],
    )


def _provenance(run: Run, on_protocol: bool) -> Provenance:
    sessions = run.contributors
    last: list[Record] = run.records[-1:]
    return Provenance(
        run.folder.name,
        run.spec.seeds,
        last[0].env_steps if last else 0,
        run.finished is not None,
        on_protocol,
        sessions,
        remarks(sessions),
    )
