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

from core.training.checkpoint import Checkpoints
from core.training.errors import RunError, RunInterruptedError
from core.training.interruption import Interruption, interruptible
from core.training.logging import MetricsLog
from core.training.program import RunState, Train
from core.training.progress import ProgressBar
from core.training.run_config import RunConfig


@dataclasses.dataclass(frozen=True)
class Programs:
    """The compiled functions of a run.

    Attributes:
        train: What they were compiled from.
        chunk: Its `chunk`; the state is donated.
        evaluate: Its `evaluate`; None without evaluations.
    """

    train: Train
    chunk: Callable[..., Any]
    evaluate: Callable[..., Any] | None


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
        RunError: A loss was not finite, or `Train.check` refuses what the run has come to.
    """
    train, seeds, evaluate = config.train, config.seeds, programs.evaluate
    quiet = programs.train.ticks_without_updates
    tick, pace = int(state.tick), _Pace(config.chunk_seconds)
    saved = window_start = time.perf_counter()
    processor_start = time.process_time()
    window_tick, window_updates = tick, _updates(state)
    log_ticks = train.ticks_of(train.log_every)
    eval_ticks = train.ticks_of(config.eval_every) if config.eval_every else 0
    while tick < train.ticks:
        ends = [train.ticks, *(tick - tick % n + n for n in (log_ticks, eval_ticks) if n)]
        if tick < quiet:
            ends.append(quiet)
        elif tick == quiet:
            # From here on a tick takes far longer, and this one may take several chunks.
            pace, quiet = _Pace(config.chunk_seconds), -1
        before, ticks = tick, min(pace.ticks, min(ends) - tick)
        updates, began = _updates(state), time.perf_counter()
        state, metrics = programs.chunk(state, jnp.int32(ticks), *programs.train.constants)
        tick = int(state.tick)  # waits for the device
        pace.took(ticks, time.perf_counter() - began)
        _stop_at_fault(state, seeds, programs.train.terms, checkpoints)
        programs.train.check(state, seeds)
        rows, done = tick * train.n_envs, _updates(state)
        speed = float(np.mean(done - updates)) / (time.perf_counter() - began)
        bar.move(rows, speed, float(np.mean(metrics.get("episode/recent_return", math.nan))))

        moved, figures = tick > before, {}
        if moved and (tick % log_ticks == 0 or tick == train.ticks):
            figures = {name: np.asarray(value) for name, value in metrics.items()}
            elapsed = time.perf_counter() - window_start
            rows_per_second = (tick - window_tick) * train.n_envs / elapsed
            busy_cores = (time.process_time() - processor_start) / elapsed
            figures["time/rows_per_second"] = np.full(len(seeds), rows_per_second)
            figures["time/busy_cores"] = np.full(len(seeds), busy_cores)
            figures["time/updates_per_second"] = (done - window_updates) / elapsed
            window_start, window_tick, window_updates = time.perf_counter(), tick, done
            processor_start = time.process_time()
        if moved and evaluate is not None and (tick % eval_ticks == 0 or tick == train.ticks):
            figures |= programs.train.figures(*_evaluated(evaluate, state, interruption))
        if figures:
            for i, seed in enumerate(seeds):
                own = {name: values[i].tolist() for name, values in figures.items()}
                log.write(rows, seed, {"updates": int(done[i])} | own)
            bar.note(_summary(rows, done, figures, programs.train.loss))
        asked = interruption.number
        due = asked or tick == train.ticks or time.perf_counter() - saved >= config.save_every
        if due and checkpoints.latest != rows:
            with interruption.held():
                checkpoints.save(rows, state)
            saved = time.perf_counter()
        if asked and tick < train.ticks:
            raise RunInterruptedError(
                f"interrupted at {rows:,} rows, which are saved; the same command goes on there",
                asked,
            )
    return state


def _evaluated(
    evaluate: Callable[..., Any], state: RunState, interruption: Interruption
) -> tuple[np.ndarray, np.ndarray]:
    # An evaluation can take minutes. One that is interrupted is made again: nothing has been
    # saved since it began.
    return interruptible(lambda: jax.device_get(evaluate(state)), interruption, lambda: None)


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


def _updates(state: RunState) -> np.ndarray:
    return np.array(state.learners.train.updates)  # a copy: the state's buffers are used again


def _summary(rows: int, updates: np.ndarray, figures: dict[str, np.ndarray], loss: str) -> str:
    """The figures that a person follows, one line for all seeds."""
    shown = {
        "return": "episode/return",
        "eval": "eval/return",
        "loss": f"train/{loss}",
        "updates/s": "time/updates_per_second",
        "rows/s": "time/rows_per_second",
    }
    counted = sorted({f"{count:,}" for count in updates.tolist()})
    parts = [f"{rows:,} rows", f"{' '.join(counted)} updates"]
    for label, name in shown.items():
        if name in figures:
            values = [f"{value:.4g}" if math.isfinite(value) else "–" for value in figures[name]]
            # Seeds go side by side, so that one speed is that of each.
            parts.append(f"{label} {values[0] if name.startswith('time/') else ' '.join(values)}")
    return " · ".join(parts)
