"""Faults of what is optimised, and of how the output layers start."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deviations.faults.dreamerv3.latent import REPORTED, only
from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "parameters"


def _other_leaves(change: Callable[[dict[str, Any]], None]) -> Callable[[], OperationTable]:
    """An agent whose encoder has other leaves."""

    def overrides() -> OperationTable:
        from core.dreamerv3.agent import Agent

        class Faulty(Agent):
            def init(self, key):
                state = super().init(key)
                encoder = {
                    name: {"linear": dict(layer["linear"]), "scale": layer["scale"]}
                    for name, layer in state.params["enc"].items()
                }
                change(encoder)
                return state._replace(params={**state.params, "enc": encoder})

        return only("parameter_counts parameter_names", agent=Faulty)

    return overrides


def _norm_offset(encoder: dict[str, Any]) -> None:
    for layer in encoder.values():
        layer["bias"] = layer["scale"]


def _no_bias(encoder: dict[str, Any]) -> None:
    for layer in encoder.values():
        del layer["linear"]["bias"]


def _layer_missing(encoder: dict[str, Any]) -> None:
    del encoder["hidden2"]


def _fresh(index: tuple[int, ...], scale: float, *zeroed: str) -> Callable[[], OperationTable]:
    """Output layers drawn with another outscale.

    Args:
        index: Which entries of `outscale`.
        scale: What they are multiplied by.
        *zeroed: Heads whose logits are no longer their biases.
    """

    def overrides() -> OperationTable:
        from parity.core_subject.dreamerv3 import networks

        def fresh_outputs(features, shift, seed):
            answer = networks.TABLE["dreamerv3.fresh_outputs"](
                features=features, shift=shift, seed=seed
            )
            outscale = np.array(answer["outscale"])
            outscale[list(index)] *= np.float32(scale)
            drawn = np.random.default_rng(seed).normal(size=(features.shape[1], len(shift)))
            moved = {
                name: (features @ (drawn / np.sqrt(features.shape[1]))).astype(np.float32) + shift
                for name in zeroed
            }
            return {**answer, "outscale": outscale, **moved}

        return {"dreamerv3.fresh_outputs": fresh_outputs}

    return overrides


def _fault(
    id: str, title: str, overrides: Callable[[], OperationTable], *caught: str, source: str = ""
) -> Fault:
    return Fault(id, title, KIND, overrides, caught, source)


FAULTS = (
    _fault(
        "F10.critic",
        "critic not initialised with zeros",
        _fresh((), 1.0, "critic_logits"),
        "fresh-outputs/first-logits",
        source=REPORTED,
    ),
    _fault(
        "F10.slow-critic",
        "slow critic initialised by itself, not with zeros",
        _fresh((), 1.0, "slow_critic_logits"),
        "fresh-outputs/first-logits",
        source=REPORTED,
    ),
    _fault(
        "F10.actor",
        "actor's output layer drawn as any other layer's",
        _fresh((3,), 100.0),
        "fresh-outputs/outscales",
        source=REPORTED,
    ),
    _fault(
        "F28.offset",
        "an offset in the norms",
        _other_leaves(_norm_offset),
        "parameters/counts",
        "parameters/total",
        "parameters/names",
        source=REPORTED,
    ),
    _fault(
        "F28.no-bias",
        "no bias where a norm follows",
        _other_leaves(_no_bias),
        "parameters/counts",
        "parameters/total",
        "parameters/names",
        source=REPORTED,
    ),
    _fault(
        "X50",
        "a hidden layer of the encoder missing",
        _other_leaves(_layer_missing),
        "parameters/counts",
        "parameters/total",
        "parameters/names",
    ),
    _fault(
        "X59",
        "decoder drawn with an outscale of 1",
        _fresh((0,), 10.0),
        "fresh-outputs/outscales",
    ),
)
