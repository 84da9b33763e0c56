"""A small TD-MPC2 agent with random parameters, batches for it, and its programs."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from core.tdmpc2.agent import Agent
from core.tdmpc2.config import Config
from core.tdmpc2.losses import Batch

# No two lengths are equal, so that no two axes can be mistaken for each other.
SMALL = {
    "enc_dim": 10,
    "mlp_dim": 14,
    "latent_dim": 12,
    "simnorm_dim": 4,
    "num_q": 5,
    "bins": 11,
    "vmax": 5.0,
    "dropout": 0.2,
    "horizon": 2,
    "batch_size": 7,
    "iterations": 2,
    "num_samples": 20,
    "num_elites": 6,
    "num_pi_trajs": 4,
}
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}
OBSERVATION, ACTIONS = 9, 2


def small_agent(actions=ACTIONS, **overrides):
    """An agent of a few thousand parameters."""
    return Agent(Config(**{**SMALL, **overrides}), OBSERVATION, actions, 100)


def random_state(agent, seed=0):
    """A state without zeros in its parameters, with target networks of their own."""
    shapes = jax.eval_shape(agent.init, jax.random.key(0))
    rng = np.random.default_rng(seed)

    def drawn(path, leaf):
        x = rng.normal(size=leaf.shape) / np.sqrt(leaf.shape[-2] if leaf.ndim > 1 else 100)
        return jnp.asarray(
            x + (jax.tree_util.keystr(path[-1:], simple=True) == "scale"), jnp.float32
        )

    params, target_q = jax.tree_util.tree_map_with_path(drawn, (shapes.params, shapes.target_q))
    zeros = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)
    return zeros._replace(params=params, target_q=target_q, scale=np.float32(1))


def random_noise(agent, shapes, seed=0):
    """Noise of given shapes, drawn by numpy: XLA would take seconds to compile each field."""
    rng, c = np.random.default_rng(seed), agent.config

    def drawn(leaf):
        if leaf.dtype == bool:
            return jnp.asarray(rng.random(leaf.shape) >= c.dropout)
        if jnp.issubdtype(leaf.dtype, jnp.integer):
            pairs = [rng.permutation(c.num_q)[:2] for _ in range(leaf.size // 2)]
            return jnp.asarray(np.reshape(pairs, leaf.shape), leaf.dtype)
        return jnp.asarray(rng.normal(size=leaf.shape), leaf.dtype)

    return jax.tree.map(drawn, shapes)


def update_noise(agent, seed=0):
    """The noise of one update."""
    return random_noise(agent, jax.eval_shape(agent.update_noise, jax.random.key(0)), seed)


def acting_noise(agent, n, seed=0):
    """The noise of one plan in each of n environments."""
    shapes = jax.eval_shape(lambda k: agent.acting_noise(k, n), jax.random.key(0))
    return random_noise(agent, shapes, seed)


def batch(agent, seed=0):
    """Random sequences, some of them ending by themselves."""
    rng, c = np.random.default_rng(seed), agent.config
    H, B = c.horizon, c.batch_size

    def normal(*shape):
        return jnp.asarray(rng.normal(size=shape), jnp.float32)

    return Batch(
        observation=normal(H + 1, B, agent.observation_size),
        action=jnp.tanh(normal(H, B, agent.action_size)),
        reward=normal(H, B),
        terminated=jnp.asarray(rng.random((H, B)) < 0.3, jnp.float32),
    )


@functools.cache
def compiled(agent, method):
    """A method of the agent as one program, compiled once for all tests."""
    return jax.jit(getattr(agent, method), compiler_options=QUICK)


def planned(agent, state, noise, *, observation=None, previous=None, t0=True):
    """One plan, by default from the first observation of an episode."""
    if observation is None:
        observation = batch(agent).observation[0, 0]
    if previous is None:
        previous = agent.initial_carry(1)[0]
    return jax.device_get(compiled(agent, "plan")(state.params, observation, previous, t0, noise))


def plan_noise(agent, seed=0):
    """The noise of one plan."""
    return jax.tree.map(lambda x: jnp.asarray(np.asarray(x)[0]), acting_noise(agent, 1, seed))
