"""Both optimisers of TD-MPC2, the clipping before them, and the target networks after them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from parity.agreements.measures import compare_outputs, fixed, truths, uniform
from parity.agreements.tdmpc2.entries import Lines, agreement
from parity.claims import AtMost
from parity.comparisons import EPSILON, gap
from parity.operations import Inputs
from parity.registry import Claim, Entry

OPTIMIZER = "tdmpc2.optimizer"
K, L, N, M, A2 = 6, 8, 7, 3, 4
NETWORKS = {"encoder": (L,), "dynamics": (L,), "reward": (N,), "q": (M, N), "policy": (A2,)}


def gradient_cases(counted: str) -> Callable[[np.random.Generator], Inputs]:
    """Gradients of some updates, of which one or both losses' count when one is clipped."""

    def make(rng: np.random.Generator) -> Inputs:
        """Gradients of every size, that change size and sign; clipped in some updates only."""
        given: dict[str, Any] = {}
        for place, (name, shape) in enumerate(NETWORKS.items()):
            given[name] = uniform(rng, *shape, within=0.25)
            exponents = rng.integers(-12, 2, (K, *shape)).astype(np.int32)
            exponents += (np.arange(K) % 3 * 2 - 2).reshape(K, *[1] * len(shape)).astype(np.int32)
            drawn = np.ldexp(uniform(rng, K, *shape, within=1.0), exponents - place % 2)
            given[f"{name}_gradients"] = drawn.astype(np.float32)
        # The policy's gradients are the larger, so that counting them shows.
        given["policy_gradients"] = given["policy_gradients"] * np.float32(4)
        given["target"] = uniform(rng, M, N, within=0.25)
        settings = {"learning_rate": 2.0**-6, "enc_lr_scale": 0.3, "limit": 3.0, "tau": 0.01}
        return {**given, **settings, "counted": counted}

    return make


def trajectory(inputs: Inputs) -> dict[str, np.ndarray]:
    """Parameters and norms after each update in float64, from the formula."""
    params = {name: inputs[name].astype(np.float64) for name in NETWORKS}
    target = inputs["target"].astype(np.float64)
    first = {name: np.zeros_like(p) for name, p in params.items()}
    second = {name: np.zeros_like(p) for name, p in params.items()}
    left_over, seen = 0.0, {name: [] for name in (*NETWORKS, "target", "norm")}
    for k in range(len(inputs["q_gradients"])):
        g = {name: inputs[f"{name}_gradients"][k].astype(np.float64) for name in NETWORKS}
        squares = {name: float(np.sum(x**2)) for name, x in g.items()}
        counted = sum(s for name, s in squares.items() if name != "policy")
        counted += left_over if inputs["counted"] == "all" else 0.0
        norms = {name: np.sqrt(counted) for name in NETWORKS}
        norms["policy"] = np.sqrt(squares["policy"])
        for name, p in params.items():
            clipped = g[name] * min(1.0, inputs["limit"] / (norms[name] + 1e-6))
            first[name] = 0.9 * first[name] + 0.1 * clipped
            second[name] = 0.999 * second[name] + 0.001 * clipped**2
            rate = inputs["learning_rate"] * (inputs["enc_lr_scale"] if name == "encoder" else 1)
            eps = 1e-5 if name == "policy" else 1e-8
            root = np.sqrt(second[name] / (1 - 0.999 ** (k + 1)))
            p -= rate * first[name] / (1 - 0.9 ** (k + 1)) / (root + eps)
            if name == "policy":
                left_over = float(np.sum(clipped**2))
        target += inputs["tau"] * (params["q"] - target)
        for name in NETWORKS:
            seen[name].append(params[name].copy())
        seen["target"].append(target.copy())
        seen["norm"].append(norms["q"])
    return {name: np.stack(values) for name, values in seen.items()}


def _of_steps(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε · (1/4 + K · learning rate): parameters, and all steps that they took."""
    size = 0.25 + len(left) * inputs["learning_rate"]
    return gap(left, right) / (EPSILON * size)


def _of_norm(left: np.ndarray, right: np.ndarray, inputs: Inputs) -> np.ndarray:
    del inputs
    return gap(left, right) / (EPSILON * np.abs(right.astype(np.float64)))


SCALES = {**dict.fromkeys((*NETWORKS, "target"), _of_steps), "norm": _of_norm}


def _truth(name: str) -> Callable[[Inputs], np.ndarray]:
    return lambda inputs: trajectory(inputs)[name]


def _optimizer(name: str, counted: str, title: str, equation: str, lines: Lines, pins) -> Entry:
    cases = fixed(gradient_cases(counted))
    return agreement(
        name,
        title,
        equation,
        {"tdmpc2.py": lines},
        (
            Claim(
                "equal",
                f"All parameters, the target networks and the norm are the reference's after each "
                f"of {K} updates, some of which are clipped.",
                AtMost(12, "ε · (size + all steps)"),
                "Each update rounds a parameter by half an ε of its size, and its step by about 5 "
                "ε of the learning rate: moments and their corrections, root, quotients. 6 "
                "updates leave 3 ε of the size and 5 ε of all steps a side.",
                (OPTIMIZER,),
                cases,
                compare_outputs(OPTIMIZER, SCALES),
            ),
            Claim(
                "formula",
                "Those of both sides are the formula's.",
                AtMost(8, "ε · (size + all steps)"),
                "As for `equal`, of one side.",
                (OPTIMIZER,),
                cases,
                truths(OPTIMIZER, {name: (_truth(name), scale) for name, scale in SCALES.items()}),
            ),
        ),
        "A gradient moves the parameters as it moves the reference's.",
        pins=pins,
    )


AGREEMENTS = (
    _optimizer(
        "optimizer-paper",
        "all",
        "Optimisers of the paper's era",
        "Clipping by the norm over all parameters, the policy's last gradient included; Adam with "
        "ε = 1e-8 (policy: 1e-5), the encoder at 0.3 of the learning rate",
        ("20-27, 191-192, 267-268, 274", "21-28, 195-196, 271-272, 278", None, None),
        ("tdmpc2-5f6fade", "tdmpc2-b67b21c"),
    ),
    _optimizer(
        "optimizer-head",
        "model",
        "Optimisers of later commits",
        "Clipping by the norm of the model's gradients; Adam as in the paper's era",
        (None, None, "23-32, 228-230, 307-309, 315", "22-31, 228-230, 308-310, 316"),
        ("tdmpc2-e9f5932", "tdmpc2-eece801"),
    ),
)
