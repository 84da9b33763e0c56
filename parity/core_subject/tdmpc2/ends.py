"""Predicted ends of episodes, in the core: the head, its loss, plans that stop at them."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import losses
from core.tdmpc2.agent import Agent
from core.tdmpc2.config import SIZES
from core.tdmpc2.losses import Batch, Targets
from core.tdmpc2.noise import UpdateNoise
from core.tdmpc2.world_model import ModelParams, WorldModel
from parity.core_subject.tdmpc2 import given, planner, stage
from parity.core_subject.tdmpc2.losses import Prescribed, flat
from parity.operations import Answer


def _logits(model: WorldModel, arrays, latent: Array) -> dict[str, Array]:
    return {"logits": model.termination_logits(given.model_params(arrays), latent)}


def termination_logits(latent, **parameters) -> Answer:
    """See `tdmpc2.termination_logits`."""
    sizes = {"latent_dim": latent.shape[-1], "simnorm_dim": latent.shape[-1]}
    model = given.world_model(parameters, **sizes)
    return stage.answers(stage.compiled(_logits, model)(parameters, latent))


def _loss(model: WorldModel, names: tuple[str, ...], arrays, latents, terminated) -> dict[str, Any]:
    """The model's losses where all but that of the ends is constant: its rollout is the target."""
    H, B = terminated.shape
    steps = jnp.broadcast_to(jnp.arange(H, dtype=jnp.float32)[:, None, None], (H, B, 1))
    zeros = jnp.zeros((H, B))
    batch = Batch(jnp.zeros((H + 1, B)), steps, zeros, terminated)
    unused: Any = None
    target = Targets(latents[1:], unused, unused, zeros)
    noise = UpdateNoise(unused, unused, None, None, unused, unused, None)
    params = ModelParams(
        {"latents": latents[:1]},
        {"latents": latents[1:]},
        {"logits": jnp.zeros((H, B, model.config.bins))},
        {"logits": jnp.zeros((model.config.num_q, H, B, model.config.bins))},
        termination=given.networks(arrays)["term"],
    )

    def total(params: ModelParams) -> tuple[Array, losses.ModelLosses]:
        found = losses.model_losses(model, params, batch, target, noise)
        return found.total, found

    gradients, found = jax.grad(total, has_aux=True)(params)
    of_head = flat("term", gradients.termination)
    first, others = (g["latents"] for g in (gradients.encoder, gradients.dynamics))
    return {
        "loss": found.ends.loss,
        "latents_gradient": jnp.concatenate([first, others]),
        "head_gradient": jnp.concatenate([of_head[name].reshape(-1) for name in names]),
        "rate": found.ends.rate,
        "f1": found.ends.f1,
    }


def termination_loss(latents, terminated, coefficient, **parameters) -> Answer:
    """See `tdmpc2.termination_loss`."""
    H, B = terminated.shape
    config = stage.config(
        **{**given.widths(parameters), "horizon": H, "batch_size": B, "num_q": 2, "bins": 3},
        **{"latent_dim": latents.shape[-1], "simnorm_dim": latents.shape[-1]},
        termination_coef=coefficient,
    )
    call = stage.compiled(_loss, Prescribed(config, 1, 1), tuple(parameters))
    return stage.answers(call(parameters, latents, terminated))


def episodic_plan(samples, value_noise, **inputs) -> Answer:
    """See `tdmpc2.episodic_plan`."""
    (iterations, *_), total, actions = samples.shape, value_noise.shape[1], samples.shape[-1]
    rest = {
        **{"t0": False, "explore": True, "dropout": 0.0, "era": "head"},
        "keep": np.ones((iterations, 2, total, len(inputs["q_hidden0_bias"][0])), bool),
        "mask": np.ones(actions, np.float32),
        "scale": np.ones((), np.float32),
    }
    found = planner.plan(samples=samples, value_noise=value_noise, **rest, **inputs)
    return {name: value for name, value in found.items() if name != "changed"}


def _fresh(agent: Agent, key: Array) -> dict[str, Any]:
    params = agent.init(key).params
    head = params.model.termination
    assert head is not None
    layers, zero = [head[layer] for layer in ("hidden0", "hidden1", "out")], jnp.zeros(1)
    affine = [layer.get("affine", layer) for layer in layers]
    own = [layer["kernel"] for layer in affine]
    others = jax.tree.leaves(params._replace(model=params.model._replace(termination=None)))
    kernels = [k for x in others if x.ndim > 1 for k in (x if x.ndim == 3 else [x])]
    return {
        "kernel_std": jnp.stack([jnp.sqrt(jnp.mean(k * k)) for k in own]),
        "bias_peak": jnp.stack([jnp.abs(layer["bias"]).max() for layer in affine]),
        "scale_error": jnp.stack([jnp.abs(x.get("scale", zero + 1) - 1).max() for x in layers]),
        "offset_peak": jnp.stack([jnp.abs(x.get("offset", zero)).max() for x in layers]),
        "own": jnp.stack([k.reshape(-1)[:16] for k in own]),
        "others": jnp.stack([k.reshape(-1)[:16] for k in kernels]),
    }


def fresh_termination(observation_size, action_size, seed) -> Answer:
    """See `tdmpc2.fresh_termination`."""
    config = stage.config(**SIZES[1], episodic=True)
    agent = Agent(config, observation_size, action_size, 500)
    found = stage.answers(stage.compiled(_fresh, agent)(jax.random.key(seed)))
    own, others = found.pop("own"), found.pop("others")
    alike = sum(bool((a == b).all()) for a, b in itertools.product(own, others))
    answer = {name: np.asarray(value, np.float64) for name, value in found.items()}
    return {**answer, "alike": np.asarray(alike, np.int64)}


TABLE = {
    "tdmpc2.termination_logits": termination_logits,
    "tdmpc2.termination_loss": termination_loss,
    "tdmpc2.episodic_plan": episodic_plan,
    "tdmpc2.fresh_termination": fresh_termination,
}
