"""What a run needs, before it is made: memory from shapes, time from a calibration."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from audits.cartpole.source import source_digest
from audits.paper.calibration import Calibration, read_calibration
from audits.paper.liveness import array_bytes, temporary_bytes
from audits.paper.registry import RunSpec
from audits.paper.training import program
from reports.records import write_atomically

_FILE = "estimates.json"

_KEPT = 3  # checkpoints on the disk while one is written: the two that stay, and the new one
_PROCESS = 4 * 2**30  # bytes: an interpreter with jax, compilers and physics
_COPIES = 2  # of the state on the host while it is saved: as it is fetched, and as it is written


class Memory(msgspec.Struct, frozen=True):
    """Memory of a run, in bytes.

    Attributes:
        replay: Of one seed's rings, for the whole run.
        learner: Of its parameters, optimiser and moments.
        other: Of its environments, acting state and sums.
        working: What an update needs beside, of one seed.
        seeds: That are side by side.
        constant: Of arrays that all seeds share and no checkpoint holds.
    """

    replay: int
    learner: int
    other: int
    working: int
    seeds: int
    constant: int = 0

    @property
    def state(self) -> int:
        """Of all seeds: what a checkpoint holds."""
        return self.seeds * (self.replay + self.learner + self.other)

    @property
    def device(self) -> int:
        """Of the device, for state and work."""
        return self.state + self.seeds * self.working + self.constant

    @property
    def host(self) -> int:
        """Of the machine, beside a device of its own."""
        return _PROCESS + _COPIES * self.state + self.constant

    @property
    def disk(self) -> int:
        """Of the checkpoints, before they are compressed."""
        return _KEPT * self.state


def memory(spec: RunSpec) -> Memory:
    """Memory of a run, from the shapes of its program.

    The ring has its final size from the beginning, and the state is overwritten in place, so
    that nothing is there twice.

    Raises:
        PaperError: The core does not train this agent.
        EnvironmentSetupError: The environment is not installed.
    """
    _, train, shape = program(spec)
    return memory_of(train, shape, len(spec.seeds))


def memory_of(train: Any, shape: Any, seeds: int, constants: Sequence[Any] = ()) -> Memory:
    """Memory of functions of a run.

    Args:
        train: The functions.
        shape: Of the run's state.
        seeds: That are side by side.
        constants: Shapes of further arguments of the chunk.
    """
    import jax
    import jax.numpy as jnp

    learner = shape.learners
    parts = {name: _bytes(getattr(learner, name)) for name in learner._fields}
    replay, learned = parts.pop("replay", 0), parts.pop("train")
    working = temporary_bytes(train.chunk, shape, jax.ShapeDtypeStruct((), jnp.int32), *constants)
    return Memory(
        replay // seeds,
        learned // seeds,
        sum(parts.values()) // seeds,
        working // seeds,
        seeds,
        sum(map(_bytes, constants)),
    )


def _bytes(tree: Any) -> int:
    import jax

    return sum(array_bytes(leaf) for leaf in jax.tree.leaves(tree))


class Estimate(msgspec.Struct, frozen=True):
    """What a run needs.

    Attributes:
        run: Its name.
        memory: From shapes.
        calibration: What was measured on a device; None if nothing was.
    """

    run: str
    memory: Memory
    calibration: Calibration | None

    @property
    def hours(self) -> float | None:
        """Of the whole run, as measured; None if nothing was."""
        return None if self.calibration is None else self.calibration.seconds / 3600


class _Kept(msgspec.Struct, frozen=True):
    """Memory as it was once computed: for a run, with a core."""

    specification: RunSpec
    source: str
    memory: Memory


def estimated(spec: RunSpec, out: Path) -> Estimate:
    """The estimate of a run, with the calibration that is kept of it.

    To trace a run's program takes a while, so that its memory is kept beside the runs, until the
    run or the core is another.

    Args:
        spec: The run.
        out: The folder of the runs.
    """
    kept = _read_kept(out)
    found = kept.get(spec.name)
    if found is None or (found.specification, found.source) != (spec, source_digest()):
        found = _Kept(spec, source_digest(), memory(spec))
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(out / _FILE, msgspec.json.encode(kept | {spec.name: found}))
    return Estimate(spec.name, found.memory, read_calibration(spec, out))


def _read_kept(out: Path) -> dict[str, _Kept]:
    try:
        return msgspec.json.decode((out / _FILE).read_bytes(), type=dict[str, _Kept])
    except (OSError, msgspec.DecodeError):
        return {}
