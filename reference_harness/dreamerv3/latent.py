"""The latent dynamics of danijar/dreamerv3, paper era: observing and acting.

Runs inside the side environment; see `given.py` for the agent whose methods they are.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import jaxutils

from reference_harness.dreamerv3 import given
from reference_harness.dreamerv3.agent import replaced


def recurrent_step(deter, stoch, action, **parameters):
    state, _ = given.split_parameters(parameters)
    agent = given.agent(given.widths({**parameters, "stoch": stoch}), 1, action.shape[-1])

    def step(deter, stoch, action):
        return agent.dyn._gru(deter, stoch, action)[0]

    return {"deter": given.call(step, state, deter, stoch, action)}


def observe(observation, is_first, previous_action, deter, stoch, noise, **parameters):
    state, _ = given.split_parameters(parameters)
    overrides = given.widths({**parameters, "stoch": stoch})
    agent = given.agent(overrides, observation.shape[-1], previous_action.shape[-1])

    def sequence(carry, vector, action, is_first):
        embed = agent.enc({"vector": vector, "is_first": is_first})
        _, outs = agent.dyn.observe(carry, {"action": action}, embed, is_first)
        return outs, agent.dyn._prior(outs["deter"])

    carry = {"deter": deter, "stoch": stoch}
    draws = given.Draws(scans=[(noise,)])
    outs, prior = given.call(
        sequence, state, carry, observation, previous_action, is_first, draws=draws
    )
    return {
        "deters": outs["deter"],
        "posterior": outs["logit"],
        "prior": prior,
        "classes": np.argmax(outs["stoch"], -1).astype(np.int64),
    }


def act(observation, is_first, previous_action, deter, stoch, noise, action_noise, **parameters):
    state, _ = given.split_parameters(parameters)
    overrides = given.widths({**parameters, "stoch": stoch})
    agent = given.agent(overrides, observation.shape[-1], action_noise.shape[-1])
    flags = np.zeros(len(observation), bool)
    obs = {"vector": observation, "is_first": is_first, "is_last": flags, "is_terminal": flags}
    obs["reward"] = np.zeros(len(observation), np.float32)

    def policy(obs, latent, action):
        kept = {}

        def read(inputs, dists):
            kept["policy"] = dists["action"].logits
            return dists

        with replaced((agent, "actor", given.Reading(agent.actor, read))):
            chosen, outs, _ = agent.policy(obs, (latent, {"action": action}))
        return chosen["action"], kept["policy"], outs["deter"], outs["stoch"]

    draws = given.Draws(now=(noise, action_noise))
    latent = {"deter": deter, "stoch": stoch}
    action, logits, deter, classes = given.call(
        policy, state, obs, latent, previous_action, draws=draws
    )
    return {
        "action": action.astype(np.int64),
        "policy": logits,
        "deter_now": deter,
        "classes": classes.astype(np.int64),
    }


def straight_through(log_probs, noise, weights):
    def objective(log_probs, noise, weights):
        with given.Draws().answering(((noise,), ())):
            draw = jaxutils.OneHotDist(log_probs).sample(seed=jax.random.PRNGKey(0))
        return (weights * draw).sum(), draw

    arrays = map(jnp.asarray, (log_probs, noise, weights))
    gradient, draw = jax.jit(jax.grad(objective, has_aux=True))(*arrays)
    return {"draw": np.asarray(draw), "gradient": np.asarray(gradient)}


OPERATIONS = {
    "dreamerv3.recurrent_step": recurrent_step,
    "dreamerv3.observe": observe,
    "dreamerv3.act": act,
    "dreamerv3.straight_through": straight_through,
}
