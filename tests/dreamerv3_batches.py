"""A small agent, batches for it, and its loss, compiled once for all tests."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from core.dreamerv3 import normaliser
from core.dreamerv3.agent import Agent
from core.dreamerv3.config import Config
from core.dreamerv3.types import Context, Discrete, Latent, Rows

SMALL = {
    "units": 8,
    "hidden": 6,
    "deter": 16,
    "stoch": 3,
    "classes": 4,
    "blocks": 4,
    "bins": 15,
    "imag_horizon": 4,
    "free_nats": 0.3,
}
# Most of a test's time is the compiler's.
QUICK = {"xla_backend_optimization_level": 0, "xla_llvm_disable_expensive_passes": True}


THREE_ACTIONS = Discrete(3)


def small_agent(space=THREE_ACTIONS, observation_size=5, **overrides):
    """An agent of a few thousand parameters."""
    return Agent(Config(**{**SMALL, **overrides}), observation_size, space)


def random_params(agent, seed=0):
    """Parameters without zeros, so that every gradient has a path."""
    shapes = jax.eval_shape(agent.init, jax.random.PRNGKey(0)).params
    rng = np.random.default_rng(seed)

    def drawn(path, leaf):
        x = rng.normal(size=leaf.shape) / np.sqrt(leaf.shape[-2] if leaf.ndim > 1 else 100)
        return jnp.asarray(x + (path[-1].key == "scale"), jnp.float32)

    return jax.tree_util.tree_map_with_path(drawn, shapes)


@functools.cache
def compiled_loss(agent):
    """`agent.loss` as one program."""
    return jax.jit(agent.loss, compiler_options=QUICK)


def loss_of(agent, inputs=None, params=None):
    """Loss and intermediates with random parameters, another slow critic, fresh percentiles."""
    params = random_params(agent) if params is None else params
    slow = random_params(agent, seed=1)["critic"]
    inputs = batch(agent) if inputs is None else inputs
    return compiled_loss(agent)(params, slow, normaliser.initial(), *inputs)


def batch(agent, B=2, T=5, seed=0):
    """Rows, context and noise of one update, with a reset and a terminal row inside."""
    rng = np.random.default_rng(seed)
    c, space = agent.config, agent.action_space
    is_first, is_last, is_terminal = (np.zeros((B, T), bool) for _ in range(3))
    is_first[0, 2:3] = is_last[0, 1:2] = is_terminal[0, 1:2] = is_last[-1, -1] = True
    if isinstance(space, Discrete):
        actions = rng.integers(0, space.n, (B, T + 1)).astype(np.int32)
    else:
        actions = rng.uniform(-1, 1, (B, T + 1, space.size)).astype(np.float32)
    rows = Rows(
        rng.normal(size=(B, T, agent.observation_size)).astype(np.float32),
        actions[:, 1:],
        rng.normal(size=(B, T)).astype(np.float32),
        is_first,
        is_last,
        is_terminal,
    )
    latent = Latent(
        np.tanh(rng.normal(size=(B, c.deter))).astype(np.float32),
        rng.integers(0, c.classes, (B, c.stoch)).astype(np.int32),
    )
    context = Context(latent, actions[:, 0])
    noise = agent.draw_noise(jax.random.PRNGKey(seed), B, T)
    return jax.tree.map(jnp.asarray, rows), jax.tree.map(jnp.asarray, context), noise
