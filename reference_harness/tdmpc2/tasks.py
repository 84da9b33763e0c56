"""Several tasks in one agent, answered by nicklashansen/tdmpc2.

Runs inside the side environment.
"""

from __future__ import annotations

import traceback
from pathlib import Path

import numpy as np
import torch

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL, Buffer, check_era
from reference_harness.tdmpc2.stock import ROOT
from reference_harness.tdmpc2.surroundings import array, given, tensor

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


def _of_tasks(table, **settings):
    """A small agent of as many tasks as the table has vectors."""
    tasks, width = table.shape
    stock = agent.build(
        agent.config(
            **{**SMALL, "latent_dim": 8, "simnorm_dim": 8, "multitask": True, "task_dim": width},
            tasks=[str(i) for i in range(tasks)],
            action_dims=[2] * tasks,
            episode_lengths=[500] * tasks,
            **settings,
        )
    )
    agent.load(stock.model, {"tasks": table})
    return stock


def evaluated_task(table, task):
    width = table.shape[1]
    stock = _of_tasks(table, num_samples=8, num_elites=4, num_pi_trajs=2, iterations=2)
    read = []
    encoder = stock.model._encoder["state"]
    encoder.register_forward_pre_hook(lambda _, inputs: read.append(inputs[0][0, -width:].clone()))
    with given():
        stock.act(torch.zeros(4), t0=True, eval_mode=True, task=task)
    after = agent.named_parameters(stock.model)["tasks"]
    return {"read": array(read[0]), "table": array(after)}


class _OfTasks(Buffer):
    """A replay that has one batch, with a sequence of every task."""

    def sample(self):
        """The batch."""
        *columns, _ = super().sample()
        return (*columns, torch.arange(columns[0].shape[1]))


def task_vectors(table, model_gradients, policy_gradients, learning_rate, limit, era):
    """Hooks replace the gradients; what becomes of them is the agent's own `update`."""
    check_era(era)
    tasks, steps = len(table), 1
    stock = _of_tasks(
        table, horizon=steps, batch_size=tasks, lr=learning_rate, grad_clip_norm=limit
    )
    known = agent.named_parameters(stock.model)
    given_now = {}

    def gradient(found):
        return given_now["gradient"].clone().to(found)

    for name, parameter in known.items():
        if name == "tasks":
            parameter.register_hook(gradient)
        elif not name.startswith("target"):
            parameter.register_hook(torch.zeros_like)
    update_pi = stock.update_pi

    def updating_policy(*arguments):
        given_now["gradient"] = given_now["of the policy"]
        return update_pi(*arguments)

    stock.update_pi = updating_policy
    zeros = np.zeros((steps, tasks), np.float32)
    batch = _OfTasks(
        np.ones((steps + 1, tasks, 4), np.float32),
        np.zeros((steps, tasks, 2), np.float32),
        zeros,
        zeros,
    )
    seen = {"table": [], "norm": []}
    for of_model, of_policy in zip(model_gradients, policy_gradients, strict=True):
        given_now.update({"gradient": tensor(of_model), "of the policy": tensor(of_policy)})
        with given():
            info = stock.update(batch)
        seen["table"].append(array(known["tasks"]))
        seen["norm"].append(np.float32(float(info["grad_norm"])))
    return {name: np.stack(values) for name, values in seen.items()}


def _goes(attempt):
    """Whether an attempt is not refused by an assertion of the reference's."""
    try:
        with given():
            attempt()
    except AssertionError as error:
        *_, last = traceback.extract_tb(error.__traceback__)
        if not Path(last.filename).is_relative_to(ROOT):
            raise
        return 0
    return 1


def served_tasks(tasks):
    steps, batch = 1, max(tasks, 1)
    rows = [
        np.ones((steps + 1, batch, 4), np.float32),
        np.zeros((steps, batch, 2), np.float32),
        *[np.zeros((steps, batch), np.float32)] * 2,
    ]
    sizes = {"num_samples": 8, "num_elites": 4, "num_pi_trajs": 2, "iterations": 2}
    sizes |= {"horizon": steps, "batch_size": batch}
    if tasks:
        stock, replay = _of_tasks(np.zeros((tasks, 3), np.float32), **sizes), _OfTasks(*rows)
    else:
        stock = agent.build(agent.config(**{**SMALL, "latent_dim": 8, "simnorm_dim": 8}, **sizes))
        replay = Buffer(*rows)
    task = 0 if tasks else None
    found = {
        "planned": _goes(lambda: stock.act(torch.zeros(4), t0=True, task=task)),
        "updated": _goes(lambda: stock.update(replay)),
        "misasked": _goes(lambda: stock.model.Q(None, None, task, return_type="none of them")),
    }
    return {name: np.asarray(went, np.int64) for name, went in found.items()}


OPERATIONS = {
    "tdmpc2.served_tasks": served_tasks,
    "tdmpc2.task_vectors": task_vectors,
    "tdmpc2.multitask_widths": multitask_widths,
    "tdmpc2.evaluated_task": evaluated_task,
}
