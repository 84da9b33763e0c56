"""Which loss reaches which network, and what an update changes.

Both are asked of a whole agent with random parameters and a random batch, of any size (at
least 2 sequences of 3 rows, no resets, 2 imagined steps): the answer is a map, and depends on
neither. No parameter may be 0, two-hot heads and biases included: a layer of zeros lets no
gradient through. The Kullback-Leibler divergences must exceed the free nats in some rows.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

LOSSES = (
    "decoder",
    "reward",
    "continue",
    "dynamics KL",
    "representation KL",
    "actor",
    "critic",
    "replayed critic",
)
NETWORKS = (
    "encoder",
    "recurrent model but its prior",
    "prior",
    "decoder",
    "reward head",
    "continue head",
    "actor",
    "critic",
    "slow critic",
)
# How much each loss counts in the total.
SCALES = (1.0, 1.0, 1.0, 1.0, 0.1, 1.0, 1.0, 0.3)

_KIND = Setting("kind", str, "of the actions", ("discrete", "continuous"))
_SEED = Setting("seed", int, "of the random parameters and batches")
_COLUMNS = ", ".join(NETWORKS)

GRADIENT_FLOW = Operation(
    "dreamerv3.gradient_flow",
    "which losses, averaged over their elements, have a gradient in which networks, and how much "
    "each of them counts in what training differentiates: 1 · decoder + 1 · reward + 1 · continue "
    "+ 1 · dynamics + 0.1 · representation + 1 · actor + 1 · critic + 0.3 · replayed critic",
    (_KIND, _SEED),
    (
        Array(
            "reaches",
            "8 9",
            "int64",
            f"1 where any parameter of the network has a gradient that is not 0. Rows: "
            f"{', '.join(LOSSES)}. Columns: {_COLUMNS}",
        ),
        Array(
            "scales",
            "8",
            "float64",
            "the coefficients that, in least squares over all parameters, make the gradient of "
            "the training loss out of the gradients of the losses",
            noise=1e-3,
        ),
    ),
)

OWNERSHIP = Operation(
    "dreamerv3.ownership",
    "what each of the first two training updates of a run changes, with a ramp of 1 update: the "
    "first has a step size of 0 and copies the critic, which differs from the slow critic, into it",
    (_KIND, _SEED, Setting("learning_rate", float, "step size after the ramp")),
    (
        Array(
            "changed",
            "2 9",
            "float32",
            f"share of the network's parameter tensors that an update changed. Columns: {_COLUMNS}",
        ),
    ),
)

OPERATIONS = (GRADIENT_FLOW, OWNERSHIP)
