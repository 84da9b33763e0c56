"""The loop of a run: a chunk of ticks, then what is to be shown, logged, saved or heeded."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3.checkpoint import Checkpoints
from core.dreamerv3.interruption import Interruption
from core.dreamerv3.logging import MetricsLog
from core.dreamerv3.progress import ProgressBar
from core.dreamerv3.run_config import RunConfig
from core.dreamerv3.train import RunState


class RunError(Exception):
    """A run can not start or can not go on."""


class RunInterruptedError(RunError):
    """A run was asked to stop.

    Attributes:
        number: The signal that asked.
    """

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.number = number


@dataclasses.dataclass(frozen=True)
class Programs:
    """The compiled functions of a run.

    Attributes:
        chunk: As `Train.chunk`; its state is donated.
        evaluate: As `Train.evaluate`; None without evaluations.
        terms: As `Train.terms`.
    """

    chunk: Callable[..., Any]
    evaluate: Callable[..., Any] | None
    terms: tuple[str, ...]


def train_to_the_end(
    config: RunConfig,
    state: RunState,
    programs: Programs,
    checkpoints: Checkpoints,
    log: MetricsLog,
    bar: ProgressBar,
    interruption: Interruption,
) -> RunState:
    """Trains from a state to the last step.

    Raises:
        RunInterruptedError: A signal asked for it; all is saved.
        RunError: A loss was not finite.
    """
    train, seeds, evaluate = config.train, config.seeds, programs.evaluate
    tick, pace = int(state.tick), _Pace(config.chunk_seconds)
    saved = window_start = time.perf_counter()
    processor_start = time.process_time()
    window_tick, window_updates = tick, int(train.updates_after(tick))
    log_ticks = train.ticks_of(train.log_every)
    eval_ticks = train.ticks_of(config.eval_every) if config.eval_every else 0
    while tick < train.ticks:
        ends = [train.ticks, *(tick - tick % n + n for n in (log_ticks, eval_ticks) if n)]
        if tick < train.ticks_without_updates:
            ends.append(train.ticks_without_updates)
        elif tick == train.ticks_without_updates:
            pace = _Pace(config.chunk_seconds)  # from here on a tick takes far longer
        ticks = min(pace.ticks, min(ends) - tick)
        updates, began = int(train.updates_after(tick)), time.perf_counter()
        state, metrics = programs.chunk(state, jnp.int32(ticks))
        tick = int(state.tick)  # waits for the device
        pace.took(ticks, time.perf_counter() - began)
        _stop_at_fault(state, seeds, programs.terms, checkpoints)
        rows, done = tick * train.n_envs, int(train.updates_after(tick))
        speed = (done - updates) / (time.perf_counter() - began)
        bar.move(rows, speed, float(np.mean(metrics["episode/recent_return"])))

        figures: dict[str, np.ndarray] = {}
        if tick % log_ticks == 0 or tick == train.ticks:
            figures = {name: np.asarray(value) for name, value in metrics.items()}
            elapsed = time.perf_counter() - window_start
            speeds = {
                "time/rows_per_second": (tick - window_tick) * train.n_envs / elapsed,
                "time/updates_per_second": (done - window_updates) / elapsed,
                "time/busy_cores": (time.process_time() - processor_start) / elapsed,
            }
            figures |= {name: np.full(len(seeds), speed) for name, speed in speeds.items()}
            window_start, window_tick, window_updates = time.perf_counter(), tick, done
            processor_start = time.process_time()
        if evaluate is not None and (tick % eval_ticks == 0 or tick == train.ticks):
            scores, lengths = jax.device_get(evaluate(state))
            figures["eval/return"], figures["eval/length"] = scores.mean(-1), lengths.mean(-1)
            figures["eval/returns"], figures["eval/lengths"] = scores, lengths
        if figures:
            for i, seed in enumerate(seeds):
                own = {name: values[i].tolist() for name, values in figures.items()}
                log.write(rows, seed, {"updates": done} | own)
            bar.note(_summary(rows, done, figures))
        asked = interruption.number
        if asked or tick == train.ticks or time.perf_counter() - saved >= config.save_every:
            with interruption.held():
                checkpoints.save(rows, state)
            saved = time.perf_counter()
        if asked and tick < train.ticks:
            raise RunInterruptedError(
                f"interrupted at {rows:,} rows, which are saved; the same command goes on there",
                asked,
            )
    return state


class _Pace:
    """How many ticks take about as long as the terminal may stand still."""

    def __init__(self, seconds: float):
        self._seconds = seconds
        self.ticks = 1

    def took(self, ticks: int, seconds: float) -> None:
        """Adapts to the last chunk, by at most a factor of two upwards."""
        fitting = int(ticks * self._seconds / max(seconds, 1e-6))
        self.ticks = max(1, min(fitting, 2 * ticks))


def _stop_at_fault(
    state: RunState, seeds: tuple[int, ...], terms: tuple[str, ...], checkpoints: Checkpoints
) -> None:
    updates, found = jax.device_get(state.learners.fault)
    faulty = [i for i in range(len(seeds)) if updates[i]]
    if faulty:
        told = "; ".join(
            f"seed {seeds[i]}: {terms[found[i]]} at update {updates[i]:,}" for i in faulty
        )
        if checkpoints.latest is None:
            kept = "there is no checkpoint"
        else:
            kept = f"the last checkpoint, at {checkpoints.latest:,} rows, is from before"
        raise RunError(
            f"a loss is not finite ({told}), and the run stops; {kept}. The same command would "
            f"come to the same end: change a setting, such as a smaller --agent.learning_rate, "
            f"in a new --logdir"
        )


def _summary(rows: int, updates: int, figures: dict[str, np.ndarray]) -> str:
    """The figures that a person follows, one line for all seeds."""
    shown = {
        "return": "episode/return",
        "eval": "eval/return",
        "loss": "train/opt_loss",
        "updates/s": "time/updates_per_second",
        "rows/s": "time/rows_per_second",
    }
    parts = [f"{rows:,} rows", f"{updates:,} updates"]
    for label, name in shown.items():
        if name in figures:
            values = [f"{value:.4g}" if math.isfinite(value) else "–" for value in figures[name]]
            # Seeds go side by side, so that one speed is that of each.
            parts.append(f"{label} {values[0] if name.startswith('time/') else ' '.join(values)}")
    return " · ".join(parts)
