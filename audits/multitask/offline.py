"""The run on the dataset: one agent of all tasks, trained without acting but to be evaluated."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import msgspec

from audits.multitask.pooling import read_about, read_episodes, refuse_stale
from audits.multitask.protocol import OFFLINE, SOURCES, OfflineSpec, Protocol, protocol
from audits.multitask.sources import states
from audits.paper.curve_log import chunks
from audits.paper.errors import PaperError
from audits.paper.files import CURVE, SESSIONS, Session, read_finished, read_lines, run_file
from audits.paper.training import explained, learned_digest, observed_bar


class OfflineRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One chunk of the run.

    Attributes:
        updates: Of each seed at its end.
        returns: Mean return of an evaluation's episodes: [seeds][tasks]; None where it is not
            finite.
        lengths: Mean length of them in actions, likewise.
        episodes: Of each task, how many the means are over.
        seconds: Wall time of the chunk.
    """

    updates: int
    returns: list[list[float | None]]
    lengths: list[list[float]]
    episodes: int
    seconds: float


class OfflineRun(msgspec.Struct, frozen=True):
    """All that is known of the run.

    Attributes:
        folder: Where its files are.
        spec: What was asked for.
        agent: The agent's resolved configuration.
        records: By updates.
        sessions: In their order.
        finished: finished.json; None while it is not.
    """

    folder: Path
    spec: OfflineSpec
    agent: dict[str, Any]
    records: list[OfflineRecord]
    sessions: list[Session]
    finished: dict[str, Any] | None


class OfflineRuns:
    """Runs on a dataset; see `audits.paper.kinds.Kind`. It lies beside the run's folder."""

    unit = "updates"
    specification = OfflineSpec

    def require(self, spec: OfflineSpec) -> None:
        """The core trains what there is a dataset of."""

    def resolved(self, spec: OfflineSpec) -> dict[str, Any]:
        """Every number of the agent."""
        return agent_config(spec.settings).to_dict()

    def train(
        self, spec: OfflineSpec, folder: Path, observe: Callable[[int], None], *, save_every: float
    ) -> str:
        """Trains to the end, from the newest checkpoint if there is one.

        Raises:
            InterruptedRunError: A signal asked it to stop.
            PaperError: The dataset is damaged or another, or the core refuses it.
        """
        from core.tdmpc2.offline import OfflineConfig, run_offline
        from core.training.run_config import RunConfig

        about = read_about(folder.parent)
        dataset = read_episodes(about, folder.parent)
        if (about.digest, about.digests) != (spec.dataset, spec.sources):
            raise PaperError(
                f"{folder.parent} has another dataset by now; start again with the same command"
            )
        with explained(spec.name):
            config = RunConfig(
                train=OfflineConfig.on(
                    dataset,
                    agent=agent_config(spec.settings),
                    steps=spec.budget,
                    log_every=spec.chunk,
                    eval_episodes=spec.eval_episodes,
                ),
                env=" ".join(spec.tasks),
                seeds=spec.seeds,
                logdir=folder,
                eval_every=spec.chunk,
                save_every=save_every,
            )
            state = run_offline(config, dataset, observed_bar(spec.budget, observe))
        return learned_digest(state)

    def records(self, spec: OfflineSpec, log: Path) -> list[OfflineRecord]:
        """One record for every chunk that all seeds have logged."""
        records: list[OfflineRecord] = []
        for updates, lines in chunks(log, spec.seeds, spec.chunk):
            records.append(_record(updates, lines, records[-1].updates if records else 0))
        return records

    def reached(self, spec: OfflineSpec, rows: int) -> int:
        """Where other runs count rows, this one counts updates."""
        return rows

    def keep(self, spec: OfflineSpec, folder: Path) -> None:
        """Nothing is wanted but the records."""


OFFLINE_RUNS = OfflineRuns()


def agent_config(settings: Mapping[str, Any]) -> Any:
    """The agent's configuration object.

    Raises:
        ConfigError: The settings are none of the agent's.
    """
    from core.tdmpc2.config import Config

    others = dict(settings)
    return Config.of_size(others.pop("size"), **others)


def spec_of(out: Path, *, smoke: bool = False) -> OfflineSpec:
    """The run on the dataset of a folder, whose sources are still what it was pooled from.

    Raises:
        PaperError: There is no dataset, it is damaged, or sources have changed; names them.
    """
    wanted: Protocol = protocol(smoke=smoke)
    about = read_about(out)
    refuse_stale(about, states(wanted, out / SOURCES, verify=True), out)
    return wanted.offline_spec(about.digest, about.digests)


def read_offline(out: Path) -> OfflineRun:
    """The run of a folder, finished or not.

    Raises:
        PaperError: There is none, or a file is damaged.
    """
    folder = out / OFFLINE
    about = run_file(folder, OfflineSpec)
    return OfflineRun(
        folder,
        about.specification,
        about.agent,
        read_lines(folder / CURVE, OfflineRecord),
        read_lines(folder / SESSIONS, Session),
        read_finished(folder),
    )


def damages(run: OfflineRun) -> list[str]:
    """What is wrong with the records: all chunks, all episodes, all in full length are expected."""
    spec = run.spec
    shape = (len(spec.seeds), len(spec.tasks))
    told = []
    if [r.updates for r in run.records] != list(spec.records)[: len(run.records)]:
        told.append("the records are not where they should be")
    for record in run.records:
        for what, rows in (("returns", record.returns), ("lengths", record.lengths)):
            if (len(rows), *{len(row) for row in rows}) != shape:
                told.append(f"at {record.updates:,} updates, {what} are not of every seed and task")
        lengths = {length for row in record.lengths for length in row}
        if record.episodes != spec.eval_episodes or lengths != {float(spec.episode_length)}:
            told.append(
                f"at {record.updates:,} updates, the evaluation is not of {spec.eval_episodes} "
                f"episodes of {spec.episode_length:,} actions each"
            )
    return told[:3]


def _mean(values: Sequence[float | None]) -> float | None:
    finite = [value for value in values if value is not None and math.isfinite(value)]
    return fmean(finite) if len(finite) == len(values) else None


def _record(updates: int, lines: Sequence[Mapping[str, Any]], before: int) -> OfflineRecord:
    return OfflineRecord(
        updates=updates,
        returns=[[_mean(task) for task in line["eval/returns"]] for line in lines],
        lengths=[[fmean(task) for task in line["eval/lengths"]] for line in lines],
        episodes=min(len(task) for line in lines for task in line["eval/returns"]),
        seconds=round((updates - before) / lines[0]["time/rows_per_second"], 3),
    )
