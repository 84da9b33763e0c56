"""The networks of TD-MPC2, as the core computes them."""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2.agent import Agent
from core.tdmpc2.config import ERAS, SIZES
from core.tdmpc2.world_model import WorldModel
from parity.core_subject.tdmpc2 import given, stage
from parity.core_subject.tdmpc2.given import world_model
from parity.operations import Answer
from parity.operations.tdmpc2.networks import LAYERS


def _encode(model: WorldModel, arrays, observation: Array) -> dict[str, Array]:
    return {"latent": model.encode(given.model_params(arrays), observation)}


def encode(observation, simnorm_dim, **parameters) -> Answer:
    """See `tdmpc2.encode`."""
    model = world_model(parameters, observation.shape[-1], simnorm_dim=simnorm_dim)
    return stage.answers(stage.compiled(_encode, model)(parameters, observation))


def _next(model: WorldModel, arrays, latent: Array, action: Array) -> dict[str, Array]:
    return {"next_latent": model.next(given.model_params(arrays), latent, action)}


def next_latent(latent, action, simnorm_dim, **parameters) -> Answer:
    """See `tdmpc2.next`."""
    model = world_model(parameters, action_size=action.shape[-1], simnorm_dim=simnorm_dim)
    return stage.answers(stage.compiled(_next, model)(parameters, latent, action))


def _on_latent(latent: np.ndarray) -> dict[str, Any]:
    """The length of a latent state, where no network says it; its simplices do not matter."""
    return {"latent_dim": latent.shape[-1], "simnorm_dim": latent.shape[-1]}


def _reward(model: WorldModel, arrays, latent: Array, action: Array) -> dict[str, Array]:
    return {"logits": model.reward_logits(given.model_params(arrays), latent, action)}


def reward_logits(latent, action, **parameters) -> Answer:
    """See `tdmpc2.reward_logits`."""
    model = world_model(parameters, action_size=action.shape[-1], **_on_latent(latent))
    return stage.answers(stage.compiled(_reward, model)(parameters, latent, action))


def _policy(model: WorldModel, arrays, latent: Array) -> dict[str, Array]:
    params = given.networks(arrays)["pi"]
    return {"outputs": jnp.asarray(model.policy_network.apply({"params": params}, latent))}


def policy_outputs(latent, **parameters) -> Answer:
    """See `tdmpc2.policy_outputs`."""
    actions = len(parameters["pi_out_bias"]) // 2
    model = world_model(parameters, action_size=actions, **_on_latent(latent))
    return stage.answers(stage.compiled(_policy, model)(parameters, latent))


def _q_logits(model: WorldModel, arrays, latent: Array, action: Array, keep) -> dict[str, Array]:
    q, keep = given.networks(arrays)["q"], keep if model.config.dropout else None
    return {"logits": model.q_logits(q, latent, action, keep)}


def q_logits(latent, action, keep, dropout, **parameters) -> Answer:
    """See `tdmpc2.q_logits`."""
    sizes = {**_on_latent(latent), "dropout": dropout}
    model = world_model(parameters, action_size=action.shape[-1], **sizes)
    return stage.answers(stage.compiled(_q_logits, model)(parameters, latent, action, keep))


def _q_value(
    model: WorldModel, reduction: str, arrays, latent: Array, action: Array, members, keep
) -> dict[str, Array]:
    q, keep = given.networks(arrays)["q"], keep if model.config.dropout else None
    values = model.drawn_values(q, members, latent, action, keep)
    return {"value": {"min": jnp.min, "mean": jnp.mean}[reduction](values, axis=0)}


def q_value(latent, action, members, keep, dropout, limit, reduction, **parameters) -> Answer:
    """See `tdmpc2.q_value`."""
    sizes = {**_on_latent(latent), "dropout": dropout, "vmax": limit}
    model = world_model(parameters, action_size=action.shape[-1], **sizes)
    call = stage.compiled(_q_value, model, reduction)
    drawn = members.astype(np.int32)
    return stage.answers(call(parameters, latent, action, drawn, keep))


def _scatter(agent: Agent, draws: int, arrays, latent: Array, action: Array, key: Array):
    """The core's own rule for who drops what, asked through the noise that it draws."""
    model = agent.model
    q = jax.tree.map(lambda x: x[:1], given.networks(arrays)["q"])

    def spread(keep: Array | None) -> Array:
        if keep is None:
            return jnp.zeros(())

        def value(mask: Array) -> Array:
            return model.support.decode(model.q_logits(q, latent, action, mask[None]))[0]

        return jnp.std(jax.vmap(value)(keep), axis=0, ddof=1).mean()

    keys = jax.random.split(key, draws)
    update = jax.vmap(agent.update_noise)(keys)
    plan = jax.vmap(lambda k: agent.acting_noise(k, 1))(keys)

    def first(keep: Array | None, axes: int) -> Array | None:
        """The masks of one network and one step, [draws, B, U]."""
        return None if keep is None else keep[(slice(None), *([0] * axes))]

    return {
        "loss": spread(first(update.q_keep, 2)),
        "policy": spread(first(update.policy_keep, 2)),
        "target": spread(first(update.target_keep, 2)),
        "plan": spread(first(plan.q_keep, 3)),
    }


def dropout_in_use(latent, action, dropout, limit, era, draws, seed, **parameters) -> Answer:
    """See `tdmpc2.dropout_in_use`."""
    rows = len(latent)
    settings = {
        **given.widths(parameters),
        **_on_latent(latent),
        **ERAS[{"paper": "5f6fade", "head": "e9f5932"}[era]],
        **{"dropout": dropout, "vmax": limit, "batch_size": rows, "horizon": 1},
        **{"iterations": 1, "num_samples": rows, "num_pi_trajs": 0, "num_elites": 1},
    }
    agent = Agent(stage.config(**settings), 4, action.shape[-1], 500)
    call = stage.compiled(_scatter, agent, draws)
    found = call(parameters, latent, action, jax.random.key(seed))
    return {use: np.asarray(value, np.float64) for use, value in found.items()}


def parameter_counts(size, observation_size, action_size) -> Answer:
    """See `tdmpc2.parameter_counts`."""
    model = WorldModel(stage.config(**SIZES[size]), observation_size, action_size)
    params = jax.eval_shape(model.init, jax.random.key(0))
    m = params.model
    counted = [
        sum(leaf.size for leaf in jax.tree.leaves(network))
        for network in (m.encoder, m.dynamics, m.reward, params.policy, m.q)
    ]
    return {"numbers": np.asarray(counted, np.int64)}


def _fresh(agent: Agent, key: Array) -> dict[str, Any]:
    state = agent.init(key)
    m = state.params.model
    networks = {
        **{"enc": m.encoder, "dyn": m.dynamics, "rew": m.reward},
        **{"pi": state.params.policy, "q": m.q, "target": state.target_q},
    }
    measured: dict[str, list[Array]] = {}
    begins: list[Array] = []
    for name in LAYERS:
        network, _, layer = name.partition("_")
        leaves = networks[network][layer]
        affine = leaves.get("affine", leaves)
        kernel, zero = affine["kernel"], jnp.zeros(1)
        if network != "target":
            begins += [k.reshape(-1)[:16] for k in (kernel if kernel.ndim == 3 else [kernel])]
        figures = {
            "kernel_std": jnp.sqrt(jnp.mean(kernel * kernel)),
            "kernel_peak": jnp.abs(kernel).max(),
            "bias_peak": jnp.abs(affine["bias"]).max(),
            "scale_error": jnp.abs(leaves.get("scale", zero + 1) - 1).max(),
            "offset_peak": jnp.abs(leaves.get("offset", zero)).max(),
        }
        for figure, value in figures.items():
            measured.setdefault(figure, []).append(value)
    apart = jax.tree.map(lambda a, b: jnp.abs(a - b).max(), m.q, state.target_q)
    return {
        **{figure: jnp.stack(values) for figure, values in measured.items()},
        "begins": jnp.stack(begins),
        "target_error": jnp.stack(jax.tree.leaves(apart)).max(),
    }


def fresh_parameters(q_init, observation_size, action_size, seed) -> Answer:
    """See `tdmpc2.fresh_parameters`."""
    config = stage.config(**SIZES[1], q_init=q_init)
    agent = Agent(config, observation_size, action_size, 500)
    found = stage.answers(stage.compiled(_fresh, agent)(jax.random.key(seed)))
    drawn = [row for row in found.pop("begins") if row.any()]
    alike = sum(bool((a == b).all()) for a, b in itertools.combinations(drawn, 2))
    answer = {name: np.asarray(value, np.float64) for name, value in found.items()}
    return {**answer, "alike": np.asarray(alike, np.int64)}


TABLE = {
    "tdmpc2.encode": encode,
    "tdmpc2.next": next_latent,
    "tdmpc2.reward_logits": reward_logits,
    "tdmpc2.policy_outputs": policy_outputs,
    "tdmpc2.q_logits": q_logits,
    "tdmpc2.q_value": q_value,
    "tdmpc2.dropout_in_use": dropout_in_use,
    "tdmpc2.parameter_counts": parameter_counts,
    "tdmpc2.fresh_parameters": fresh_parameters,
}
