"""Checkpoints of a whole run: everything that it needs to go on bit by bit (row D6).

orbax writes and rotates them. Around it: every array has a checksum, because orbax restores
a file with a flipped byte without a word; and each way of failing is one sentence with a way
out.
"""

from __future__ import annotations

import contextlib
import io
import logging
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orbax.checkpoint as ocp

from core.training.storable import as_before, checksum, in_shapes, named, placed, storable

KEPT = 2
_DESCRIPTION = ("identity", "checksums", "shapes")


class CheckpointError(Exception):
    """A checkpoint can not be written, can not be read, or is of another configuration."""


class Checkpoints:
    """The checkpoints of one run in one folder, each under its number of rows.

    A checkpoint appears whole or not at all, and the last two stay. What a killed process
    left half-written is removed.
    """

    def __init__(
        self,
        folder: Path,
        identity: Mapping[str, Any],
        defaults: Mapping[str, Any] | None = None,
        *,
        read_only: bool = False,
    ):
        """Opens a folder, absent or not.

        Args:
            folder: Where the checkpoints lie.
            identity: What must not change between saving and resuming: flat, of JSON types.
            defaults: What a key of it stands for that a checkpoint was saved without: an earlier
                version did not have it, and did as it does by default.
            read_only: Whether another process may be writing there: nothing is made or removed.

        Raises:
            CheckpointError: The folder can not be used.
        """
        self.folder = folder.absolute()
        self.identity = dict(identity)
        self.defaults = dict(defaults or {})
        try:
            if not read_only:
                self.folder.mkdir(parents=True, exist_ok=True)
            with _quiet():
                self._manager = ocp.CheckpointManager(
                    self.folder,
                    options=ocp.CheckpointManagerOptions(
                        max_to_keep=KEPT,
                        create=not read_only,
                        cleanup_tmp_directories=not read_only,
                        read_only=read_only,
                        enable_async_checkpointing=False,
                    ),
                    item_handlers={
                        "state": ocp.StandardCheckpointHandler(),
                        "about": ocp.JsonCheckpointHandler(),
                    },
                )
        except (OSError, ValueError) as error:
            raise CheckpointError(
                f"{self.folder} can not hold checkpoints: {_cause(error)}; choose another folder"
            ) from error

    @property
    def latest(self) -> int | None:
        """Rows of the newest checkpoint; None without one."""
        return self._manager.latest_step()

    def save(self, rows: int, state: Any) -> None:
        """Writes a checkpoint and drops the oldest.

        Args:
            rows: Environment rows seen so far; its name.
            state: Any pytree of arrays.

        Raises:
            CheckpointError: It could not be written; the earlier ones are as they were.
        """
        arrays = storable(state)
        sums = {name: checksum(leaf) for name, leaf in named(arrays)}
        shapes = {name: list(leaf.shape) for name, leaf in named(arrays)}
        about = {"identity": self.identity, "checksums": sums, "shapes": shapes}
        size = sum(leaf.nbytes for _, leaf in named(arrays))
        try:
            free = shutil.disk_usage(self.folder).free
            if free < size:
                raise OSError(f"it takes up to {size:,} bytes and {free:,} are free")
            with _quiet():
                self._manager.save(
                    rows,
                    args=ocp.args.Composite(
                        state=ocp.args.StandardSave(arrays), about=ocp.args.JsonSave(about)
                    ),
                    force=True,
                )
        # What a full disk raises depends on which of orbax's threads meets it first.
        except BaseException as error:
            for leftover in self.folder.glob("*.orbax-checkpoint-tmp"):
                shutil.rmtree(leftover, ignore_errors=True)
            if not isinstance(error, Exception):
                raise
            kept = f"the one at {self.latest:,} rows is" if self.latest else "there is no earlier"
            raise CheckpointError(
                f"the checkpoint at {rows:,} rows could not be written to {self.folder} "
                f"({_cause(error)}); make room and start again with the same command "
                f"({kept} {'intact' if self.latest else 'one'})"
            ) from error

    def restore(self, like: Any) -> tuple[int, Any]:
        """Reads the newest checkpoint.

        Args:
            like: A tree of arrays or of their shapes, dtypes and shardings, as it was saved.
                Only shapes may differ, as those of a ring of another size do.

        Returns:
            Its rows, and the tree, in the shapes in which it was saved.

        Raises:
            CheckpointError: There is none, it is damaged, or it is of another configuration.
        """
        rows = self.latest
        if rows is None:
            raise CheckpointError(f"{self.folder} holds no checkpoint")
        about = self._read(rows, about=ocp.args.JsonRestore())["about"]
        if not isinstance(about, dict):
            raise self._damaged(rows, "its description is none")
        if "shapes" not in about and "checksums" in about:
            raise self._of_another_version(rows, "its description has no shapes")
        if not all(isinstance(about.get(part), dict) for part in _DESCRIPTION):
            raise self._damaged(rows, "its description is incomplete")
        self._compare(about["identity"])
        wanted = storable(like)
        absent = set(about["checksums"]) ^ {name for name, _ in named(wanted)}
        if absent:
            raise self._of_another_version(rows, f"{sorted(absent)[0]} exists on one side only")
        try:
            wanted = in_shapes(wanted, about["shapes"])
        except (KeyError, TypeError) as error:
            raise self._damaged(rows, "its description is incomplete") from error
        there = ocp.args.StandardRestore(self._as_saved(rows, wanted))
        arrays = placed(wanted, self._read(rows, state=there)["state"])
        for name, leaf in named(arrays):
            if checksum(leaf) != about["checksums"][name]:
                raise self._damaged(rows, f"{name} is not what was written")
        return rows, as_before(arrays, like)

    def _as_saved(self, rows: int, wanted: Any) -> Any:
        """What is wanted, in the structure of the checkpoint."""
        try:
            with _quiet():
                return placed(self._manager.item_metadata(rows)["state"].tree, wanted)
        # As in `_read`.
        except Exception as error:
            raise self._damaged(rows, _cause(error)) from error

    def _read(self, rows: int, **items: Any) -> Any:
        try:
            with _quiet():
                return self._manager.restore(rows, args=ocp.args.Composite(**items))
        # Damage surfaces as whatever the first reader of the damaged bytes raises.
        except Exception as error:
            raise self._damaged(rows, _cause(error)) from error

    def _damaged(self, rows: int, cause: str) -> CheckpointError:
        earlier = [step for step in self._manager.all_steps() if step < rows]
        then = f"resume at {earlier[-1]:,} rows" if earlier else "start anew"
        return CheckpointError(
            f"the checkpoint {self.folder / str(rows)} is damaged ({cause}); "
            f"delete that folder to {then}"
        )

    def _of_another_version(self, rows: int, cause: str) -> CheckpointError:
        return CheckpointError(
            f"the checkpoint at {rows:,} rows in {self.folder} was written by another version "
            f"of this program: {cause}; use the version that wrote it, or another folder"
        )

    def _compare(self, saved: Mapping[str, Any]) -> None:
        saved = {**self.defaults, **saved}
        different = [
            f"{key} was {saved.get(key)!r} and is now {self.identity.get(key)!r}"
            for key in sorted({*saved, *self.identity})
            if saved.get(key) != self.identity.get(key)
        ]
        if different:
            raise CheckpointError(
                f"{self.folder} holds a run of another configuration: {'; '.join(different)}; "
                f"resume with the same values, or choose another folder"
            )


def _cause(error: BaseException) -> str:
    """The first line of an exception, cut to a readable length."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:100]} … {text[-55:]}"


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the tracebacks of orbax's threads off the terminal: the error itself is raised."""
    logger = logging.getLogger("absl")
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            yield
    finally:
        logger.setLevel(before)
