"""A training run of TD-MPC2 from the outside."""

from __future__ import annotations

from core.tdmpc2.train import make_train
from core.training import run as training
from core.training.program import RunState
from core.training.progress import ProgressBar
from core.training.run_config import RunConfig


def run(config: RunConfig, bar: ProgressBar | None = None) -> RunState:
    """Trains to the end; see `core.training.run.run`."""
    return training.run(config, make_train, bar)
