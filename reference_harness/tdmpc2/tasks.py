"""Several tasks in one agent, answered by nicklashansen/tdmpc2.

Runs inside the side environment.
"""

from __future__ import annotations

import numpy as np
import torch

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL
from reference_harness.tdmpc2.surroundings import array, given

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


def evaluated_task(table, task):
    tasks, width = table.shape
    stock = agent.build(
        agent.config(
            **{**SMALL, "latent_dim": 8, "simnorm_dim": 8, "num_samples": 8, "num_elites": 4},
            **{"num_pi_trajs": 2, "iterations": 2, "multitask": True, "task_dim": width},
            tasks=[str(i) for i in range(tasks)],
            action_dims=[2] * tasks,
            episode_lengths=[500] * tasks,
        )
    )
    agent.load(stock.model, {"tasks": table})
    read = []
    encoder = stock.model._encoder["state"]
    encoder.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0][0, -width:].clone()))
    with given():
        stock.act(torch.zeros(4), t0=True, eval_mode=True, task=task)
    after = agent.named_parameters(stock.model)["tasks"]
    return {"read": array(read[0]), "table": array(after)}


OPERATIONS = {
    "tdmpc2.multitask_widths": multitask_widths,
    "tdmpc2.evaluated_task": evaluated_task,
}
