"""Answers that a pinned reference gave earlier, kept with where they came from.

A recording answers a question only if exactly that question was recorded: requests are
known by a digest of the operation and its inputs. `MANIFEST.json` holds the SHA-256 of
every other file, and nothing is used before its digest was checked.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from reference_harness.errors import HarnessError

FOLDER = Path(__file__).parent / "recordings_data"
MANIFEST = "MANIFEST.json"
FORMAT = 1

# Marks an integer array that is stored as its first differences: counts that rise
# steadily then compress to almost nothing, and integers lose nothing by it.
DIFFERENCES = ".differences"


class RecordingError(HarnessError):
    """A recording can not be read or written."""


class DamagedError(RecordingError):
    """A recording is damaged: a file is missing, altered or unknown to the manifest.

    Attributes:
        fault: What is wrong with which file.
    """

    def __init__(self, fault: str, command: str = "parity record"):
        super().__init__(
            f"{fault}; reinstall world-model-parity, or measure it again with `{command}`"
        )
        self.fault = fault


class NotRecordedError(HarnessError):
    """This question was never recorded.

    Attributes:
        digest: The request's digest.
    """

    def __init__(self, message: str, digest: str):
        super().__init__(message)
        self.digest = digest


def request_digest(operation: str, inputs: Mapping[str, Any]) -> str:
    """The SHA-256 of a request, the same on every platform.

    Arrays count with dtype, shape and little-endian bytes, plain values as JSON.

    Raises:
        TypeError: An input is neither a numeric array nor a plain value.
    """
    digest = hashlib.sha256()

    def add(part: bytes) -> None:
        digest.update(len(part).to_bytes(8, "little") + part)

    add(operation.encode())
    for name in sorted(inputs):
        value = inputs[name]
        add(name.encode())
        if isinstance(value, np.ndarray):
            array = portable(value)
            add(f"array {array.dtype.str} {list(array.shape)}".encode())
            add(array.tobytes())
        else:
            plain = value.item() if isinstance(value, np.generic) else value
            add(b"plain " + json.dumps(plain, sort_keys=True).encode())
    return digest.hexdigest()


def portable(array: np.ndarray) -> np.ndarray:
    """The array in C order and little-endian.

    Raises:
        TypeError: It holds no numbers.
    """
    if array.dtype.kind not in "biuf":
        raise TypeError(f"an array of dtype {array.dtype} can not be recorded")
    # `np.ascontiguousarray` would make a scalar a vector.
    return np.asarray(array, array.dtype.newbyteorder("<"), order="C")


def read_manifest(folder: Path) -> dict[str, str]:
    """The digests of all files by their path in the folder; none if there is no manifest.

    Raises:
        RecordingError: It is no manifest of this format.
    """
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text("utf-8"))
        if manifest["format"] != FORMAT:
            raise ValueError(f"its format is {manifest['format']!r}, expected {FORMAT}")
        return {str(name): str(digest) for name, digest in manifest["files"].items()}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise damaged(path, f"is no manifest ({error})") from None


def read_checked(folder: Path, name: str, manifest: Mapping[str, str]) -> bytes:
    """A file's bytes, once they are known to be those of the manifest.

    Raises:
        RecordingError: The file is missing, or its digest differs.
    """
    path = folder / name
    try:
        data = path.read_bytes()
    except OSError as error:
        raise damaged(path, f"can not be read ({error.strerror})") from None
    found = hashlib.sha256(data).hexdigest()
    if found != manifest[name]:
        raise damaged(
            path, f"is not the file of the manifest: SHA-256 {found}, expected {manifest[name]}"
        )
    return data


def damaged(path: Path, what: str) -> DamagedError:
    """The error about a file of a recording, with the way out."""
    return DamagedError(f"the recording {path} {what}")


class Recording:
    """The recorded answers of one pin; files are read, and checked, when first needed.

    Args:
        pin: The pin's name.
        folder: Where recordings are kept.
    """

    def __init__(self, pin: str, folder: Path = FOLDER):
        self.pin = pin
        self._folder = folder
        self._manifest = read_manifest(folder)
        self._files: dict[str, Any] = {}

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """The recording sessions: where, when and with what each request was measured.

        Recordings that were merged as files have several accounts of them, alike but for the
        sessions of each.
        """
        found = [s for data in self._provenance() for s in json.loads(data)["sessions"]]
        joined: dict[str, dict[str, Any]] = {}
        for session in sorted(found, key=lambda session: session.get("created", "")):
            about = {name: value for name, value in session.items() if name != "requests"}
            name = json.dumps(about, sort_keys=True)
            requests = joined.setdefault(name, {**about, "requests": {}})["requests"]
            for operation, askers in session["requests"].items():
                table = requests.setdefault(operation, {})
                for digest, claims in askers.items():
                    table[digest] = sorted({*table.get(digest, ()), *claims})
        return list(joined.values())

    @property
    def operations(self) -> tuple[str, ...]:
        """The operations of which an answer is recorded."""
        names = (name.split("/") for name in self._manifest)
        return tuple(sorted(p[2].split("-")[0] for p in names if p[0] == self.pin and len(p) == 3))

    def answer(self, operation: str, inputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """The recorded answer to exactly this request.

        Raises:
            NotRecordedError: This request was never recorded.
            RecordingError: The recording is damaged.
        """
        digest = request_digest(operation, inputs)
        answer = self.answers(operation).get(digest)
        if answer is None:
            raise NotRecordedError(
                f"{self.pin} has no recorded answer of {operation} for these inputs "
                f"(request {digest[:12]})",
                digest,
            )
        return {name: load() for name, load in answer.items()}

    def answers(self, operation: str) -> dict[str, dict[str, Any]]:
        """For each request's digest, what loads each output.

        Raises:
            RecordingError: The recording is damaged.
        """
        if not self._files:  # answers of which nobody knows whence they came are none
            self._provenance()
        if operation not in self._files:
            name = self._file_of(operation)
            data = name and read_checked(self._folder, name, self._manifest)
            self._files[operation] = _unpack(data) if data else {}
        return self._files[operation]

    def verify(self) -> None:
        """Checks every file of this pin, and that the manifest knows all that lie there.

        Raises:
            RecordingError: The recording is damaged.
        """
        for name in self._manifest:
            if name.startswith(f"{self.pin}/"):
                read_checked(self._folder, name, self._manifest)
        for path in sorted((self._folder / self.pin).rglob("*")):
            if path.is_file() and path.relative_to(self._folder).as_posix() not in self._manifest:
                raise damaged(path, "is not in the manifest")

    def _provenance(self) -> list[bytes]:
        """The files that say where the answers come from; none where there are none."""
        names = [name for name in self._manifest if name.startswith(f"{self.pin}/provenance")]
        if self.operations and not names:
            raise damaged(self._folder / MANIFEST, f"names no provenance of {self.pin}")
        return [read_checked(self._folder, name, self._manifest) for name in names]

    def _file_of(self, operation: str) -> str | None:
        start = f"{self.pin}/answers/{operation}-"
        for name in self._manifest:
            if name.startswith(start):
                return name
        for path in (self._folder / self.pin / "answers").glob(f"{operation}[-.]*"):
            raise damaged(path, "is not in the manifest")
        return None


def _unpack(data: bytes) -> dict[str, dict[str, Any]]:
    archive = np.load(io.BytesIO(data), allow_pickle=False)
    answers: dict[str, dict[str, Any]] = {}
    for member in archive.files:
        digest, _, name = member.partition("/")
        output = name.removesuffix(DIFFERENCES)
        answers.setdefault(digest, {})[output] = _loader(archive, member)
    return answers


def _loader(archive: Any, member: str):
    def load() -> np.ndarray:
        array = archive[member]
        if member.endswith(DIFFERENCES):
            array = np.cumsum(array, axis=-1, dtype=array.dtype)
        return np.asarray(array, array.dtype.newbyteorder("="))

    return load
