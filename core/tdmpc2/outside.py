"""A training run of TD-MPC2 from the outside."""

from __future__ import annotations

from pathlib import Path

from core.tdmpc2.train import make_train
from core.tdmpc2.train_config import TrainConfig
from core.training import run as training
from core.training import saved
from core.training.program import RunState
from core.training.progress import ProgressBar
from core.training.run_config import RunConfig
from core.training.saved import SavedRun


def run(config: RunConfig, bar: ProgressBar | None = None) -> RunState:
    """Trains to the end; see `core.training.run.run`."""
    return training.run(config, make_train, bar)


def load(logdir: Path) -> SavedRun:
    """The newest state of the run in a folder; see `core.training.saved.load`."""
    return saved.load(logdir, TrainConfig, make_train)
