"""What is trained on several tasks: the sources, and the run on the dataset pooled from them."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from ruamel.yaml import YAML

from audits.paper.registry import RunSpec, named
from audits.references import store

_FILES = {False: "protocol.yaml", True: "smoke.yaml"}

# Folders of a validation.
SOURCES, DATASET, OFFLINE = "sources", "dataset", "offline"


class OfflineSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The run on the dataset.

    Attributes:
        name: Of the run and of its folder.
        tasks: In the order of the dataset.
        episode_length: Actions of an episode of each.
        seeds: One independent training each.
        budget: Updates of a seed.
        chunk: Updates of a record.
        eval_episodes: Of each task, after every chunk.
        settings: Of the agent.
        dataset: Digest of the dataset.
        sources: Digest of every source that it was pooled from, by run.
    """

    name: str
    tasks: tuple[str, ...]
    episode_length: int
    seeds: tuple[int, ...]
    budget: int
    chunk: int
    eval_episodes: int
    settings: dict[str, Any]
    dataset: str
    sources: dict[str, str]

    @property
    def records(self) -> range:
        """The updates at which there is a record."""
        return range(self.chunk, self.budget + 1, self.chunk)


class _Sources(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The meaning of each field is in the head of `protocol.yaml`."""

    tasks: Literal["mt30"] | dict[str, str]
    seeds: tuple[int, ...]
    n_envs: int
    action_repeat: int
    time_limit: int
    budget: int
    chunk: int
    eval_episodes: int
    settings: dict[str, Any]


class _Offline(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Likewise."""

    seeds: tuple[int, ...]
    budget: int
    chunk: int
    eval_episodes: int
    settings: dict[str, Any]


class Protocol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The sources and the run on the dataset, with the reasons."""

    sources: _Sources
    offline: _Offline
    reasons: dict[str, str]

    @property
    def mt30(self) -> bool:
        """Whether the tasks are those of the reference's set."""
        return self.sources.tasks == "mt30"

    @property
    def tasks(self) -> Mapping[str, str]:
        """Environments of the tasks, by name, in the order of the dataset."""
        if isinstance(self.sources.tasks, dict):
            return self.sources.tasks
        reference = store.read("tdmpc2")
        return {name: reference.task(name).environment for name in reference.mt30}

    @property
    def runs(self) -> dict[str, RunSpec]:
        """The run of every task's sources, by name, which is that of the task."""
        shared = msgspec.structs.asdict(self.sources)
        del shared["tasks"]
        return {
            task: RunSpec(
                name=task,
                agent="tdmpc2",
                task=task,
                environment=environment,
                metric="evaluation",
                **shared,
            )
            for task, environment in self.tasks.items()
        }

    def find(self, names: Sequence[str]) -> list[RunSpec]:
        """Sources by task; all of them if none is named.

        Raises:
            PaperError: No task is called that; the message names the nearest.
        """
        return named(names, self.runs, "`audit multitask sources --list` shows all.")

    def offline_spec(self, dataset: str, sources: Mapping[str, str]) -> OfflineSpec:
        """The run on a dataset.

        Args:
            dataset: Its digest.
            sources: Digest of every source, by run.
        """
        runs = self.runs
        return OfflineSpec(
            name=OFFLINE,
            tasks=tuple(runs),
            episode_length=next(iter(runs.values())).episode_length,
            dataset=dataset,
            sources=dict(sources),
            **msgspec.structs.asdict(self.offline),
        )


@functools.cache
def protocol(*, smoke: bool = False) -> Protocol:
    """The protocol, or the same in small."""
    path = Path(__file__).parent / _FILES[smoke]
    return msgspec.convert(YAML(typ="safe", pure=True).load(path.read_text("utf-8")), Protocol)
