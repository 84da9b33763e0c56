"""One training run of danijar/dreamerv3, paper era, as an operation of a worker.

Runs inside the side environment. A worker runs one and ends.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from reference_harness.dreamerv3.settled import settled
from reference_harness.dreamerv3.training.hooks import Hooks
from reference_harness.dreamerv3.training.overrides import override_set
from reference_harness.dreamerv3.training.recording import Recorder
from reference_harness.dreamerv3.training.settings import Settings


def train(
    folder: str, log: str, settings: dict[str, Any], bins: np.ndarray | None = None
) -> dict[str, np.ndarray]:
    """Runs the stock entry point to its end.

    Args:
        folder: The run's, which must not exist.
        log: The file to which everything that is printed is added.
        settings: Fields of `Settings`.
        bins: A two-hot support that settles row D22, [255] float32; None for the stock form.

    Raises:
        FileExistsError: The folder exists; the reference would resume what it finds there.
    """
    _print_to(log)
    run, place = Settings(**settings), Path(folder)
    overrides = override_set(run, place)
    place.mkdir(parents=True)
    recorder = Recorder(place, run, overrides, () if bins is None else ("D22",))
    hooks = Hooks(
        built=lambda: recorder.built(hooks), after_rows=lambda: recorder.after_rows(hooks)
    )
    with settled(bins):
        hooks.run(overrides)
    recorder.finish(hooks)
    return {"rows": np.int64(int(hooks.logger.step)), "updates": np.int64(int(hooks.agent.updates))}


def _print_to(log: str) -> None:
    """Sends what Python and C print, faults among it, to the end of a file."""
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for stream in (1, 2):
        os.dup2(descriptor, stream)
    os.close(descriptor)


OPERATIONS = {"dreamerv3.train": train}
