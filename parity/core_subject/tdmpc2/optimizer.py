"""Both optimisers and the target networks, as the core's own update applies them."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import agent as updating
from core.tdmpc2.agent import Agent, TrainState
from core.tdmpc2.losses import Batch
from core.tdmpc2.noise import UpdateNoise
from core.tdmpc2.world_model import ModelParams, Params
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer


class _Loss(NamedTuple):
    """What an update reads of a loss."""

    total: Array
    latents: Array
    scale: Array
    own: Any = ()


class _Losses:
    """Losses that are linear in the parameters: their gradients are given."""

    def __init__(self, gradients: dict[str, Array]):
        self._gradients = gradients

    ModelLosses = PolicyLoss = _Loss

    def targets(self, *arguments: Any) -> tuple[()]:
        """None are needed."""
        return ()

    def model_losses(self, model: Any, params: ModelParams, *rest: Any) -> _Loss:
        """Of which the parameters' gradients are the given ones, to the last bit."""
        g, named = self._gradients, params._asdict()
        pairs = {"encoder": "encoder", "dynamics": "dynamics", "reward": "reward", "q": "q"}
        total = sum(jnp.sum(g[name] * named[field]["x"]) for name, field in pairs.items())
        return _Loss(jnp.asarray(total), jnp.zeros(()), jnp.ones(()))

    def policy_loss(self, model: Any, params: Any, *rest: Any) -> _Loss:
        """Likewise."""
        return _Loss(jnp.sum(self._gradients["policy"] * params["x"]), jnp.zeros(()), jnp.ones(()))


def _trajectory(agent: Agent, params: dict[str, Array], gradients: dict[str, Array]) -> Any:
    encoder, dynamics, reward, q = (
        {"x": params[name]} for name in ("encoder", "dynamics", "reward", "q")
    )
    model = ModelParams(encoder, dynamics, reward, q)
    policy = {"x": params["policy"]}
    state = TrainState(
        params=Params(model, policy),
        target_q={"x": params["target"]},
        model_optimizer=agent.optimizers.model.init(model),  # type: ignore[arg-type]
        policy_optimizer=agent.optimizers.policy.init(policy),
        scale=jnp.ones(()),
        policy_gradient_norm=jnp.zeros(()),
        updates=jnp.zeros((), jnp.int32),
    )
    nothing: Any = None
    batch, noise = Batch(*[nothing] * 4), UpdateNoise(*[nothing] * 7)

    def step(state: TrainState, given: dict[str, Array]) -> tuple[TrainState, dict[str, Array]]:
        sound = updating.losses
        updating.losses = _Losses(given)  # type: ignore[assignment]
        try:
            state, found = agent.traced_update(state, batch, noise)
        finally:
            updating.losses = sound
        m = state.params.model
        return state, {
            "encoder": m.encoder["x"],
            "dynamics": m.dynamics["x"],
            "reward": m.reward["x"],
            "q": m.q["x"],
            "policy": state.params.policy["x"],
            "target": state.target_q["x"],
            "norm": found.clipped.norm,
        }

    return jax.lax.scan(step, state, gradients)[1]


def optimizer(learning_rate, enc_lr_scale, limit, tau, counted, **arrays) -> Answer:
    """See `tdmpc2.optimizer`."""
    config = stage.config(
        learning_rate=learning_rate,
        enc_lr_scale=enc_lr_scale,
        grad_clip_norm=limit,
        tau=tau,
        clip_with_policy=counted == "all",
    )
    params = {n: v for n, v in arrays.items() if not n.endswith("_gradients")}
    gradients = {
        n.removesuffix("_gradients"): v for n, v in arrays.items() if n.endswith("_gradients")
    }
    call = stage.compiled(_trajectory, Agent(config, 1, 1, 500))
    found = stage.answers(call(params, gradients))
    return {name: np.asarray(value, np.float32) for name, value in found.items()}


TABLE = {"tdmpc2.optimizer": optimizer}
