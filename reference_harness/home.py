"""The folder in which the harness keeps what it installs, and how it changes things there.

Everything is made in a staging folder and renamed when it is whole, under a lock that the
operating system drops when a process dies. So whatever stands under its final name is whole.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import shutil
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from reference_harness.errors import HarnessError

HOME_VARIABLE = "WORLD_MODEL_PARITY_HOME"

Report = Callable[[str], object]

_DISK_IS_FULL = (errno.ENOSPC, errno.EDQUOT)
_NOT_PERMITTED = (errno.EACCES, errno.EPERM, errno.EROFS)


def data_folder() -> Path:
    """Where everything lies: `$WORLD_MODEL_PARITY_HOME`, else the user's data folder."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    import platformdirs

    return platformdirs.user_data_path("world-model-parity")


def reference_folder(name: str) -> Path:
    """Where one reference lies: its checkout, and the record that it is installed."""
    return data_folder() / "references" / name


def environments_folder() -> Path:
    """Where the side environments lie."""
    return data_folder() / "environments"


def log_path(name: str) -> Path:
    """Where the output of a long step goes."""
    return data_folder() / "logs" / f"{name}.log"


@contextlib.contextmanager
def locked(name: str, report: Report, patience: float = 1.0) -> Iterator[None]:
    """Holds the lock of a reference or an environment; waits for whoever holds it, and says so.

    Args:
        name: What is locked.
        report: Told when this takes more than `patience`, and again every minute.
        patience: Seconds of silence.
    """
    import filelock

    path = data_folder() / "locks" / f"{name}.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(path)
    started = time.monotonic()
    timeout = patience
    while True:
        try:
            lock.acquire(timeout=timeout)
            break
        except filelock.Timeout:
            waited = time.monotonic() - started
            report(f"another process is at work on {name}; waiting ({waited:.0f} s so far)")
            timeout = 60.0
    try:
        yield
    finally:
        lock.release()


@contextlib.contextmanager
def locked_if_free(name: str) -> Iterator[bool]:
    """Holds the lock of that name, or yields False if somebody else does."""
    import filelock

    lock = filelock.FileLock(data_folder() / "locks" / f"{name}.lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        yield False
        return
    try:
        yield True
    finally:
        lock.release()


@contextlib.contextmanager
def staging(final: Path) -> Iterator[Path]:
    """A new folder beside `final`, to be filled and then given to `publish`.

    It is removed if the block fails.  The name is new every time, so a child that outlived its
    killed parent can not write into this one.
    """
    final.parent.mkdir(parents=True, exist_ok=True)
    sweep(final)
    folder = final.with_name(f".{final.name}.staging-{uuid.uuid4().hex[:8]}")
    folder.mkdir()
    try:
        yield folder
    finally:
        remove_folder(folder)


def sweep(final: Path) -> None:
    """Removes what killed processes left beside `final`; its lock must be held."""
    for leftover in final.parent.glob(f".{final.name}.*"):
        remove_folder(leftover)


def publish(folder: Path, final: Path) -> None:
    """Puts a whole staging folder in the place of whatever stands under its final name."""
    remove_folder(final)
    folder.rename(final)


def remove_folder(folder: Path) -> None:
    """Removes a folder, read-only or not; half of it never stands under its name."""
    if not folder.is_dir():
        return
    doomed = folder
    if ".removed-" not in folder.name:
        doomed = folder.with_name(f".{folder.name.lstrip('.')}.removed-{uuid.uuid4().hex[:8]}")
        folder.rename(doomed)
    for inner, _, _ in os.walk(doomed):
        os.chmod(inner, 0o700)
    # Something may still be writing into it; the next `sweep` tries again.
    shutil.rmtree(doomed, ignore_errors=True)


def write_json(path: Path, value: Any) -> None:
    """Writes a file through a temporary beside it, so that no reader sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(value, file, indent=1)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file, or None if there is none that can be read."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return value if isinstance(value, dict) else None


@contextlib.contextmanager
def explained(what: str) -> Iterator[None]:
    """Turns a full disk, or a folder that can not be used, into one sentence.

    Args:
        what: What is going on, as in "installing dreamerv3-29eb964".

    Raises:
        HarnessError: The disk is full, or something can not be read or written.
    """
    try:
        yield
    except OSError as error:
        if error.errno in _DISK_IS_FULL:
            raise disk_is_full(what) from None
        named = error.filename or ""
        ours = str(named).startswith(str(data_folder()))
        if not ours and error.errno not in _NOT_PERMITTED:
            raise
        raise HarnessError(
            f"{what}: {error.strerror}: {named}. The references lie in {data_folder()}; set "
            f"{HOME_VARIABLE} to keep them elsewhere."
        ) from None


def disk_is_full(what: str) -> HarnessError:
    """The one error about a full disk, whoever met it."""
    return HarnessError(
        f"{what}: the disk is full. The references lie in {data_folder()} (up to 1.5 GB for each "
        f"environment); make room and repeat the command, or set {HOME_VARIABLE} to a folder on "
        "another disk."
    )


def says_disk_is_full(output: str) -> bool:
    """Whether a program's output complains of a full disk."""
    return "No space left on device" in output or "Disk quota exceeded" in output
