"""Faults of one step of the recurrence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.dreamerv3.latent import KIND, with_dynamics
from parity.faults import Fault


def recurrence(
    gates: Callable[..., Any] | None = None,
    action: Callable[[Any], Any] | None = None,
    concatenated: tuple[int, int, int] = (0, 1, 2),
) -> Callable[[], type]:
    """A recurrent model whose step is the core's but for what is given.

    Args:
        gates: From (reset, candidate, update, old) to the new state, with `sigmoid` and `tanh`.
        action: What is made of an action.
        concatenated: The order in which deter, stoch and action are laid side by side.
    """

    def model() -> type:
        import jax
        import jax.numpy as jnp

        from core.dreamerv3.rssm import RSSM

        sigmoid, tanh = jax.nn.sigmoid, jnp.tanh

        def sound(reset, candidate, update, old, sigmoid, tanh):
            update = sigmoid(update - 1)
            return update * tanh(sigmoid(reset) * candidate) + (1 - update) * old

        def squashed(action):
            return action / jnp.maximum(1, jnp.abs(action))

        class Faulty(RSSM):
            def advance(self, state, action_vector):
                deter, stoch = state.features
                vector = (action or squashed)(action_vector)
                inputs = (self.deter_in(deter), self.stoch_in(stoch), self.action_in(vector))
                x = self.core[0](deter, jnp.concatenate([inputs[i] for i in concatenated], -1))
                parts = zip(
                    self.gates(x, split=True),
                    jnp.split(deter, self.config.blocks, -1),
                    strict=True,
                )
                update: Callable[..., Any] = gates or sound
                blocks = [update(*jnp.split(g, 3, -1), old, sigmoid, tanh) for g, old in parts]
                return jnp.concatenate(blocks, -1)

        return Faulty

    return model


def _no_gate_bias(reset, candidate, update, old, sigmoid, tanh):
    update = sigmoid(update)
    return update * tanh(sigmoid(reset) * candidate) + (1 - update) * old


def _gates_swapped(reset, candidate, update, old, sigmoid, tanh):
    reset, update = update, sigmoid(reset - 1)
    return update * tanh(sigmoid(reset) * candidate) + (1 - update) * old


def _no_reset_gate(reset, candidate, update, old, sigmoid, tanh):
    del reset
    update = sigmoid(update - 1)
    return update * tanh(candidate) + (1 - update) * old


def _late_reset_gate(reset, candidate, update, old, sigmoid, tanh):
    update = sigmoid(update - 1)
    return update * sigmoid(reset) * tanh(candidate) + (1 - update) * old


def _update_keeps(reset, candidate, update, old, sigmoid, tanh):
    update = sigmoid(update - 1)
    return (1 - update) * tanh(sigmoid(reset) * candidate) + update * old


def _fault(id: str, title: str, **parts: Any) -> Fault:
    overrides = with_dynamics(recurrence(**parts), "recurrent_step")
    return Fault(id, title, KIND, overrides, ("recurrent-step/deter",))


FAULTS = (
    _fault("X30", "no −1 on the update gate", gates=_no_gate_bias),
    _fault("X31", "reset and update gate swapped", gates=_gates_swapped),
    _fault("X32", "candidate not multiplied by the reset gate", gates=_no_reset_gate),
    _fault("X33", "reset gate outside of the candidate's tanh", gates=_late_reset_gate),
    _fault("X34", "update gate keeps the old state", gates=_update_keeps),
    _fault("X35", "actions beyond [−1, 1] not pulled back", action=lambda action: action),
    _fault("X36", "stoch before deter in the recurrence's input", concatenated=(1, 0, 2)),
)
