"""The registered runs: 18 of DreamerV3 and 22 of TD-MPC2, with the protocol's settings."""

from __future__ import annotations

import difflib
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import msgspec
from ruamel.yaml import YAML

from audits.paper.errors import PaperError
from audits.references import store

_FILE = Path(__file__).with_name("protocol.yaml")

Kind = Literal["protocol", "trial", "smoke"]


class RunSpec(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One run: what is trained, on what, for how long, and what is noted.

    Attributes:
        name: Of the run and of its folder.
        agent: "dreamerv3" or "tdmpc2".
        task: As the reference calls it.
        environment: As `make_environment` does.
        seeds: One independent training each.
        n_envs: Environments per seed.
        action_repeat: Environment steps per action.
        time_limit: Environment steps of an episode.
        budget: Environment steps of a seed.
        chunk: Environment steps of a record.
        metric: "training" or "evaluation": see `protocol.yaml`.
        eval_episodes: Of an evaluation.
        settings: Of the agent.
    """

    name: str
    agent: str
    task: str
    environment: str
    seeds: tuple[int, ...]
    n_envs: int
    action_repeat: int
    time_limit: int
    budget: int
    chunk: int
    metric: Literal["training", "evaluation"]
    eval_episodes: int
    settings: dict[str, Any]

    @property
    def episode_length(self) -> int:
        """Actions of an episode that nothing ends early."""
        return -(-self.time_limit // self.action_repeat)

    @property
    def records(self) -> range:
        """The environment steps at which there is a record."""
        return range(self.chunk, self.budget + 1, self.chunk)

    def progress(self, env_steps: int) -> int:
        """Environment steps in the agent's own unit, rows or steps."""
        return env_steps // self.action_repeat

    def with_seeds(self, seeds: Sequence[int]) -> RunSpec:
        """The same run of other seeds."""
        return msgspec.structs.replace(self, seeds=tuple(seeds))


class _Protocol(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Of one agent; the meaning of each field is in the head of `protocol.yaml`."""

    prefix: str
    seeds: tuple[int, ...]
    n_envs: int
    action_repeat: int
    time_limit: int
    budget: Literal["reference"]
    chunk: int
    metric: Literal["training", "evaluation"]
    eval_episodes: int
    settings: dict[str, Any]
    sources: list[str]


@functools.cache
def _protocols() -> dict[str, _Protocol]:
    loaded = YAML(typ="safe", pure=True).load(_FILE.read_text("utf-8"))
    return msgspec.convert(loaded, dict[str, _Protocol])


@functools.cache
def registered() -> dict[str, RunSpec]:
    """Every run of the protocol, by name."""
    found = {}
    for agent, protocol in _protocols().items():
        shared = msgspec.structs.asdict(protocol)
        for gone in ("prefix", "budget", "sources"):
            del shared[gone]
        for task in store.read(agent).tasks:
            name = f"{agent}-{task.task.removeprefix(protocol.prefix)}"
            found[name] = RunSpec(
                name=name,
                agent=agent,
                task=task.task,
                environment=task.environment,
                budget=task.budget,
                **shared,
            )
    return found


@functools.cache
def off_protocol(kind: Literal["trial", "smoke"]) -> dict[str, RunSpec]:
    """Runs that are never judged, by name: small ones that learn, tiny ones for the plumbing."""
    text = Path(__file__).with_name(f"{kind}.yaml").read_text("utf-8")
    specs = msgspec.convert(YAML(typ="safe", pure=True).load(text), list[RunSpec])
    return {spec.name: spec for spec in specs}


def sources_of(agent: str) -> list[str]:
    """Where an agent's settings are from."""
    return _protocols()[agent].sources


def find(names: Sequence[str], kind: Kind = "protocol") -> list[RunSpec]:
    """Runs by name; all of them if none is named, those of an agent if it is.

    Args:
        names: Of runs or agents.
        kind: Among which runs: the protocol's, or others.

    Raises:
        PaperError: No run is called that; the message names the nearest.
    """
    every = registered() if kind == "protocol" else off_protocol(kind)
    overview = "`audit paper list` shows all." if kind == "protocol" else f"See {kind}.yaml."
    return named(names, every, overview)


def named(names: Sequence[str], every: Mapping[str, RunSpec], overview: str) -> list[RunSpec]:
    """Runs of a table by name or agent; all of them if none is named.

    Args:
        names: Of runs or agents.
        every: The runs.
        overview: Says what shows them all.

    Raises:
        PaperError: No run is called that; the message names the nearest.
    """
    chosen: dict[str, RunSpec] = {}
    for name in names or every:
        found = [run for run in every.values() if name in (run.name, run.agent)]
        if not found:
            near = difflib.get_close_matches(name, every, n=2, cutoff=0.5)
            hint = f"; did you mean {' or '.join(near)}?" if near else "."
            raise PaperError(f"no run is called {name!r}{hint} {overview}")
        chosen |= {run.name: run for run in found}
    return list(chosen.values())


def differences(found: RunSpec, wanted: RunSpec) -> list[str]:
    """How a run's specification departs from the registered one: "key is 1, not 2".

    Fewer seeds are no departure as long as they are the protocol's first.
    """
    mine, theirs = msgspec.to_builtins(found), msgspec.to_builtins(wanted)
    if found.seeds == wanted.seeds[: len(found.seeds)] and found.seeds:
        mine["seeds"] = theirs["seeds"]
    return different(mine, theirs)


def different(found: dict[str, Any], wanted: dict[str, Any], prefix: str = "") -> list[str]:
    """How two nested tables differ, one sentence for every key."""
    told = []
    for key in sorted({*found, *wanted}):
        mine, theirs = found.get(key), wanted.get(key)
        if isinstance(mine, dict) and isinstance(theirs, dict):
            told += different(mine, theirs, f"{prefix}{key}.")
        elif mine != theirs:
            told.append(f"{prefix}{key} is {mine!r}, not {theirs!r}")
    return told
