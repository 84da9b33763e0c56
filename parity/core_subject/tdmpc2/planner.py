"""Planning, as the core does it."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.tdmpc2 import planner
from core.tdmpc2.agent import Agent
from core.tdmpc2.config import ERAS, Config
from core.tdmpc2.noise import PlanNoise
from core.tdmpc2.tasks import Task
from core.tdmpc2.world_model import Params
from parity.core_subject.tdmpc2 import given, stage
from parity.core_subject.tdmpc2.losses import COMMITS, agent_of
from parity.operations import Answer


def _fit(config: Config, actions: Array, values: Array) -> dict[str, Array]:
    elites, weights = planner.weigh_elites(values, config)
    return planner.fit(actions[:, elites], weights, config)._asdict()


def fit(actions, values, elites, temperature, min_std, max_std) -> Answer:
    """See `tdmpc2.fit`."""
    config = stage.config(
        **{"num_elites": elites, "num_samples": len(values), "num_pi_trajs": 0},
        **{"temperature": temperature, "min_std": min_std, "max_std": max_std},
    )
    return stage.answers(stage.compiled(_fit, config)(actions, values))


def _plan(agent: Agent, params: Params, observation, previous, t0, noise, mask) -> Any:
    model = agent.model
    if mask is not None:
        model = dataclasses.replace(model, task=Task(jnp.zeros(0), mask))
    return planner.plan(model, params, agent.discount, observation, previous, t0, noise)


def plan(
    observation,
    previous,
    t0,
    explore,
    policy_noise,
    samples,
    value_noise,
    members,
    keep,
    gumbel,
    action_noise,
    mask,
    scale,
    elites,
    temperature,
    min_std,
    max_std,
    dropout,
    discount,
    simnorm_dim,
    limit,
    era,
    **parameters,
) -> Answer:
    """See `tdmpc2.plan`."""
    policy_count, total = policy_noise.shape[1], value_noise.shape[1]
    agent = agent_of(
        parameters,
        observation,
        action_noise.shape[-1],
        discount,
        **ERAS[COMMITS[era]],
        **{"horizon": len(previous), "iterations": len(samples), "num_samples": total},
        **{"num_pi_trajs": policy_count, "num_elites": elites, "temperature": temperature},
        **{"min_std": min_std, "max_std": max_std, "dropout": dropout},
        **{"simnorm_dim": simnorm_dim, "vmax": limit},
    )
    drops = dropout > 0 and agent.config.q_dropout == "always"
    noise = PlanNoise(
        policy_action=policy_noise,
        samples=samples,
        value_action=value_noise,
        q=members.astype(np.int32),
        q_keep=keep if drops else None,
        elite=gumbel,
        # What `acting_noise` draws where nothing is to be explored.
        action=action_noise if explore else np.zeros_like(action_noise),
    )
    params = Params(given.model_params(parameters), given.networks(parameters)["pi"])
    kept = [np.array(leaf) for leaf in (*jax.tree.leaves(params), scale)]
    call = stage.compiled(_plan, agent)
    several = mask if not mask.all() else None
    found = call(params, observation, previous, np.asarray(t0), noise, several)
    after = (*jax.tree.leaves(params), scale)
    changed = sum(np.count_nonzero(a != b) for a, b in zip(kept, after, strict=True))
    fitted = found.iterations.fitted
    start = planner.warm_start(jnp.asarray(previous), jnp.asarray(t0))
    stds = jnp.full_like(start, agent.config.max_std)
    return stage.answers(
        {
            "action": found.action,
            "mean": found.mean,
            "values": found.iterations.values,
            "means": jnp.concatenate([start[None], fitted.mean[:-1]]),
            "stds": jnp.concatenate([stds[None], fitted.std[:-1]]),
            "changed": np.asarray(changed, np.int64),
        }
    )


def _values(agent: Agent, observation: Array, bias: Array, keys: Array) -> Array:
    def of(key: Array) -> Array:
        params = agent.init(key).params
        out = {**params.model.q["out"], "bias": jnp.broadcast_to(bias, (2, len(bias)))}
        model = params.model._replace(q={**params.model.q, "out": out})
        noise = agent.acting_noise(jax.random.fold_in(key, 1), 1, explore=False)
        noise = jax.tree.map(lambda x: x[0], noise)
        previous = agent.initial_carry(1)[0]
        plan = agent.plan(params._replace(model=model), observation, previous, True, noise)
        return plan.iterations.values[0]

    return jax.lax.map(of, keys)


def fresh_values(observation, bias, agents, sequences, seed) -> Answer:
    """See `tdmpc2.fresh_values`."""
    config = stage.config(
        **{"enc_dim": 8, "mlp_dim": 8, "latent_dim": 16, "num_q": 2, "num_samples": sequences},
        **{"num_pi_trajs": 2, "num_elites": 2, "iterations": 1},
    )
    keys = jax.vmap(jax.random.key)(np.arange(seed, seed + agents))
    call = stage.compiled(_values, Agent(config, len(observation), 2, 500))
    return stage.answers({"values": call(observation, bias, keys)})


TABLE = {"tdmpc2.fit": fit, "tdmpc2.plan": plan, "tdmpc2.fresh_values": fresh_values}
