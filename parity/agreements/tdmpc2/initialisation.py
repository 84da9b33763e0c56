"""How a fresh TD-MPC2 agent starts: distributions, zeros, and copies."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.agreements.tdmpc2.entries import agreement
from parity.claims import Equals, Measurement, Within
from parity.implementations import Implementation
from parity.operations import Answer, Inputs
from parity.operations.tdmpc2.networks import LAYERS
from parity.registry import Claim

FRESH = "tdmpc2.fresh_parameters"
OBSERVATION, ACTIONS = 24, 6

_PLACES = np.asarray([name.partition("_")[0] for name in LAYERS])
_ZERO = np.asarray([name in ("rew_out", "q_out", "target_out") for name in LAYERS])
OF_Q = np.isin(_PLACES, ("q", "target"))

# Inputs of the layers of the Q networks at size 1.
Q_INPUTS = np.asarray([128 + ACTIONS, 384, 384] * 2)


def fresh_cases(q_init: str) -> Callable[[np.random.Generator], Inputs]:
    """Fresh agents whose Q networks start in one of two ways."""

    def make(rng: np.random.Generator) -> Inputs:
        del rng
        return {
            "q_init": q_init,
            "observation_size": OBSERVATION,
            "action_size": ACTIONS,
            "seed": 7,
        }

    return make


Figures = Callable[[Answer], np.ndarray]


def _within(figures: Figures) -> Callable[..., Measurement]:
    """The range of some figures of both sides."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        found = np.concatenate([figures(side(FRESH, **inputs)) for side in (reference, subject)])
        return Measurement(float(found.min()), float(found.max()), found.size)

    return measure


def _wrong(problems: Callable[[Answer], dict[str, np.ndarray]]) -> Callable[..., Measurement]:
    """How many layers of both sides have a problem."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        total, notes = 0, []
        for side in (reference, subject):
            for what, found in problems(side(FRESH, **inputs)).items():
                if count := int(np.count_nonzero(found)):
                    total += count
                    notes.append(f"{count} {what} of {side.name}")
        return Measurement(total, total, 2 * len(LAYERS), inputs, ", ".join(notes))

    return measure


def _starts(answer: Answer) -> dict[str, np.ndarray]:
    return {
        "kernels that are not zeros": answer["kernel_peak"][_ZERO] != 0,
        "kernels that are zeros": ~(answer["kernel_peak"][~_ZERO] > 0),
        "biases": answer["bias_peak"] != 0,
        "scales": answer["scale_error"] != 0,
        "offsets": answer["offset_peak"] != 0,
        "target networks that are no copies": answer["target_error"][None] != 0,
    }


def _alike(answer: Answer) -> dict[str, np.ndarray]:
    return {
        "kernels that are zeros": ~(answer["kernel_peak"][~_ZERO] > 0),
        "kernels that begin alike": np.ones(int(answer["alike"])),
    }


def _torch_starts(answer: Answer) -> dict[str, np.ndarray]:
    bounds = Q_INPUTS**-0.5
    biases, kernels = answer["bias_peak"][OF_Q], answer["kernel_peak"][OF_Q]
    hidden = ~_ZERO[OF_Q]
    return {
        "biases beyond the bound": biases > bounds * (1 + 1e-6),
        "biases that are small": biases < 0.9 * bounds,
        "kernels beyond the bound": kernels > bounds * (1 + 1e-6),
        "kernels that are small": (kernels < 0.99 * bounds) & hidden,
        "output kernels that are not zeros": (kernels != 0) & ~hidden,
        "other biases": answer["bias_peak"][~OF_Q] != 0,
        "target networks that are no copies": answer["target_error"][None] != 0,
    }


_STD = "The standard deviation of 4,608 draws, those of the smallest kernel, is known to 1 %: five."
_INIT, _MODEL = "common/init.py", "common/world_model.py"

AGREEMENTS = (
    agreement(
        "initialisation",
        "Initial parameters",
        "Kernels normal with the standard deviation 0.02, biases 0; the output kernels of reward "
        "head and Q networks 0; target networks copies",
        {_INIT: ("4-22", "4-22", None, "4-17"), _MODEL: ("28-31", "28-31", None, "30-41")},
        (
            Claim(
                "kernels",
                "Kernels start with a standard deviation of 0.02, whatever their size.",
                Within(0.95, 1.05, "of 0.02"),
                _STD,
                (FRESH,),
                fresh_cases("normal"),
                _within(lambda a: a["kernel_std"][~_ZERO] / 0.02),
            ),
            Claim(
                "tails",
                "They are not truncated: the largest weight is 3.2 to 6.5 standard deviations out.",
                Within(3.2, 6.5, "standard deviations"),
                "Of 4,608 normal draws the largest is below 3.2 with a probability of 0.2 %, of "
                "294,912 it is above 6.5 with one of 3e-5. The reference cuts at ±2, which is 100 "
                "standard deviations.",
                (FRESH,),
                fresh_cases("normal"),
                _within(lambda a: a["kernel_peak"][~_ZERO] / 0.02),
            ),
            Claim(
                "starts",
                "Biases, offsets and both value outputs' kernels are 0, scales 1, and the target "
                "networks copies; no other kernel is 0.",
                Equals(0, "layers that differ"),
                "Constants are exact.",
                (FRESH,),
                fresh_cases("normal"),
                _wrong(_starts),
            ),
            Claim(
                "distinct",
                "No two kernels, and no two networks of the ensemble, are drawn alike.",
                Equals(0, "pairs"),
                "Sixteen equal draws in a row are no accident.",
                (FRESH,),
                fresh_cases("normal"),
                _wrong(_alike),
            ),
        ),
        "First predictions are 0, and the ensemble disagrees from the start.",
        pins=("tdmpc2-5f6fade", "tdmpc2-b67b21c", "tdmpc2-e9f5932"),
    ),
    agreement(
        "initialisation-torch",
        "Initial Q networks from late 2024 to mid 2026",
        "The initialiser does not reach the ensemble: its hidden layers keep torch's default, "
        "uniform within ± 1/sqrt(inputs), biases included",
        {_INIT: (None, None, "4-16", None), _MODEL: (None, None, "30-32", None)},
        (
            Claim(
                "starts",
                "Kernels and biases of the Q networks fill the range of torch's default; their "
                "output kernels are 0, and so are all other biases.",
                Equals(0, "layers that differ"),
                "The largest of 768 uniform draws is below 0.9 of the bound with a probability "
                "of 1e-35, of 100,000 below 0.99 with less.",
                (FRESH,),
                fresh_cases("torch"),
                _wrong(_torch_starts),
            ),
            Claim(
                "kernels",
                "Their kernels' standard deviation is that of a uniform distribution.",
                Within(0.98, 1.02, "of 1/sqrt(3 · inputs)"),
                "The standard deviation of 100,000 uniform draws is known to 0.15 %.",
                (FRESH,),
                fresh_cases("torch"),
                _within(lambda a: (a["kernel_std"][OF_Q] * np.sqrt(3 * Q_INPUTS))[[0, 1, 3, 4]]),
            ),
        ),
        "What was upstream's for eighteen months is a choice of the configuration.",
        pins=("tdmpc2-eece801",),
    ),
)
