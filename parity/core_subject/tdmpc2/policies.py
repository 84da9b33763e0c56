"""The policy prior as a distribution, as the core computes it."""

from __future__ import annotations

from jaxtyping import Array

from core.tdmpc2 import policy as prior
from core.tdmpc2.config import Config
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer


def _sample(config: Config, outputs: Array, noise: Array, mask: Array | None) -> dict[str, Array]:
    return prior.sample(outputs, noise, config, mask)._asdict()


def policy(outputs, noise, mask, log_std_min, log_std_max, form) -> Answer:
    """See `tdmpc2.policy`."""
    config = stage.config(log_std_min=log_std_min, log_std_max=log_std_max, policy_entropy=form)
    several = mask if not mask.all() else None
    return stage.answers(stage.compiled(_sample, config, quickly=False)(outputs, noise, several))


TABLE = {"tdmpc2.policy": policy}
