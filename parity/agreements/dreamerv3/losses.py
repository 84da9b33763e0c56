"""The losses of the world model: KL with free nats, reconstruction, continuation."""

from __future__ import annotations

import math

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.measures import (
    compare_outputs,
    fixed,
    flags,
    over,
    truths,
    uniform,
)
from parity.claims import AtMost
from parity.operations import Inputs
from parity.registry import Claim

B, T, S, C, D = 3, 5, 4, 3, 4


def _kl_cases(rng: np.random.Generator) -> Inputs:
    """Rows on both sides of the free nats: from nearly equal distributions to very unequal."""
    apart = np.ldexp(1.0, np.arange(B * T) % 7 - 4).reshape(B, T, 1, 1).astype(np.float32)
    prior = uniform(rng, B, T, S, C)
    posterior = (prior + apart * uniform(rng, B, T, S, C)).astype(np.float32)
    return {"posterior": posterior, "prior": prior, "free_nats": 1.0}


def _two_rows(rng: np.random.Generator) -> Inputs:
    """Two rows with the divergences 0.2 and 3.0: −ln of what the prior gives to a sure class."""
    del rng
    sure = np.broadcast_to(np.asarray([0.0, -200.0], np.float32), (1, 2, 1, 2)).copy()
    prior = [[-0.2, -1.7077718], [-3.0, -0.05106918]]
    return {
        "posterior": sure,
        "prior": np.asarray(prior, np.float32).reshape(1, 2, 1, 2),
        "free_nats": 1.0,
    }


def _log_probs(inputs: Inputs) -> list[np.ndarray]:
    wide = [inputs[name].astype(np.float64) for name in ("posterior", "prior")]
    return [x - np.log(np.exp(x).sum(-1, keepdims=True)) for x in wide]


def _divergence_size(inputs: Inputs) -> np.ndarray:
    p, q = _log_probs(inputs)
    return (np.exp(p) * (1 + np.abs(p) + np.abs(q))).sum((-2, -1))


def _slope_size(inputs: Inputs) -> np.ndarray:
    p, q = _log_probs(inputs)
    inner = (np.exp(p) * np.abs(p - q)).sum(-1, keepdims=True)
    return (1 + np.abs(p - q) + inner) / (p.shape[0] * p.shape[1])


def _decoder_cases(rng: np.random.Generator) -> Inputs:
    """Rows of any size, and rows whose errors are all just below or just above the tolerance."""
    observation = uniform(rng, B, T, D) * np.ldexp(1.0, np.arange(T) * 3 - 4)[None, :, None]
    decoded = uniform(rng, B, T, D, within=4.0)
    observation[:2, 0] = 0
    decoded[0, 0], decoded[1, 0] = 2.0**-14, -(2.0**-12)
    return {"decoded": decoded, "observation": observation.astype(np.float32)}


def _ten(rng: np.random.Generator) -> Inputs:
    del rng
    shape = (1, 1, 1)
    return {"decoded": np.zeros(shape, np.float32), "observation": np.full(shape, 10, np.float32)}


def _reconstruction(inputs: Inputs) -> np.ndarray:
    x = inputs["observation"].astype(np.float64)
    error = (inputs["decoded"] - np.sign(x) * np.log1p(np.abs(x))) ** 2
    return np.where(error < 1e-8, 0.0, error).sum(-1)


def _reconstruction_size(inputs: Inputs) -> np.ndarray:
    target = np.log1p(np.abs(inputs["observation"].astype(np.float64)))
    decoded = np.abs(inputs["decoded"].astype(np.float64))
    return ((decoded + target) ** 2).sum(-1)


def _reconstruction_slope_size(inputs: Inputs) -> np.ndarray:
    target = np.log1p(np.abs(inputs["observation"].astype(np.float64)))
    return (np.abs(inputs["decoded"].astype(np.float64)) + target) / (B * T)


def _continue_cases(rng: np.random.Generator) -> Inputs:
    terminal = flags(rng, B, T)
    return {
        "logits": uniform(rng, B, T, within=9.0),
        "is_terminal": terminal,
        "is_last": terminal | flags(rng, B, T),
    }


KL, DECODER, CONTINUE = (
    "dreamerv3.kl_losses",
    "dreamerv3.decoder_loss",
    "dreamerv3.continue_loss",
)

AGREEMENTS = (
    agreement(
        "kl-losses",
        "The two KL losses and their free nats",
        "dyn = max(1, KL(sg(posterior) ‖ prior)), rep = max(1, KL(posterior ‖ sg(prior))), "
        "per row, after the sum over the latents",
        (("dreamerv3/nets.py", "97-110", "97-110"),),
        (
            Claim(
                "values",
                "Both losses of every row are the reference's, clipped row by row.",
                AtMost(16, "ε · Σ p (1 + |ln p| + |ln q|)"),
                "Each side's log-softmax is within 3 ε of its size for p and for q, the weight p "
                "within 2 ε, the difference and the product round once each: 8 a side.",
                (KL,),
                fixed(_kl_cases),
                compare_outputs(KL, dict.fromkeys(("dyn", "rep"), over(_divergence_size))),
            ),
            Claim(
                "gradients",
                "`dyn` reaches the prior alone, `rep` the posterior alone, rows below the free "
                "nats neither; the gradients are the reference's.",
                AtMost(16, "ε · (1 + |ln p/q| + KL) / rows"),
                "A gradient is p times such a sum: the same roundings as in the losses, 8 a side. "
                "A gradient that must be stopped is exactly 0 on both sides.",
                (KL,),
                fixed(_kl_cases),
                compare_outputs(
                    KL,
                    dict.fromkeys(
                        (
                            "dyn_to_posterior",
                            "dyn_to_prior",
                            "rep_to_posterior",
                            "rep_to_prior",
                        ),
                        over(_slope_size),
                    ),
                ),
            ),
            Claim(
                "per-row",
                "Divergences of 0.2 and 3.0 nats are losses of 1 and 3: a mean of 2, not of 1.6.",
                AtMost(16, "ε · 3 nats"),
                "The same roundings as in the other claims, of numbers up to 3.",
                (KL,),
                fixed(_two_rows),
                truths(
                    KL,
                    dict.fromkeys(
                        ("dyn", "rep"), (lambda _: np.asarray([[1.0, 3.0]]), over(lambda _: 3.0))
                    ),
                ),
            ),
        ),
        "Prior and posterior are pulled together as in the reference, and no further.",
    ),
    agreement(
        "decoder-loss",
        "Symlog squared error of the decoder",
        "Σ (decoded − symlog(observation))², terms below 1e-8 being 0",
        (("dreamerv3/jaxutils.py", "179-207", "179-207"),),
        (
            Claim(
                "values",
                "The loss of every row is the reference's, and 0 where it is below the tolerance.",
                AtMost(16, "ε · Σ (|decoded| + |symlog|)²"),
                "A symlog is within 3 ULP, the difference rounds once and is doubled by the "
                "square, which rounds once, and the sum of 4 terms twice: 7 halves and 3 a side.",
                (DECODER,),
                fixed(_decoder_cases),
                compare_outputs(DECODER, {"loss": over(_reconstruction_size)}),
            ),
            Claim(
                "gradient",
                "The gradient in the decoder's output is the reference's.",
                AtMost(12, "ε · (|decoded| + |symlog|) / rows"),
                "Twice the difference: 3 ULP of the symlog and one rounding, doubled, over the "
                "number of rows: 5 a side.",
                (DECODER,),
                fixed(_decoder_cases),
                compare_outputs(
                    DECODER,
                    {"gradient": over(_reconstruction_slope_size)},
                ),
            ),
            Claim(
                "figure",
                "Target 10 and prediction 0 give symlog(10)² = 5.750, not 100.",
                AtMost(8, "ε · 5.750"),
                "A symlog within 3 ULP, doubled by the square, which rounds once: 7.",
                (DECODER,),
                fixed(_ten),
                truths(
                    DECODER,
                    {"loss": (_reconstruction, over(lambda _: math.log1p(10) ** 2))},
                ),
            ),
        ),
        "Observations of any scale are reconstructed with the reference's emphasis.",
    ),
    agreement(
        "continue-loss",
        "Continue loss with the discount in its target",
        "Binary cross entropy of γ · (1 − is_terminal), γ = 1 − 1/333",
        (("dreamerv3/agent.py", "243-245", "259-261"),),
        (
            Claim(
                "values",
                "The loss is the reference's; only terminal rows end, not those at a time limit.",
                AtMost(8, "ε · (1 + |logit|)"),
                "Each side's two softplus are within 2 ε of their size, which is |logit| + ln 2 "
                "at most; two products and a sum round once each: 4 a side.",
                (CONTINUE,),
                fixed(_continue_cases),
                compare_outputs(
                    CONTINUE, {"loss": over(lambda i: 1 + np.abs(i["logits"].astype(np.float64)))}
                ),
            ),
            Claim(
                "gradient",
                "Its gradient in the logits is the reference's.",
                AtMost(8, "ε / rows"),
                "A sigmoid below 1 within 2 ε, minus a target below 1, each rounded: 4 a side.",
                (CONTINUE,),
                fixed(_continue_cases),
                compare_outputs(CONTINUE, {"gradient": over(lambda _: 1 / (B * T))}),
            ),
        ),
        "Returns are discounted by the learned chance of an end, as in the reference.",
    ),
)
