"""The dataset: the episodes of all sources together, and whether it is still theirs.

dataset.json   what it was pooled from: a digest of every source
episodes/      the dataset of the core
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import filelock
import msgspec

from audits.multitask.protocol import DATASET, OFFLINE, SOURCES, Protocol
from audits.multitask.sources import EPISODES, SourceRecord, SourceState, states, unusable
from audits.paper.errors import PaperError
from audits.paper.files import Session, read_object
from audits.paper.provenance import this_session
from audits.paper.training import explained
from reports.records import write_atomically

if TYPE_CHECKING:
    from core.tdmpc2.dataset import Dataset

VERSION = 1
ABOUT = "dataset.json"

Tell = Callable[[str], object]


class DatasetFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """dataset.json.

    Attributes:
        version: Of this format.
        digest: Of the pooled episodes.
        tasks: Names of the tasks, in their order.
        rows: Of all episodes: one more each than it has steps.
        bytes: Of the file with the arrays.
        sources: What it was pooled from.
        made: With what.
    """

    version: int
    digest: str
    tasks: list[str]
    rows: int
    bytes: int
    sources: list[SourceRecord]
    made: Session

    @property
    def digests(self) -> dict[str, str]:
        """Digest of every source, by run."""
        return {source.run: source.digest for source in self.sources}


def build(protocol: Protocol, out: Path, tell: Tell) -> tuple[DatasetFile, bool]:
    """Pools the episodes of all sources; the dataset appears whole or not at all.

    Args:
        protocol: Whose sources.
        out: The folder of the validation.
        tell: Told what is done, one line each.

    Returns:
        What the dataset is, and whether it was made now: one that is there and still that of its
        sources is left alone.

    Raises:
        PaperError: A source is missing, not finished or another run; there is a dataset already
            whose sources have changed since; or another process is at work.
    """
    from core.tdmpc2.dataset import load, save
    from core.tdmpc2.pooling import pooled, sources_of_dataset

    out.mkdir(parents=True, exist_ok=True)
    with _sole_user(out):
        tell("reading the sources")
        found = states(protocol, out / SOURCES, verify=True)
        if (out / DATASET).exists():
            about = read_about(out)
            refuse_stale(about, found, out)
            tell("reading the dataset")
            read_episodes(about, out)
            return about, False
        lacking = unusable(found)
        if lacking:
            raise PaperError(
                f"{len(lacking)} of {len(found)} sources can not be pooled ({_few(lacking)}); make "
                "them with `audit multitask sources`"
            )
        sources = [state.record for state in found if state.record is not None]
        # What a killed process has left.
        partial = out / f".{DATASET}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        with explained(DATASET):
            parts = []
            for source in sources:
                part = load(out / SOURCES / source.run / EPISODES)
                if part.digest != source.episodes:
                    raise PaperError(
                        f"the episodes of {source.run} have changed while they were read; start "
                        "again when nobody works on it"
                    )
                parts += sources_of_dataset(part)
            tell(f"pooling {sum(source.count for source in sources):,} episodes")
            made = pooled(parts, mt30=protocol.mt30)
            tell("writing the dataset")
            save(made, partial / EPISODES)
            digest, tasks, rows = made.digest, list(made.tasks.names), len(made.reward)
            del parts, made  # so that there are never three times as many
            tell("reading it back")
            again = load(partial / EPISODES).digest
        if again != digest or tasks != list(protocol.tasks):
            raise PaperError(
                f"{partial} is not what was pooled; see whether the disk is sound, and start again"
            )
        size = sum(path.stat().st_size for path in (partial / EPISODES).glob("*.npz"))
        about = DatasetFile(VERSION, digest, tasks, rows, size, sources, this_session(0))
        write_atomically(partial / ABOUT, _text(about))
        partial.rename(out / DATASET)
    return about, True


def read_about(out: Path) -> DatasetFile:
    """What the dataset of a folder is.

    Raises:
        PaperError: There is none, or it is damaged.
    """
    path = out / DATASET / ABOUT
    if not (out / DATASET).exists():
        raise PaperError(f"{out} has no dataset; make it with `audit multitask dataset`")
    try:
        about = read_object(path, DatasetFile)
    except PaperError as error:
        raise PaperError(f"{path} is missing or damaged; {_anew(out)}") from error
    if about.version != VERSION:
        raise PaperError(f"{path} is of format {about.version}, not {VERSION}; {_anew(out)}")
    return about


def read_episodes(about: DatasetFile, out: Path) -> Dataset:
    """The dataset itself, every byte of it compared.

    Raises:
        PaperError: It is damaged, or another than it is said to be.
    """
    from core.tdmpc2 import dataset

    place = out / DATASET / EPISODES
    try:
        found = dataset.load(place)
    except dataset.DatasetError as error:
        raise PaperError(f"the dataset is damaged ({error}); {_anew(out)}") from error
    if found.digest != about.digest:
        raise PaperError(f"{place} is another dataset than {ABOUT} tells of; {_anew(out)}")
    return found


def changes(about: DatasetFile, found: Sequence[SourceState]) -> list[str]:
    """The sources that are no longer those that a dataset was pooled from.

    Args:
        about: The dataset.
        found: The sources of the protocol, as they are.
    """
    then, told = about.digests, []
    for state in found:
        if state.run not in then:
            told.append(f"{state.run} is none of them")
        elif state.record is None:
            told.append(f"{state.run}: {state.why}")
        elif state.record.digest != then[state.run]:
            told.append(f"{state.run}: {_difference(state.record, about)}")
    told += [f"{run} is no task" for run in then if run not in {state.run for state in found}]
    return told


def refuse_stale(about: DatasetFile, found: Sequence[SourceState], out: Path) -> None:
    """Refuses a dataset whose sources have changed.

    Raises:
        PaperError: They have; names them.
    """
    told = changes(about, found)
    if told:
        raise PaperError(
            f"the sources of {out / DATASET} have changed since it was made ({_few(told)}); "
            f"{_anew(out)}"
        )


def _difference(now: SourceRecord, about: DatasetFile) -> str:
    then = next(source for source in about.sources if source.run == now.run)
    for what, left, right in (
        ("has other episodes", then.episodes, now.episodes),
        ("learned something else", then.learned, now.learned),
        ("reached other returns", then.returns, now.returns),
    ):
        if left != right:
            return what
    return "has other settings"


def _few(told: Sequence[str]) -> str:
    more = [f"and {len(told) - 3} more"] if len(told) > 3 else []
    return "; ".join([*told[:3], *more])


def _anew(out: Path) -> str:
    return f"remove {out / DATASET} and {out / OFFLINE} to make both again"


def _text(about: DatasetFile) -> bytes:
    return msgspec.json.format(msgspec.json.encode(about), indent=1) + b"\n"


@contextlib.contextmanager
def _sole_user(out: Path) -> Iterator[None]:
    lock = filelock.FileLock(out / f".{DATASET}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise PaperError(
            f"another process makes the dataset of {out}; wait for it or stop it"
        ) from None
    try:
        yield
    finally:
        lock.release()
