"""What the stock entry point makes of a run's overrides. Runs inside the side environment."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import embodied
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import main

from reference_harness.dreamerv3.agent import replaced
from reference_harness.dreamerv3.training.hooks import PRESET
from reference_harness.dreamerv3.training.overrides import override_set
from reference_harness.dreamerv3.training.settings import Settings


def training_config(settings: dict[str, Any]) -> dict[str, np.ndarray]:
    """Lets the stock entry point resolve a run's configuration, and stops before it trains.

    Args:
        settings: Fields of `Settings`.

    Returns:
        `resolved`: the bytes of the config.yaml that it writes. `defaults`: its defaults as
        JSON, in bytes.
    """
    defaults = json.dumps(stock.Agent.configs["defaults"])
    with tempfile.TemporaryDirectory() as folder:
        logdir = Path(folder) / "run"
        stock.Agent.configs[PRESET] = override_set(Settings(**settings), logdir)
        with replaced((embodied.run, "train", lambda *_, **__: None)):
            main.main(["--configs", PRESET])
        resolved = (logdir / "config.yaml").read_bytes()
    return {
        "resolved": np.frombuffer(resolved, np.uint8),
        "defaults": np.frombuffer(defaults.encode(), np.uint8),
    }


OPERATIONS = {"dreamerv3.training_config": training_config}
