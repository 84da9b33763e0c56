"""The states from which a trace starts.

A fresh agent hides mistakes: its biases are all 0, its scales all 1, its rewards and values 0.
So a trace also starts from a state without such zeros and ones, made from a fresh one.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from core.tdmpc2.layers import LAYER_NORM_EPSILON
from parity.trace.sides import Start
from parity.trace.tdmpc2.problem import Problem
from parity.trace.tdmpc2.reference import ReferenceState

_END = "term_out_bias"


def start_from(start: Start, fresh: ReferenceState, problem: Problem) -> ReferenceState:
    """The state at which a trace starts.

    Args:
        start: initial is the fresh agent itself. spread moves every parameter, gives the target
            networks parameters of their own, tasks vectors longer and shorter than 1, the scale
            another value, and the policy a gradient that its last update has left behind.
        fresh: As the reference makes it.
        problem: Its seed and configuration are read. Parameters are made by exact arithmetic,
            the same on every machine.
    """
    if start == "initial":
        return fresh
    rng = np.random.default_rng(problem.seed)
    state = dict(fresh.state)
    for name, value in sorted(fresh.state.items()):
        tree, _, leaf = name.partition("/")
        if tree == "parameter" and leaf == "tasks":
            sizes = np.linspace(0.4, 2.5, len(value))[:, None] / np.sqrt(value.shape[1])
            state[name] = (sizes * rng.uniform(-1.7, 1.7, value.shape)).astype(np.float32)
        elif tree == "parameter":
            plain = leaf.endswith(("_bias", "_scale", "_offset"))
            size = 0.2 if plain else 0.5 / np.sqrt(value.shape[-2])
            moved = value + size * rng.uniform(-1.7, 1.7, value.shape)
            state[name] = moved.astype(np.float32)
    if f"parameter/{_END}" in state:
        state[f"parameter/{_END}"] = _undecided(state, problem.config.simnorm_dim)
    state["scale"] = np.asarray(1.7, np.float32)
    left = ["pi_"] * problem.config.clip_with_policy
    left += ["tasks"] * (problem.config.policy_trains_tasks and problem.tasks is not None)
    for name, value in sorted(fresh.parameters.items()):
        if left and name.startswith(tuple(left)):
            gradient = rng.uniform(-1, 1, value.shape) / np.sqrt(value.size)
            state[f"left_over/{name}"] = gradient.astype(np.float32)
    return ReferenceState(state)


def _undecided(state: Mapping[str, np.ndarray], simplex: int) -> np.ndarray:
    """The bias with which the termination head gives a uniform state a probability of 1/2.

    With any other, it would take nearly all states of a plan for ends, or none. It is a multiple
    of 1/64, the same on every machine.
    """
    leaves = {
        name.removeprefix("parameter/term_"): value.astype(np.float64)
        for name, value in state.items()
        if name.startswith("parameter/term_")
    }
    x = np.full(len(leaves["hidden0_kernel"]), 1 / simplex)
    for layer in ("hidden0", "hidden1"):
        x = x @ leaves[f"{layer}_kernel"] + leaves[f"{layer}_bias"]
        x = (x - x.mean()) / np.sqrt(x.var() + LAYER_NORM_EPSILON)
        x = x * leaves[f"{layer}_scale"] + leaves[f"{layer}_offset"]
        x = x * np.tanh(np.logaddexp(0, x))
    return (-np.round(64 * (x @ leaves["out_kernel"])) / 64).astype(np.float32)
