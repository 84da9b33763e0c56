"""Which loss reaches which network, how much each loss counts, and who owns what."""

from __future__ import annotations

import numpy as np

from parity.agreements.dreamerv3.entries import agreement
from parity.agreements.measures import fixed, truths
from parity.claims import AtMost, BitIdentical
from parity.comparisons import identical
from parity.operations import Inputs
from parity.operations.dreamerv3.gradients import SCALES
from parity.registry import Claim

FLOW, OWNERSHIP = "dreamerv3.gradient_flow", "dreamerv3.ownership"


def _both_kinds(rng: np.random.Generator) -> Inputs:
    del rng
    return {"variants": [{"kind": kind, "seed": 3} for kind in ("discrete", "continuous")]}


def _continuous(rng: np.random.Generator) -> Inputs:
    """The kind whose actor has one layer more."""
    del rng
    return {"kind": "continuous", "seed": 3, "learning_rate": 0.01}


AGREEMENTS = (
    agreement(
        "gradient-flow",
        "Which loss reaches which network",
        "Imagined losses reach the actor and the critic alone; the others reach encoder and "
        "recurrent model as well, the critic's loss on replayed rows included",
        (("dreamerv3/agent.py", "225-399", "240-420"),),
        (
            Claim(
                "map",
                "The same losses have a gradient in the same networks as in the reference.",
                BitIdentical(),
                "A gradient is there or is not.",
                (FLOW,),
                fixed(_both_kinds),
                identical(FLOW, "reaches"),
            ),
            Claim(
                "scales",
                "The training loss counts each loss once, but a tenth of the representation KL "
                "and 0.3 of the critic's loss on replayed rows, as the reference's does.",
                AtMost(2e-3, "absolute"),
                "A gradient in float32 is within 1e-6 or so of the largest that it is a sum of, "
                "and these part in size by up to a thousand.",
                (FLOW,),
                fixed(_both_kinds),
                truths(
                    FLOW,
                    {"scales": (lambda _: np.asarray(SCALES), lambda a, b, _: np.abs(a - b))},
                ),
            ),
        ),
        "Each network is trained by what trains it in the reference.",
    ),
    agreement(
        "ownership",
        "What an update changes",
        "One optimiser owns all networks but the slow critic, which follows the critic",
        (("dreamerv3/agent.py", "85-97, 191-194", "98-112, 207-210"),),
        (
            Claim(
                "changed",
                "The first update changes the slow critic alone, the second every tensor of "
                "every network, as in the reference.",
                BitIdentical(),
                "A tensor changes or does not.",
                (OWNERSHIP,),
                fixed(_continuous),
                identical(OWNERSHIP, "changed"),
            ),
        ),
        "Nothing stays untrained, and nothing is trained that should not be.",
    ),
)
