"""All that a recorded run sets in the reference's configuration, as data.

Every other key keeps the value that it has in `dreamerv3/configs.yaml`. Both sides import this
module: it needs the standard library alone.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from reference_harness.dreamerv3.training.settings import ENVIRONMENTS, TRAIN_RATIO, Settings


@dataclasses.dataclass(frozen=True)
class Override:
    """A key of the reference's configuration, and what a run sets it to.

    Attributes:
        key: As its command line names it; a regular expression sets all that match.
        value: What it is set to.
        row: Which row of the configuration table it belongs to.
        reason: Why it is not left at its default.
    """

    key: str
    value: Any
    row: int
    reason: str


def _widths(units: int, deter: int, classes: int) -> tuple[Override, ...]:
    reason = "the commit has no preset of this size"
    return (
        Override(r".*\.units", units, 3, reason),
        Override("dyn.rssm.hidden", units, 4, reason),
        Override("dyn.rssm.deter", deter, 5, reason),
        Override("dyn.rssm.classes", classes, 6, reason),
    )


SIZES: dict[str, tuple[Override, ...]] = {
    "1m": _widths(units=64, deter=512, classes=4),
    # For trying things out; the blocks of the recurrent core divide `deter` by 8.
    "tiny": _widths(units=8, deter=64, classes=4),
}

_CLOCK = "a clock on the wall, where everything here counts rows"

FIXED: tuple[Override, ...] = (
    Override(
        "run.num_envs", ENVIRONMENTS, 1, "is the default; named because all counts rest on it"
    ),
    Override("run.train_ratio", float(TRAIN_RATIO), 39, "the setting under audit"),
    Override("jax.compute_dtype", "float32", 46, "compared in float32"),
    Override("jax.param_dtype", "float32", 46, "is the default; named beside the other"),
    Override("jax.platform", "cpu", 47, "the harness runs on CPUs"),
    Override("run.log_every", -1, 56, _CLOCK),
    Override("run.eval_every", -1, 57, _CLOCK),
    Override("run.save_every", -1, 58, _CLOCK),
    Override("run.driver_parallel", False, 59, "environments whose episodes can be recorded"),
    Override("jax.prealloc", False, 62, "is about GPUs"),
    Override("jax.transfer_guard", False, 62, "the evaluation passes arrays of the host"),
    Override("task", "gymnax_cartpole", 66, "a label: the environment is handed in"),
)


def override_set(settings: Settings, logdir: str | Path) -> dict[str, Any]:
    """The whole set of a run, by key.

    Args:
        settings: The run.
        logdir: Where the reference writes; must not exist, or it resumes what it finds there.
    """
    own = (
        Override("seed", settings.seed, 60, "the run"),
        Override("run.steps", settings.steps, 55, "the run"),
        # The reference formats this path, to put the time into it.
        Override("logdir", str(logdir).replace("{", "{{").replace("}", "}}"), 67, "the run"),
    )
    return {entry.key: entry.value for entry in (*FIXED, *SIZES[settings.size], *own)}
