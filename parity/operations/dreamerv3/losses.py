"""The world model's losses, from what its heads put out.

Axis names: B sequences, T rows, S categorical latents, C classes, D observation size.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

_LATENTS = "B T S C"


def _gradient(name: str, what: str, shape: str = _LATENTS) -> Array:
    return Array(name, shape, "float32", f"gradient of {what}", noise=3e-6, floor=1e-9)


KL_LOSSES = Operation(
    "dreamerv3.kl_losses",
    "per row, max(free nats, Σ over the latents of KL(posterior ‖ prior)), twice: `dyn` trains the "
    "prior and stops the gradient of the posterior, `rep` the other way round; below the free nats "
    "there is no gradient",
    (
        Array(
            "posterior",
            _LATENTS,
            "float32",
            "logits: the classes have the probabilities softmax(logits), with no unimix on top",
        ),
        Array("prior", _LATENTS, "float32", "likewise"),
        Setting("free_nats", float, "least loss of a row, in nats; 1.0 in training"),
    ),
    (
        Array("dyn", "B T", "float32", "nats, without its scale of 1", noise=3e-6),
        Array("rep", "B T", "float32", "nats, without its scale of 0.1", noise=3e-6),
        _gradient("dyn_to_posterior", "the mean of `dyn` over all rows in `posterior`"),
        _gradient("dyn_to_prior", "the mean of `dyn` in `prior`"),
        _gradient("rep_to_posterior", "the mean of `rep` in `posterior`"),
        _gradient("rep_to_prior", "the mean of `rep` in `prior`"),
    ),
)

DECODER_LOSS = Operation(
    "dreamerv3.decoder_loss",
    "Σ over the vector of (decoded − symlog(observation))², of which terms below 1e-8 are 0",
    (
        Array("decoded", "B T D", "float32", "the decoder's output, in symlog space"),
        Array("observation", "B T D", "float32", "in units of the environment"),
    ),
    (
        Array("loss", "B T", "float32", "one per row", noise=1e-6),
        _gradient("gradient", "the mean loss over all rows in the decoder's output", "B T D"),
    ),
)

CONTINUE_LOSS = Operation(
    "dreamerv3.continue_loss",
    "binary cross entropy of the target γ · (1 − is_terminal) under sigmoid(logits), with the "
    "discount γ = 1 − 1/333; an episode that ends at a time limit (is_last alone) continues",
    (
        Array("logits", "B T", "float32", "the continue head's output"),
        Array("is_terminal", "B T", "bool", "the episode ended by itself in this row"),
        Array("is_last", "B T", "bool", "the episode ended in this row, for whatever reason"),
    ),
    (
        Array("loss", "B T", "float32", "nats", noise=1e-6),
        _gradient("gradient", "the mean loss over all rows in the logits", "B T"),
    ),
)

OPERATIONS = (KL_LOSSES, DECODER_LOSS, CONTINUE_LOSS)
