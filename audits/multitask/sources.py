"""The sources: runs of one task each, whose whole training history is kept as a dataset.

A source is known by a digest of what it is: its specification, every number of its agent, its
episodes, what it learned, and what it reached in the end. Wall time is not part of it, so that a
source which was made again and came to the same is the same.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import msgspec

from audits.multitask.protocol import Protocol
from audits.paper.agents import resolved
from audits.paper.eligibility import departures
from audits.paper.errors import PaperError
from audits.paper.files import RUN, Run, read_run
from audits.paper.registry import RunSpec
from audits.paper.session import PaperRuns
from audits.paper.training import explained

EPISODES = "episodes"
_TOLD = ("env", "action_repeat", "time_limit", "episode_length", "episodes")


class SourceRuns(PaperRuns):
    """Runs whose episodes are kept, all of them."""

    def keep(self, spec: RunSpec, folder: Path) -> None:
        """Writes all episodes of the run as a dataset of one task.

        Raises:
            PaperError: Some have been overwritten, or there is no room.
        """
        from core.tdmpc2.dataset import save
        from core.tdmpc2.pooling import pooled, source_of_run

        # One that a killed process has left is whole, but nobody knows of which checkpoint.
        shutil.rmtree(folder / EPISODES, ignore_errors=True)
        with explained(spec.name):
            save(pooled([source_of_run(folder)]), folder / EPISODES)


SOURCE_RUNS = SourceRuns()


class SourceRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source that a dataset can be pooled from.

    Attributes:
        run: Its name.
        digest: Of all that it is: see the module.
        episodes: Digest of its episodes.
        count: How many they are.
        learned: Digest of what it learned.
        returns: Mean return of its last evaluation, of each seed.
    """

    run: str
    digest: str
    episodes: str
    count: int
    learned: str
    returns: list[float]

    @property
    def mean(self) -> float:
        """Mean of the final returns over the seeds."""
        return sum(self.returns) / len(self.returns)


class SourceState(msgspec.Struct, frozen=True):
    """How it is about a source.

    Attributes:
        run: Its name.
        record: What it is; None if nothing can be pooled from it.
        why: Why not.
        off_protocol: Whether that is because it is another run than the protocol's.
    """

    run: str
    record: SourceRecord | None
    why: str = ""
    off_protocol: bool = False


def states(protocol: Protocol, folder: Path, *, verify: bool) -> list[SourceState]:
    """How it is about every source of the protocol.

    Args:
        protocol: Of the sources.
        folder: Of the sources' runs.
        verify: Whether to read all episodes, rather than believe what is told of them.
    """
    return [
        state_of(spec, protocol, folder / spec.name, verify=verify) for spec in protocol.find(())
    ]


def state_of(spec: RunSpec, protocol: Protocol, folder: Path, *, verify: bool) -> SourceState:
    """How it is about a source; see `states`."""
    if not (folder / RUN).exists():
        return SourceState(spec.name, None, "not started")
    try:
        run = read_run(folder)
        off = departures(run, protocol.runs, resolved(spec))
        if not off and run.spec.seeds != spec.seeds:
            off = [f"seeds is {run.spec.seeds!r}, not {spec.seeds!r}"]
        if off:
            return SourceState(spec.name, None, "; ".join(off), off_protocol=True)
        if run.finished is None:
            reached = run.records[-1].env_steps if run.records else 0
            why = f"not finished: at {reached:,} of {spec.budget:,} environment steps"
            return SourceState(spec.name, None, why)
        return SourceState(spec.name, _record(run, verify=verify))
    except PaperError as error:
        return SourceState(spec.name, None, str(error))


def _record(run: Run, *, verify: bool) -> SourceRecord:
    from core.tdmpc2 import dataset

    spec, place = run.spec, run.folder / EPISODES
    try:
        # The description has a digest of every array, and reading compares them.
        about, digest = dataset.told(place)
        if verify:
            dataset.load(place)
        told = [tuple(task[key] for key in _TOLD) for task in about["tasks"]]
    except (dataset.DatasetError, KeyError, TypeError) as error:
        raise PaperError(
            f"the episodes of {spec.name} can not be used ({error}); remove {run.folder} to make "
            "the run again"
        ) from error
    count = len(spec.seeds) * spec.n_envs * (spec.progress(spec.budget) // spec.episode_length)
    wanted = (spec.environment, spec.action_repeat, spec.time_limit, spec.episode_length, count)
    if told != [wanted]:
        raise PaperError(
            f"{place} does not hold the {count:,} episodes of {spec.name}; remove {run.folder} to "
            "make the run again"
        )
    learned = str((run.finished or {}).get("learned"))
    last = run.records[-1] if run.records else None
    if last is None or last.env_steps != spec.budget:
        raise PaperError(
            f"{run.folder} is finished and its last record is missing; remove it to make the run "
            "again"
        )
    returns = [float(value) for value in last.values if value is not None]
    content = {
        "specification": msgspec.to_builtins(spec),
        "agent": run.agent,
        "episodes": digest,
        "learned": learned,
        "returns": returns,
    }
    whole = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return SourceRecord(spec.name, whole, digest, count, learned, returns)


def unusable(found: Sequence[SourceState]) -> list[str]:
    """The sources that nothing can be pooled from, each with the reason."""
    return [f"{state.run}: {state.why}" for state in found if state.record is None]
