"""The layers and networks of DreamerV3: what they compute."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3 import (
    latent_cases,
)
from parity.agreements.dreamerv3.entries import agreement, in_both_modes
from parity.agreements.dreamerv3.latent_measures import (
    against_reference,
    bound,
    why,
)
from parity.claims import AtMost
from parity.comparisons import EPSILON, compare, gap, in_epsilon_nats
from parity.operations import Inputs
from parity.registry import Claim


def _in_epsilon_of_terms(ours: np.ndarray, theirs: np.ndarray, inputs: Inputs) -> np.ndarray:
    """The gap over ε · (Σ|x · k| + |b|) · scale / rms: the size of what a layer adds up."""
    if "blocked" in inputs:
        kernel, bias, scale = (inputs[name] for name in ("kernel", "bias", "scale"))
        parts = np.split(inputs["blocked"], len(kernel), axis=1)
        xs = [np.hstack([part, inputs["shared"]]).astype(np.float64) for part in parts]
    else:
        kernel, bias, scale = (inputs[f"layer_{leaf}"] for leaf in ("kernel", "bias", "scale"))
        kernel, xs = kernel[None], [inputs["x"].astype(np.float64)]
    pairs = list(zip(xs, kernel.astype(np.float64), strict=True))
    n = np.hstack([x @ k for x, k in pairs]) + bias
    terms = np.hstack([np.abs(x) @ np.abs(k) for x, k in pairs]) + np.abs(bias)
    rms = np.sqrt(np.mean(n**2, axis=-1, keepdims=True) + 1e-4)
    # The norm also spreads the errors of all sums over each value.
    shared = np.mean(terms * np.abs(n), axis=-1, keepdims=True) / rms**2
    return gap(ours, theirs) / (EPSILON * (terms + np.abs(n) * shared) * scale / rms)


def _hidden_cases(rng: np.random.Generator) -> Inputs:
    """Inputs of all sizes; where they are tiny and the bias too, ε shows."""
    given = latent_cases.parameters(rng, "dreamerv3.hidden_layer", F=17)
    x = _sized(rng, 48, 17)
    small = {**given, "layer_bias": given["layer_bias"] / np.float32(64)}
    return {"variants": [{"x": x, **given}, {"x": x / np.float32(64), **small}]}


def _block_cases(rng: np.random.Generator) -> Inputs:
    given = latent_cases.parameters(rng, "dreamerv3.block_hidden_layer", IF=13, O=5, GO=20)
    return {"blocked": _sized(rng, 48, 16), "shared": _sized(rng, 48, 9), **given}


def _sized(rng: np.random.Generator, rows: int, width: int) -> np.ndarray:
    size = np.ldexp(1.0, rng.integers(-2, 4, (rows, 1)).astype(np.int32))
    return ((2 * rng.random((rows, width)) - 1) * size).astype(np.float32)


_LAYER_REASON = (
    "Both sides add up the same terms. A sum of 18 rounds 18 times by at most half an ε of their "
    "absolute sum, 9 ε a side at the very worst and, as a random walk, under 3; the norm and the "
    "SiLU add 3 a side."
)


def _head(claim: str, network: str, outputs: int, what: str) -> Claim:
    layers = 2 if network in ("rew", "con") else 4
    operation = f"dreamerv3.{'shallow' if layers == 2 else 'deep'}_head"
    return Claim(
        claim,
        f"{what} are the reference's, at given parameters.",
        AtMost(bound(layers), "ε · max(1, |value|)"),
        why(layers),
        (operation,),
        lambda rng: latent_cases.head(rng, network, outputs),
        against_reference(operation, "output", in_epsilon_nats),
    )


def _continuous(output: str, what: str) -> Claim:
    operation = "dreamerv3.continuous_actor"

    def draw(rng: np.random.Generator) -> Inputs:
        return {
            **latent_cases.features(rng, 48),
            "noise": (6 * rng.random((48, latent_cases.A)) - 3).astype(np.float32),
            **latent_cases.parameters(rng, operation),
        }

    return Claim(
        f"normal-{output}",
        f"The continuous policy's {what} is the reference's, at given parameters.",
        AtMost(bound(4), "ε · max(1, |value|)"),
        why(4),
        (operation,),
        draw,
        against_reference(operation, output, in_epsilon_nats),
    )


AGREEMENTS = (
    agreement(
        "hidden-layers",
        "Hidden layers",
        "silu(n · scale / sqrt(mean(n²) + 1e-4)) with n = x · kernel + bias",
        (("dreamerv3/nets.py", "599-636", "594-631"),),
        in_both_modes(
            "dreamerv3.hidden_layer",
            "a hidden layer is the reference's: an affine map, the RMS norm, then SiLU.",
            AtMost(12, "ε · Σ|terms| · scale / rms"),
            _LAYER_REASON,
            compare("dreamerv3.hidden_layer", "y", _in_epsilon_of_terms),
            _hidden_cases,
        ),
        "Every network is built of the reference's layer.",
    ),
    agreement(
        "block-layers",
        "Block-diagonal hidden layers",
        "Block k of the output sees block k of the input and all of the shared input; the norm "
        "is over all blocks",
        (("dreamerv3/nets.py", "643-706", "638-701"),),
        in_both_modes(
            "dreamerv3.block_hidden_layer",
            "a block-diagonal hidden layer is the reference's.",
            AtMost(12, "ε · Σ|terms| · scale / rms"),
            _LAYER_REASON,
            compare("dreamerv3.block_hidden_layer", "y", _in_epsilon_of_terms),
            _block_cases,
        ),
        "The recurrence mixes its blocks where the reference's does, and nowhere else.",
    ),
    agreement(
        "encoder",
        "Encoder of vectors",
        "Three hidden layers on the symlog of the observation",
        (("dreamerv3/nets.py", "247-277", "246-272"),),
        (
            Claim(
                "embed",
                "Embeddings are the reference's, for observations from 1/8 to 64.",
                AtMost(bound(3), "ε · max(1, |value|)"),
                why(3),
                ("dreamerv3.encode",),
                lambda rng: {
                    "observation": latent_cases.observations(rng, 64),
                    **latent_cases.parameters(rng, "dreamerv3.encode"),
                },
                against_reference("dreamerv3.encode", "embed", in_epsilon_nats),
            ),
        ),
        "The model sees what the reference's sees.",
    ),
    agreement(
        "heads",
        "Heads on the state of the model",
        "Hidden layers on [deter, stoch], then an affine map: one layer for reward and continue, "
        "three for decoder, critic and actor",
        (
            ("dreamerv3/nets.py", "372-409", "367-404"),
            ("dreamerv3/nets.py", "411-499", "406-494"),
        ),
        (
            _head("reward", "rew", 21, "The reward head's logits"),
            _head("continue", "con", 1, "The continue head's logits"),
            _head("decoder", "dec", latent_cases.OBS, "The decoder's means, in symlog space,"),
            _head("critic", "critic", 21, "The critic's logits"),
            _head("actor", "actor", latent_cases.A, "The actor's log-probabilities"),
            _continuous("mean", "mean"),
            _continuous("deviation", "deviation"),
            _continuous("action", "draw from given noise"),
        ),
        "Predictions and policies are functions of the same features in the same order.",
    ),
)
