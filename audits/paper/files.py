"""The files of a run, and how they are read.

run.json        what was asked for, and the agent's resolved configuration
curve.jsonl     one record per chunk
sessions.jsonl  one line for every start of a process: from where it went on, and with what
progress.json   how far it is, every few seconds
finished.json   written last
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Generic, TypeVar

import msgspec

from audits.paper.errors import PaperError
from audits.paper.registry import RunSpec
from reports.records import write_atomically

VERSION = 1
RUN, CURVE, SESSIONS = "run.json", "curve.jsonl", "sessions.jsonl"
PROGRESS, FINISHED = "progress.json", "finished.json"

T = TypeVar("T")
Spec = TypeVar("Spec", bound=msgspec.Struct)


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One chunk of a run.

    Attributes:
        env_steps: Environment steps of each seed at its end.
        progress: The same in the agent's unit.
        updates: Of each seed so far.
        values: Of each seed, the mean return; None where no episode counts.
        episodes: Of each seed, how many the mean is over.
        lengths: Of each seed, their mean length in actions; None likewise.
        seconds: Wall time of the chunk.
    """

    env_steps: int
    progress: int
    updates: int
    values: list[float | None]
    episodes: list[int]
    lengths: list[float | None]
    seconds: float


class Session(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One process that worked on a run.

    Attributes:
        begin: Progress that it went on from.
        started: When, in UTC.
        commit: Of the project's repository; None outside of one.
        changed: Whether its tree had changes.
        source: Digest of the core's source.
        packages: With their versions.
        device: Kind and name.
        host: Name of the machine.
        job: Of the cluster; "" elsewhere.
    """

    begin: int
    started: str
    commit: str | None
    changed: bool | None
    source: str
    packages: dict[str, str]
    device: str
    host: str
    job: str = ""

    @property
    def code(self) -> str:
        """The code, in a few characters: the commit where it is known, else the core's digest."""
        if not self.commit:
            return f"core {self.source[:12]}"
        return self.commit[:12] + (" with changes" if self.changed else "")


class RunFile(msgspec.Struct, Generic[Spec], frozen=True, forbid_unknown_fields=True):
    """run.json.

    Attributes:
        version: Of this format.
        specification: What was asked for.
        agent: The agent's resolved configuration, with dotted keys.
    """

    version: int
    specification: Spec
    agent: dict[str, Any]


class Run(msgspec.Struct, frozen=True):
    """All that is known of a run.

    Attributes:
        folder: Where its files are.
        spec: What was asked for.
        agent: The agent's resolved configuration.
        records: By environment steps.
        sessions: In their order.
        finished: finished.json; None while it is not.
    """

    folder: Path
    spec: RunSpec
    agent: dict[str, Any]
    records: list[Record]
    sessions: list[Session]
    finished: dict[str, Any] | None

    @property
    def contributors(self) -> list[Session]:
        """The sessions of which a part of the run is left."""
        return contributors(self.sessions)


def contributors(sessions: Sequence[Session]) -> list[Session]:
    """The sessions of which a part of a run is left.

    What a session did beyond the point that a later one went on from was done again.
    """
    kept = []
    for index, session in enumerate(sessions):
        later = [other.begin for other in sessions[index + 1 :]]
        if all(session.begin < begin for begin in later):
            kept.append(session)
    return kept


def write_run_file(folder: Path, spec: Any, agent: dict[str, Any]) -> None:
    """Writes run.json.

    Raises:
        OSError: The folder can not be written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    content = msgspec.to_builtins(RunFile(VERSION, spec, agent))
    write_atomically(folder / RUN, (json.dumps(content, indent=1) + "\n").encode())


def read_run_file(folder: Path) -> RunFile[RunSpec]:
    """run.json of a run of the papers' protocols; see `run_file`."""
    return run_file(folder, RunSpec)


def run_file(folder: Path, specification: type[Spec]) -> RunFile[Spec]:
    """run.json of a folder.

    Args:
        folder: Of the run.
        specification: The type of what is asked for of such runs.

    Raises:
        PaperError: It is missing, damaged or of another format.
    """
    path = folder / RUN
    found = read_object(path, RunFile[specification])
    if found.version != VERSION:
        raise PaperError(f"{path} is of format {found.version}, not {VERSION}; remove {folder}")
    return found


def read_run(folder: Path) -> Run:
    """Reads a run, finished or not.

    Raises:
        PaperError: A file is damaged. Half a line at the end of one is what a killed process
            was writing, and counts as not there.
    """
    about = read_run_file(folder)
    return Run(
        folder,
        about.specification,
        about.agent,
        read_lines(folder / CURVE, Record),
        read_lines(folder / SESSIONS, Session),
        read_finished(folder),
    )


def read_finished(folder: Path) -> dict[str, Any] | None:
    """finished.json of a run; None while it is not."""
    path = folder / FINISHED
    return read_object(path, dict[str, Any]) if path.exists() else None


def read_object(path: Path, kind: type[T]) -> T:
    """The object that a file holds.

    Raises:
        PaperError: It is missing or damaged.
    """
    return _decoded(path, _bytes(path), kind)


def read_lines(path: Path, kind: type[T]) -> list[T]:
    """The whole lines of a file; none of one that is not there."""
    if not path.exists():
        return []
    lines = _bytes(path).split(b"\n")[:-1]
    return [_decoded(path, line, kind, f"line {n}: ") for n, line in enumerate(lines, 1)]


def write_lines(path: Path, values: Sequence[msgspec.Struct]) -> None:
    """Writes all lines of a file at once."""
    encoder = msgspec.json.Encoder()
    write_atomically(path, b"".join(encoder.encode(value) + b"\n" for value in values))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise PaperError(f"{path} can not be read: {error.strerror or error}") from error


def _decoded(path: Path, content: bytes, kind: type[T], where: str = "") -> T:
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        way_out = (
            "the command that made the run makes it anew"
            if path.name == CURVE
            else f"restore it, or remove {path.parent} to begin that run anew"
        )
        raise PaperError(f"{path} is damaged ({where}{error}); {way_out}") from error
