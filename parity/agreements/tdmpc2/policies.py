"""The policy prior as a distribution: draws, and what its loss takes for their entropy."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from parity.agreements.measures import compare_outputs, over, truths, uniform
from parity.agreements.tdmpc2 import case_inputs as draw
from parity.agreements.tdmpc2.entries import agreement
from parity.claims import AtMost, Measurement, measure_errors
from parity.comparisons import in_epsilon, worst_of
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry

POLICY = "tdmpc2.policy"
LOW, HIGH = -10.0, 2.0
_HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)


class Drawn(NamedTuple):
    """A draw in float64, from the formula, and what is known of it over ε."""

    mean: np.ndarray
    log_std: np.ndarray
    action: np.ndarray
    gaussian: np.ndarray
    squashing: np.ndarray
    action_error: np.ndarray
    squashing_error: np.ndarray
    gaussian_size: np.ndarray


def drawn(inputs: Inputs) -> Drawn:
    """The draw of an operation's inputs, in float64."""
    mean, raw = np.split(inputs["outputs"].astype(np.float64), 2, axis=-1)
    mask, low = inputs["mask"], inputs["log_std_min"]
    mean, noise = mean * mask, inputs["noise"].astype(np.float64) * mask
    reach = inputs["log_std_max"] - low
    log_std = mask * (low + 0.5 * reach * (np.tanh(raw) + 1))
    scaled = noise * np.exp(log_std)
    action = np.tanh(mean + scaled)
    rest = 1 - action**2
    # An error of ln σ, of the size of its range, is a relative one of σ.
    argument = np.abs(mean) + np.abs(scaled) * (2 + reach)
    action_error = 1 + rest * argument
    squashing = np.log(rest + 1e-6)
    squashing_error = np.abs(squashing) + 2 * action_error / (rest + 1e-6)
    terms = 0.5 * noise**2 + np.abs(log_std) + reach
    return Drawn(
        np.tanh(mean),
        log_std,
        action,
        np.sum(-0.5 * noise**2 - log_std, axis=-1),
        np.sum(squashing, axis=-1),
        action_error,
        np.sum(squashing_error, axis=-1),
        np.sum(terms, axis=-1),
    )


def entropy(inputs: Inputs) -> np.ndarray:
    """The entropy of a form, in float64."""
    found, count = drawn(inputs), inputs["mask"].sum(axis=-1)
    if inputs["form"] == "density":
        return found.squashing - count * (found.gaussian - _HALF_LOG_2PI)
    gaussian = found.gaussian - inputs["mask"].shape[-1] * _HALF_LOG_2PI
    log_prob = gaussian - found.squashing
    return -log_prob * count * gaussian / (log_prob + 1e-8)


def entropy_size(inputs: Inputs) -> np.ndarray:
    """What an entropy is known to, over ε."""
    found, count = drawn(inputs), inputs["noise"].shape[-1]
    size = count * (found.gaussian_size + count)
    # The later form divides the squashing out again.
    return size + (found.squashing_error if inputs["form"] == "density" else 0.0)


def _masks(rng: np.random.Generator, rows: int) -> np.ndarray:
    """Tasks with one action or more, the last ones missing."""
    return (np.arange(draw.A) < rng.integers(1, draw.A + 1, (rows, 1))).astype(np.float32)


def _cases(form: str, masked: bool = False):
    def make(rng: np.random.Generator) -> Inputs:
        """Narrow and wide policies, and some that are saturated."""
        rows = 64
        size = np.ldexp(1.0, rng.integers(-3, 2, (rows, 1)).astype(np.int32))
        return {
            "outputs": (uniform(rng, rows, 2 * draw.A) * size).astype(np.float32),
            "noise": draw.normal(rng, rows, draw.A),
            "mask": _masks(rng, rows) if masked else np.ones((rows, draw.A), np.float32),
            "log_std_min": LOW,
            "log_std_max": HIGH,
            "form": form,
        }

    return make


def _unit_cases(form: str):
    def make(rng: np.random.Generator) -> Inputs:
        """Standard normal policies of which the mean is drawn: known in closed form."""
        del rng
        # tanh(r) = 2/3 is ln σ = 0 on [−10, 2].
        raw = np.full((2, 3), np.arctanh(2 / 3), np.float32)
        mean = np.asarray([[0, 0, 0], [0.5, -0.25, 1]], np.float32)
        return {
            "outputs": np.concatenate([mean, raw], axis=-1),
            "noise": np.asarray([[0, 0, 0], [1, -2, 0.5]], np.float32),
            "mask": np.ones((2, 3), np.float32),
            "log_std_min": LOW,
            "log_std_max": HIGH,
            "form": form,
        }

    return make


def _claims(form: str, pins: str) -> tuple[Claim, ...]:
    compared = {
        "mean": (in_epsilon, AtMost(4, "ε"), "A hyperbolic tangent is within 2 ε a side."),
        "log_std": (
            over(lambda i: 1 + np.abs(drawn(i).log_std) + HIGH - LOW),
            AtMost(3, "ε · (1 + |ln σ| + range)"),
            "A hyperbolic tangent within 2 ε, times half of the range; a product and two sums.",
        ),
        "action": (
            over(lambda i: drawn(i).action_error),
            AtMost(4, "ε · (1 + what the argument is known to)"),
            "σ is known to 1 ε and to the error of its logarithm, half of its range; the squashing "
            "hyperbolic tangent is within 2 ε a side and passes on (1 − action²) of it.",
        ),
        "entropy": (
            over(entropy_size),
            AtMost(5, "ε · size of its terms"),
            "Each term is rounded at most twice, and ln σ is known to half of its range; ln(1 − "
            "action²) is known to twice the error of the action, which may be 4, over what is left "
            "of 1." + (" The later form divides it out again." if form == "scaled" else ""),
        ),
    }
    claims = [
        Claim(
            name.replace("_", "-"),
            f"The {'draw from given noise' if name == 'action' else name.replace('_', ' ')} is "
            f"the reference's, {pins}.",
            tolerance,
            reason,
            (POLICY,),
            _cases(form),
            compare_outputs(POLICY, {name: scale}),
        )
        for name, (scale, tolerance, reason) in compared.items()
    ]
    claims.append(
        Claim(
            "formula",
            f"Its entropy is the formula's, with standard deviations of 1, {pins}.",
            AtMost(2, "ε · size of its terms"),
            "As for `entropy`, of one side.",
            (POLICY,),
            _unit_cases(form),
            truths(POLICY, {"entropy": (entropy, over(entropy_size))}),
        )
    )
    claims.append(
        Claim(
            "masked",
            "Actions that a task lacks are exactly 0 and do not count: draws and entropies are "
            f"the reference's, {pins}.",
            AtMost(5, "ε · size of each"),
            "As for `action` and `entropy`; a product with 0 or 1 is exact.",
            (POLICY,),
            _cases(form, masked=True),
            _masked,
        )
    )
    return tuple(claims)


def _masked(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Draws and entropies; an action that is masked and not 0 is infinitely wrong."""
    sizes = {"action": over(lambda i: drawn(i).action_error), "entropy": over(entropy_size)}
    found = compare_outputs(POLICY, sizes)(subject, reference, inputs)
    masked = subject(POLICY, **inputs)["action"][inputs["mask"] == 0]
    return worst_of([found, measure_errors(np.where(masked == 0, 0.0, np.inf), inputs)])


def _policy(name: str, form: str, title: str, equation: str, lines, pins) -> Entry:
    when = "in the paper's era" if form == "density" else "in later commits"
    return agreement(
        name,
        title,
        equation,
        lines,
        _claims(form, when),
        "The policy is drawn from, and pushed apart, as the reference's is.",
        pins=pins,
    )


_MODEL, _MATH = "common/world_model.py", "common/math.py"

AGREEMENTS = (
    _policy(
        "policy-paper",
        "density",
        "Policy prior of the paper's era",
        "tanh(m + σ · noise); −[A · (Σ(−noise²/2 − ln σ) − ln √(2π)) − Σ ln(1 − action² + 1e-6)]: "
        "the log-density is scaled by A, and its constant counted once before",
        {_MODEL: ("133-150", "131-148", None, None), _MATH: ("12-45", "12-45", None, None)},
        ("tdmpc2-5f6fade", "tdmpc2-b67b21c"),
    ),
    _policy(
        "policy-head",
        "scaled",
        "Policy prior of later commits",
        "tanh(m + σ · noise); −ln π · A · (Gaussian log-density) / (ln π + 1e-8)",
        {_MODEL: (None, None, "153-184", "153-184"), _MATH: (None, None, "13-30", "12-29")},
        ("tdmpc2-e9f5932", "tdmpc2-eece801"),
    ),
)
