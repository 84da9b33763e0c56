"""Several tasks in one agent, answered by nicklashansen/tdmpc2.

Runs inside the side environment.
"""

from __future__ import annotations

import numpy as np

from reference_harness.tdmpc2 import agent

# The reference's names of what an operation puts out.
WIDTHS = {
    "task_dim": "task_dim",
    "latent_dim": "latent_dim",
    "enc_dim": "enc_dim",
    "enc_layers": "num_enc_layers",
    "mlp_dim": "mlp_dim",
    "num_q": "num_q",
}


def multitask_widths(tasks, size):
    parsed = agent.config(task=tasks, model_size=size)
    return {ours: np.asarray(getattr(parsed, name), np.int64) for ours, name in WIDTHS.items()}


OPERATIONS = {"tdmpc2.multitask_widths": multitask_widths}
