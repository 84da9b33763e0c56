"""The optimiser and the slow critic, as the core computes them."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array

from core.dreamerv3 import optimizer as chain
from core.dreamerv3.agent import Agent
from core.dreamerv3.types import Discrete
from parity.core_subject.dreamerv3 import stage
from parity.core_subject.dreamerv3.stage import answers, compiled
from parity.operations import Answer

Tree = dict[str, Array]


def _clipped(params: Tree, gradients: Tree) -> Tree:
    config = stage.config_of()
    clip = chain.clip_by_agc(config.agc, config.agc_pmin)
    return cast(Tree, clip.update(gradients, clip.init(params), params)[0])


def gradient_clipping(
    kernel: np.ndarray, bias: np.ndarray, kernel_gradient: np.ndarray, bias_gradient: np.ndarray
) -> Answer:
    """See `dreamerv3.gradient_clipping`."""
    gradients = {"kernel": kernel_gradient, "bias": bias_gradient}
    return answers(compiled(_clipped)({"kernel": kernel, "bias": bias}, gradients))


def _normalised(gradients: Array) -> Tree:
    c = stage.config_of()
    laprop = chain.scale_by_laprop(c.beta1, c.beta2, c.eps)

    def step(state: Any, gradient: Array) -> tuple[Any, Any]:
        update, state = laprop.update(gradient, state)
        return state, update

    return {"updates": jax.lax.scan(step, laprop.init(gradients[0]), gradients)[1]}


def laprop(gradients: np.ndarray) -> Answer:
    """See `dreamerv3.laprop`."""
    return answers(compiled(_normalised)(gradients))


def _trajectory(learning_rate: float, warmup: int, params: Tree, gradients: Tree) -> Tree:
    optimizer = chain.make_optimizer(stage.config_of(learning_rate=learning_rate, warmup=warmup))

    def step(carry: tuple[Any, Any], gradient: Tree) -> tuple[tuple[Any, Any], Any]:
        params, state = carry
        updates, state = optimizer.update(gradient, state, params)
        params = optax.apply_updates(params, updates)
        return (params, state), params

    _, seen = jax.lax.scan(step, (params, optimizer.init(params)), gradients)
    return {"kernels": seen["kernel"], "biases": seen["bias"]}


def optimizer(
    kernel: np.ndarray,
    bias: np.ndarray,
    kernel_gradients: np.ndarray,
    bias_gradients: np.ndarray,
    learning_rate: float,
    warmup: int,
) -> Answer:
    """See `dreamerv3.optimizer`."""
    gradients = {"kernel": kernel_gradients, "bias": bias_gradients}
    params = {"kernel": kernel, "bias": bias}
    return answers(compiled(_trajectory, learning_rate, warmup)(params, gradients))


def warmup_factor(updates: np.ndarray, warmup: int) -> Answer:
    """See `dreamerv3.warmup_factor`."""
    factor = chain.warmup_factor(jnp.asarray(updates.astype(np.int32)), warmup)
    return {"factor": np.asarray(factor, np.float32)}


def _slow(critic: Array, initial: Array, updates: Array) -> Tree:
    agent = Agent(stage.config_of(), 1, Discrete(2))

    def step(carry: tuple[Array, Array], params: Array) -> tuple[tuple[Array, Array], Array]:
        slow, updates = carry
        # Of the training state these two are read.
        state: Any = SimpleNamespace(slow_critic={"kernel": slow}, updates=updates)
        slow = agent._slow_critic(state, {"kernel": params})["kernel"]
        return (slow, updates + 1), slow

    return {"slow": jax.lax.scan(step, (initial, updates), critic)[1]}


def slow_critic(critic: np.ndarray, initial: np.ndarray, updates: int) -> Answer:
    """See `dreamerv3.slow_critic`."""
    return answers(compiled(_slow)(critic, initial, np.int32(updates)))


TABLE = {
    "dreamerv3.gradient_clipping": gradient_clipping,
    "dreamerv3.laprop": laprop,
    "dreamerv3.optimizer": optimizer,
    "dreamerv3.warmup_factor": warmup_factor,
    "dreamerv3.slow_critic": slow_critic,
}
