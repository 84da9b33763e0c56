"""Several tasks in one agent of the core."""

from __future__ import annotations

import dataclasses

import numpy as np

from core.tdmpc2 import config
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer
from parity.operations.tdmpc2.tasks import MULTITASK_WIDTHS


def multitask_widths(tasks: str, size: int) -> Answer:
    """See `tdmpc2.multitask_widths`."""
    narrower = config.MT30_WIDTHS.get(size, {}) if tasks == "mt30" else {}
    chosen = dataclasses.asdict(config.Config.of_size(size))
    # A fault of the defaults is not one of what is set by name.
    found = dataclasses.asdict(stage.config(**chosen)) | dict(narrower)
    return {
        output.name: np.asarray(found[output.name], np.int64) for output in MULTITASK_WIDTHS.outputs
    }


TABLE = {"tdmpc2.multitask_widths": multitask_widths}
