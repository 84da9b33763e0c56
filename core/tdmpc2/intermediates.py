"""What an update computes on its way, in the order of the computation."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Float

from core.tdmpc2.config import Config
from core.tdmpc2.losses import ModelLosses, PolicyLoss, Targets
from core.tdmpc2.optimizer import Clipped
from core.tdmpc2.world_model import ModelParams, NetworkParams

# The metrics in the order in which an update computes them: a fault is named where it began.
WATCHED = (
    "consistency_loss",
    "reward_loss",
    "value_loss",
    "total_loss",
    "gradient_norm",
    "scale",
    "policy_entropy",
    "policy_loss",
    "policy_gradient_norm",
)

_OF_ENDS = ("termination_loss", "termination_rate", "termination_f1")


def watched(config: Config) -> tuple[str, ...]:
    """Names of the metrics of an agent, in that order."""
    if not config.episodic:
        return WATCHED
    before = WATCHED.index("total_loss")
    return (*WATCHED[:before], *_OF_ENDS, *WATCHED[before:])


class Intermediates(NamedTuple):
    """Every named intermediate of one update; under `jit`, those not used cost nothing.

    A named tuple, because `jit` returns the keys of a dictionary in the order of the alphabet.

    Attributes:
        targets: What the model learns to predict.
        model: Its losses, from the rollout of latent states on.
        gradients: Of its loss.
        clipped: Its gradient after clipping.
        steps: What its optimiser adds to its parameters.
        policy: The policy's loss, with the Q networks as that step left them.
        policy_gradients: Of the policy's loss.
        policy_clipped: Its gradient after clipping.
        policy_steps: What its optimiser adds to its parameters.
    """

    targets: Targets
    model: ModelLosses
    gradients: ModelParams
    clipped: Clipped
    steps: ModelParams
    policy: PolicyLoss
    policy_gradients: NetworkParams
    policy_clipped: Clipped
    policy_steps: NetworkParams

    @property
    def metrics(self) -> dict[str, Float[Array, ""]]:
        """The scalars that a training run reports."""
        of_ends = {}
        if (ends := self.model.ends) is not None:
            of_ends = dict(zip(_OF_ENDS, (ends.loss, ends.rate, ends.f1), strict=True))
        return {
            "consistency_loss": self.model.consistency_loss,
            "reward_loss": self.model.reward_loss,
            "value_loss": self.model.value_loss,
            **of_ends,
            "total_loss": self.model.total,
            "gradient_norm": self.clipped.norm,
            "policy_loss": self.policy.total,
            "policy_gradient_norm": self.policy_clipped.norm,
            "policy_entropy": self.policy.policy.entropy.mean(),
            "scale": self.policy.scale,
        }
