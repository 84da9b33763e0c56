"""Faults of TD-MPC2's checkpoints."""

from __future__ import annotations

from collections.abc import Callable

from deviations.faults.replacing import Change, around
from deviations.faults.tdmpc2.seeding import fault
from parity.faults import Fault

KIND = "checkpoints"


def _forgetting(*names: str) -> Callable[[], list[Change]]:
    """Some of what updates change is not in the checkpoint: it is zero when it is read."""

    def changes() -> list[Change]:
        import jax
        import jax.numpy as jnp

        from core.training.checkpoint import Checkpoints

        def restore(sound, checkpoints, like):
            rows, state = sound(checkpoints, like)
            train = state.learners.train
            lost = {n: jax.tree.map(jnp.zeros_like, getattr(train, n)) for n in names}
            learners = state.learners._replace(train=train._replace(**lost))
            return rows, state._replace(learners=learners)

        return around(Checkpoints, "restore", restore)

    return changes


FAULTS: tuple[Fault, ...] = (
    fault(
        "X477",
        "Adam's state and the scale left out of checkpoints, as the reference does",
        KIND,
        "restored_components",
        _forgetting("model_optimizer", "policy_optimizer", "scale"),
        "T12/core",
    ),
    fault(
        "X478",
        "the running scale alone left out of checkpoints",
        KIND,
        "restored_components",
        _forgetting("scale"),
        "T12/core",
    ),
)
