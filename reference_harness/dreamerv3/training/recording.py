"""What is written down while a stock run goes on. Runs inside the side environment.

    run_args.json     what the run is, and with what it was run
    progress.jsonl    a line after every vector step: the launcher's sign of life
    records.jsonl     a line every `record_every` rows
    episodes.jsonl    a line for every training episode
    timing.json       written last; without it the run is not complete

The reference's own files lie beside them: config.yaml, metrics.jsonl, scores.jsonl,
checkpoint.ckpt.
"""

from __future__ import annotations

import dataclasses
import os
import platform
import resource
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import dreamerv3.agent
import embodied
import jax
import jaxlib
import numpy as np

from reference_harness.dreamerv3.training.evaluation import evaluate
from reference_harness.dreamerv3.training.files import append_line, write_json, write_lines
from reference_harness.dreamerv3.training.hooks import Hooks
from reference_harness.dreamerv3.training.settings import Settings

# The networks whose parameters the optimiser trains.
NETWORKS = ("enc", "dyn", "dec", "rew", "con", "actor", "critic")

_RETNORM = "agent/retnorm/{}/value"


class Recorder:
    """Writes the files of one run.

    Args:
        folder: Where; the reference's own folder.
        settings: The run.
        overrides: What it sets in the reference's configuration.
        neutralised: Rows of the deviation table that are settled on this side.
    """

    def __init__(
        self,
        folder: Path,
        settings: Settings,
        overrides: Mapping[str, Any],
        neutralised: Sequence[str] = (),
    ):
        self._folder, self._settings, self._overrides = folder, settings, overrides
        self._neutralised = list(neutralised)
        self._started = time.time()
        self._built_s = 0.0
        self._evaluation_s: list[float] = []

    def built(self, hooks: Hooks) -> None:
        """Notes with what the run is made, once the agent stands."""
        self._built_s = self._wall()
        sizes = dict.fromkeys(NETWORKS, 0)
        for name, value in hooks.agent.params.items():
            network = name.split("/")[1]
            if network in sizes:
                sizes[network] += int(value.size)
        facts = {
            "side": "ref",
            **dataclasses.asdict(self._settings),
            "overrides": dict(self._overrides),
            "neutralised": self._neutralised,
            "parameters": {**sizes, "all": sum(sizes.values())},
            "imported": {
                "dreamerv3.agent": dreamerv3.agent.__file__,
                "embodied": embodied.__file__,
            },
            "packages": {m.__name__: m.__version__ for m in (jax, jaxlib, np)},
            "python": sys.version.split()[0],
            "platform": f"{platform.system()} {platform.machine()}",
            "cores": _cores(),
            "environment": {
                name: value
                for name, value in sorted(os.environ.items())
                if name.startswith(("JAX_", "XLA_", "OMP_", "OPENBLAS_"))
            },
        }
        write_json(self._folder / "run_args.json", facts)

    def after_rows(self, hooks: Hooks) -> None:
        """Notes how far the run is, and makes the record that is due."""
        rows = int(hooks.logger.step)
        line = {"rows": rows, "updates": int(hooks.agent.updates), "wall_s": self._wall()}
        append_line(self._folder / "progress.jsonl", line, sync=False)
        if rows % self._settings.record_every == 0:
            append_line(self._folder / "records.jsonl", self._record(hooks, rows))
            self._write_episodes(hooks)
            hooks.logger.write()  # what the stock loop has noted of its episodes

    def finish(self, hooks: Hooks) -> None:
        """The flush step and the last files, after the stock entry point has returned."""
        rows = int(hooks.logger.step)
        flushed = hooks.flush()
        hooks.check_outputs()
        self._write_episodes(hooks)
        used = resource.getrusage(resource.RUSAGE_SELF)
        facts = {
            "rows": rows,
            "updates": int(hooks.agent.updates),
            "flush_episodes": flushed,
            "t_start": self._started,
            "t_end": time.time(),
            "wall_s": self._wall(),
            "cpu_s": used.ru_utime + used.ru_stime,
            "build_s": self._built_s,
            "evaluation_s": self._evaluation_s,
        }
        write_json(self._folder / "timing.json", facts)

    def _record(self, hooks: Hooks, rows: int) -> dict[str, Any]:
        agent, settings = hooks.agent, self._settings
        train = {} if hooks.agg is None else hooks.agg.result()
        nans = dict(hooks.not_a_number)
        hooks.not_a_number.clear()
        low, high = (float(np.asarray(agent.params[_RETNORM.format(n)])) for n in ("low", "high"))
        begin = time.time()
        evaluation = evaluate(agent, hooks.config, settings.seed, settings.eval_episodes)
        self._evaluation_s.append(time.time() - begin)
        return {
            "side": "ref",
            "seed": settings.seed,
            "rows": rows,
            "updates": int(agent.updates),
            "eval_mean": float(np.mean(evaluation.returns)),
            "eval_len_mean": float(np.mean(evaluation.lengths)),
            "eval_returns": evaluation.returns,
            "eval_lengths": evaluation.lengths,
            "s2_logged": None,  # computed from the episodes
            "train_raw": {
                name.removeprefix("train/"): float(value)
                for name, value in sorted(train.items())
                if np.ndim(value) == 0
            },
            "train_nan": nans,
            "retnorm": {"lo": low, "hi": high, "scale": max(1.0, high - low)},
            "acts_with_latest": _acts_with_latest(agent),
            "wall_s": self._wall(),
        }

    def _write_episodes(self, hooks: Hooks) -> None:
        write_lines(self._folder / "episodes.jsonl", hooks.episodes)

    def _wall(self) -> float:
        return time.time() - self._started


def _acts_with_latest(agent: Any) -> bool:
    """Whether the acting parameters are those of the last update (row D1: they lag)."""
    return all(
        np.array_equal(agent.policy_params[name], agent.params[name]) for name in agent.policy_keys
    )


def _cores() -> list[int]:
    affinity = getattr(os, "sched_getaffinity", None)
    return sorted(affinity(0)) if affinity else list(range(os.cpu_count() or 1))
