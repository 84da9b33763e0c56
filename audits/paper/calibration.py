"""The time of a run, from a piece of its own program on the device that is here."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from audits.paper.errors import PaperError
from audits.paper.kinds import AnySpec
from audits.paper.registry import RunSpec
from audits.paper.training import program
from reports.records import write_atomically

_FILE = "calibrations.json"


class Calibration(msgspec.Struct, frozen=True):
    """What was measured of a run.

    Attributes:
        run: Its name.
        seeds: How many were side by side.
        device: It was measured on.
        compilation: Seconds to compile the program.
        tick: Seconds of a row of every environment, with the updates that belong to it.
        evaluation: Seconds of an evaluation; 0 without one.
        ticks: Of the whole run.
        evaluations: Likewise.
        temporary: Bytes beside the state, as the compiler laid them out.
        peak: Bytes that the device has held at most; None where it does not say.
    """

    run: str
    seeds: int
    device: str
    compilation: float
    tick: float
    evaluation: float
    ticks: int
    evaluations: int
    temporary: int
    peak: int | None

    @property
    def seconds(self) -> float:
        """Of the whole run."""
        return self.compilation + self.ticks * self.tick + self.evaluations * self.evaluation


def calibrate(spec: RunSpec, *, seconds: float = 30.0) -> Calibration:
    """Compiles a run's program, and measures ticks that have updates.

    The program is that of the run, its ring in full size, so that what the device can not hold
    fails here and not in a queue.

    Args:
        spec: The run.
        seconds: How long to measure, at least.

    Raises:
        PaperError: The core does not train this agent, or that is no time to measure.
        EnvironmentSetupError: The environment is not installed.
    """
    config, train, shape = program(spec)
    return measured(
        spec.name,
        spec.seeds,
        train,
        shape,
        ticks=config.train.ticks,
        evaluations=len(spec.records) if spec.eval_episodes else 0,
        seconds=seconds,
    )


def measured(
    name: str,
    seeds: Sequence[int],
    train: Any,
    shape: Any,
    *,
    ticks: int,
    evaluations: int,
    seconds: float,
    constants: Sequence[Any] = (),
) -> Calibration:
    """Compiles functions of a run, and measures ticks that have updates.

    Args:
        name: Of the run.
        seeds: Of the run.
        train: The functions.
        shape: Of the run's state.
        ticks: Of the whole run.
        evaluations: Likewise.
        seconds: How long to measure, at least.
        constants: Further arguments of the chunk.

    Raises:
        PaperError: In such a time nothing would be measured.
    """
    if not 0 < seconds < math.inf:
        raise PaperError(f"--seconds: expected a finite number above 0, not {seconds:g}")
    import jax
    import jax.numpy as jnp
    import numpy as np

    total = ticks
    keys = jax.vmap(jax.random.key)(np.asarray(seeds, np.uint32))
    began = time.perf_counter()
    chunk = jax.jit(train.chunk, donate_argnums=0)
    compiled = chunk.lower(shape, jnp.int32(1), *constants).compile()
    evaluate = jax.jit(train.evaluate).lower(shape).compile() if evaluations else None
    compilation = time.perf_counter() - began
    state = jax.jit(train.init)(keys)
    while not np.any(state.learners.train.updates) and int(state.tick) < total:
        state, _ = compiled(state, jnp.int32(1), *constants)
    ticks, spent, step = 0, 0.0, 1
    while spent < seconds and int(state.tick) < total:
        step = min(2 * step, total - int(state.tick))
        began = time.perf_counter()
        state, _ = compiled(state, jnp.int32(step), *constants)
        jax.block_until_ready(state)
        spent += time.perf_counter() - began
        ticks += step
    evaluation = 0.0
    if evaluate is not None:
        began = time.perf_counter()
        jax.block_until_ready(evaluate(state))
        evaluation = time.perf_counter() - began
    device: Any = jax.devices()[0]
    stats = device.memory_stats() or {}
    analysis = compiled.memory_analysis()
    return Calibration(
        name,
        len(seeds),
        f"{device.platform} {device.device_kind}",
        round(compilation, 2),
        spent / max(ticks, 1),
        round(evaluation, 3),
        total,
        evaluations,
        int(getattr(analysis, "temp_size_in_bytes", 0) or 0),
        stats.get("peak_bytes_in_use"),
    )


def keep_calibration(found: Calibration, out: Path) -> None:
    """Keeps a calibration beside the runs, for the jobs that are submitted from there.

    Raises:
        OSError: The folder can not be written.
    """
    out.mkdir(parents=True, exist_ok=True)
    every = _read(out) | {found.run: msgspec.to_builtins(found)}
    write_atomically(out / _FILE, (json.dumps(every, indent=1) + "\n").encode())


def read_calibration(spec: AnySpec, out: Path) -> Calibration | None:
    """What was measured of a run with as many seeds; None if nothing was."""
    try:
        found = msgspec.convert(_read(out).get(spec.name), Calibration)
    except msgspec.ValidationError:
        return None
    return found if found.seeds == len(spec.seeds) else None


def _read(out: Path) -> dict[str, Any]:
    try:
        found = json.loads((out / _FILE).read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
