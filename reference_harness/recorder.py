"""Writes recordings: merges what was measured now into what was measured before.

New files have their digest in their name and stand beside the old ones until the manifest
names them, so that an interrupted recording leaves the old one whole.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import io
import json
import os
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reference_harness.recordings import (
    DIFFERENCES,
    FOLDER,
    FORMAT,
    MANIFEST,
    Recording,
    RecordingError,
    damaged,
    portable,
    read_manifest,
    request_digest,
)

Answer = dict[str, np.ndarray]
# operation -> request digest -> answer, or the claims that asked for it.
Answers = dict[str, dict[str, Answer]]
Askers = dict[str, dict[str, list[str]]]

# From this length on, differences are worth trying.
_LONG = 64


@dataclasses.dataclass(frozen=True)
class Written:
    """What one `Recorder.write` did, in numbers of answers; `size` is in bytes."""

    pin: str
    answers: int
    added: int
    changed: int
    dropped: int
    size: int


class Recorder:
    """Collects the answers of one pin, claim by claim, and writes them.

    Args:
        pin: The pin's name.
        session: Where, when and with what the answers are measured; plain JSON values.
        folder: Where recordings are kept.
    """

    def __init__(self, pin: str, session: Mapping[str, Any], folder: Path = FOLDER):
        self.pin = pin
        self._session = dict(session)
        self._folder = folder
        self._pending: list[tuple[str, str, Answer]] = []
        self._answers: Answers = {}
        self._askers: Askers = {}
        self._claims: set[str] = set()

    def add(self, operation: str, inputs: Mapping[str, Any], answer: Mapping[str, Any]) -> None:
        """Notes one answer, until `keep` or `drop` says what becomes of it."""
        copy = {name: portable(np.array(value)) for name, value in answer.items()}
        self._pending.append((operation, request_digest(operation, inputs), copy))

    def keep(self, claim: str) -> None:
        """The noted answers are all that `claim` asks for: they replace its older ones."""
        self._claims.add(claim)
        for operation, digest, answer in self._pending:
            self._answers.setdefault(operation, {})[digest] = answer
            askers = self._askers.setdefault(operation, {}).setdefault(digest, [])
            if claim not in askers:
                askers.append(claim)
        self._pending = []

    def drop(self) -> None:
        """The noted answers are not to be recorded."""
        self._pending = []

    def write(self, *, prune: bool = False) -> Written:
        """Merges the kept answers into the folder, whole or not at all.

        Answers that only claims recorded now had asked for, and no longer ask for, go.

        Args:
            prune: Replace everything that was recorded of this pin.

        Raises:
            RecordingError: The older recording is damaged, or the folder can not be written.
        """
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            with _locked(self._folder):
                return self._write(prune)
        except OSError as error:
            raise RecordingError(
                f"the recording can not be written to {self._folder} ({error.strerror}); "
                f"name a folder of yours with --recordings"
            ) from error

    def _write(self, prune: bool) -> Written:
        manifest, before, sessions = self._before(tolerant=prune)
        merged, sessions = self._merged({} if prune else before, [] if prune else sessions)
        kept, fresh = self._files(manifest, before, merged)
        if sessions:
            data = json.dumps({"pin": self.pin, "sessions": sessions}, indent=1).encode() + b"\n"
            fresh[f"{self.pin}/provenance-{_sha(data)[:16]}.json"] = data
        others = {n: d for n, d in manifest.items() if not n.startswith(f"{self.pin}/")}
        current = {**others, **kept, **{name: _sha(data) for name, data in fresh.items()}}
        _replace(self._folder, fresh, current)
        _sweep(self._folder / self.pin, self._folder, current)

        old, new = _flat(before), _flat(merged)
        return Written(
            pin=self.pin,
            answers=len(new),
            added=len(new.keys() - old.keys()),
            changed=sum(not _same(new[key], old[key]) for key in new.keys() & old.keys()),
            dropped=len(old.keys() - new.keys()),
            size=sum((self._folder / name).stat().st_size for name in (*kept, *fresh)),
        )

    def _before(self, tolerant: bool) -> tuple[dict[str, str], Answers, list[dict[str, Any]]]:
        """The manifest, and what was recorded of this pin: its answers and sessions.

        A full recording is the way out of a damaged one, so it must not trip over it.
        """
        manifest: dict[str, str] = {}
        try:
            manifest = read_manifest(self._folder)
            old = Recording(self.pin, self._folder)
            before, sessions = _load(old), old.sessions
            for session in sessions:
                for op, requests in session["requests"].items():
                    if requests.keys() - before.get(op, {}).keys():
                        raise damaged(self._folder / MANIFEST, f"lacks recorded answers of {op}")
            return manifest, before, sessions
        except RecordingError:
            if not tolerant:
                raise
            others = {n: d for n, d in manifest.items() if not n.startswith(f"{self.pin}/")}
            return others, {}, []

    def _merged(self, before: Answers, sessions: list[dict]) -> tuple[Answers, list[dict]]:
        """What is to be recorded: the older answers that are still asked for, and the new."""
        sessions = _without(sessions, self._claims, self._askers)
        merged: Answers = {}
        for session in sessions:
            for op, requests in session["requests"].items():
                merged.setdefault(op, {}).update({d: before[op][d] for d in requests})
        for op, answers in self._answers.items():
            merged.setdefault(op, {}).update(answers)
        if self._askers:
            requests = {op: dict(sorted(r.items())) for op, r in sorted(self._askers.items())}
            sessions = [*sessions, {**self._session, "requests": requests}]
        return merged, sessions

    def _files(
        self, manifest: Mapping[str, str], before: Answers, merged: Answers
    ) -> tuple[dict[str, str], dict[str, bytes]]:
        """The digests of the files that stay, and the contents of those that are new.

        A file stays if its answers do: another zlib would write them in other bytes.
        """
        kept: dict[str, str] = {}
        fresh: dict[str, bytes] = {}
        for op, answers in sorted(merged.items()):
            name = next((n for n in manifest if n.startswith(f"{self.pin}/answers/{op}-")), None)
            if name and _equal(answers, before.get(op, {})):
                kept[name] = manifest[name]
            else:
                data = pack(answers)
                fresh[f"{self.pin}/answers/{op}-{_sha(data)[:16]}.npz"] = data
        return kept, fresh


def pack(answers: Mapping[str, Answer]) -> bytes:
    """The answers of one operation as an `.npz` whose bytes depend on nothing else."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for digest in sorted(answers):
            for output, array in sorted(answers[digest].items()):
                member, stored = f"{digest}/{output}", portable(array)
                if stored.dtype.kind in "iu" and stored.ndim and stored.shape[-1] >= _LONG:
                    first = np.zeros_like(stored[..., :1])
                    member, stored = member + DIFFERENCES, np.diff(stored, prepend=first)
                content = io.BytesIO()
                np.lib.format.write_array(content, stored, version=(1, 0), allow_pickle=False)
                info = zipfile.ZipInfo(f"{member}.npy", date_time=(1980, 1, 1, 0, 0, 0))
                info.compress_type, info.create_system = zipfile.ZIP_DEFLATED, 3
                info.external_attr = 0o644 << 16
                archive.writestr(info, content.getvalue(), compresslevel=9)
    return buffer.getvalue()


def _sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _flat(answers: Answers) -> dict[tuple[str, str], Answer]:
    return {(op, digest): a for op, table in answers.items() for digest, a in table.items()}


def _same(left: Answer, right: Answer) -> bool:
    return left.keys() == right.keys() and all(
        portable(left[n]).dtype == portable(right[n]).dtype
        and left[n].shape == right[n].shape
        and portable(left[n]).tobytes() == portable(right[n]).tobytes()
        for n in left
    )


def _equal(left: Mapping[str, Answer], right: Mapping[str, Answer]) -> bool:
    return left.keys() == right.keys() and all(_same(left[d], right[d]) for d in left)


def _load(recording: Recording) -> Answers:
    return {
        op: {
            digest: {name: load() for name, load in outputs.items()}
            for digest, outputs in recording.answers(op).items()
        }
        for op in recording.operations
    }


def _without(sessions: list[dict[str, Any]], claims: set[str], again: Askers) -> list[dict]:
    """The sessions, less what `claims` had asked for and what was asked `again`.

    Who else had asked for the latter is noted in `again`.
    """
    kept = []
    for session in sessions:
        requests: Askers = {}
        for op, table in session["requests"].items():
            for digest, askers in table.items():
                left = [asker for asker in askers if asker not in claims]
                if digest in again.get(op, {}):
                    again[op][digest] = sorted({*again[op][digest], *left})
                elif left:
                    requests.setdefault(op, {})[digest] = left
        if requests:
            kept.append({**session, "requests": requests})
    return kept


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    import filelock

    # Not in the folder itself, which holds nothing but what the manifest names.
    name = f"parity-recordings-{_sha(bytes(folder.resolve()))[:16]}.lock"
    with filelock.FileLock(Path(tempfile.gettempdir()) / name):
        yield


def _replace(folder: Path, files: Mapping[str, bytes], manifest: Mapping[str, str]) -> None:
    """Writes the files, then the manifest that names them; on any failure, neither."""
    fresh = [name for name in files if not (folder / name).exists()]
    document = {"format": FORMAT, "files": dict(sorted(manifest.items()))}
    named = json.dumps(document, indent=1).encode() + b"\n"
    try:
        for name, data in files.items():
            _write(folder / name, data)
        _write(folder / MANIFEST, named)
    except BaseException:
        # An interrupt may arrive just after the new manifest took effect.
        with contextlib.suppress(OSError):
            if (folder / MANIFEST).read_bytes() == named:
                raise
        for name in fresh:
            (folder / name).unlink(missing_ok=True)
        raise


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".pending-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _sweep(pin_folder: Path, folder: Path, manifest: Mapping[str, str]) -> None:
    """Removes what the manifest no longer names."""
    for path in list(pin_folder.rglob("*")):
        if path.is_file() and path.relative_to(folder).as_posix() not in manifest:
            path.unlink()
