"""Which loss reaches which network of the core, and what an update of it changes."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.dreamerv3.agent import Agent, TrainNoise, TrainState
from core.dreamerv3.types import Context, Continuous, Discrete, Latent, Rows
from parity.core_subject.dreamerv3 import stage
from parity.core_subject.dreamerv3.stage import answers, compiled
from parity.operations import Answer

# Their unscaled values in `Agent.loss`, in the order of the operation.
LOSSES = (
    "rec_loss",
    "rew_loss",
    "con_loss",
    "dyn_loss",
    "rep_loss",
    "actor_loss",
    "critic_loss",
    "repval_loss",
)
BATCH, LENGTH, OBSERVATION = 2, 3, 3


def _agent(kind: str, **settings: Any) -> Agent:
    """An agent so small that its loss compiles in seconds."""
    config = stage.headless(
        units=6,
        hidden=6,
        deter=8,
        stoch=4,
        classes=4,
        blocks=2,
        bins=7,
        imag_horizon=2,
        prior_layers=0,
        posterior_layers=0,
        enc_layers=1,
        **settings,
    )
    return Agent(config, OBSERVATION, Discrete(2) if kind == "discrete" else Continuous(2))


def _draw(agent: Agent, rng: np.random.Generator) -> TrainState:
    """A state in which no parameter is 0."""
    like = jax.eval_shape(agent.init, jax.random.PRNGKey(0))

    def drawn(leaf: jax.ShapeDtypeStruct) -> np.ndarray:
        return rng.uniform(-2, 2, leaf.shape).astype(np.float32)

    zeros = jax.tree.map(lambda leaf: np.zeros(leaf.shape, leaf.dtype), like)
    return zeros._replace(
        params=jax.tree.map(drawn, like.params), slow_critic=jax.tree.map(drawn, like.slow_critic)
    )


def _batch(agent: Agent, rng: np.random.Generator) -> tuple[Rows, Context, TrainNoise]:
    c, rows, never = agent.config, (BATCH, LENGTH), jnp.zeros((BATCH, LENGTH), bool)

    def numbers(*shape: int) -> Array:
        return jnp.asarray(rng.uniform(-2, 2, shape), jnp.float32)

    def actions(*shape: int) -> Array:
        if isinstance(agent.action_space, Discrete):
            return jnp.asarray(rng.integers(0, 2, shape), jnp.int32)
        return numbers(*shape, 2)

    stoch = jnp.asarray(rng.integers(0, c.classes, (BATCH, c.stoch)), jnp.int32)
    starts, steps = BATCH * LENGTH, c.imag_horizon
    return (
        Rows(numbers(*rows, OBSERVATION), actions(*rows), numbers(*rows), never, never, never),
        Context(Latent(numbers(BATCH, c.deter), stoch), actions(BATCH)),
        TrainNoise(
            numbers(LENGTH, BATCH, c.stoch, c.classes),
            numbers(steps, starts, c.stoch, c.classes),
            numbers(steps + 1, starts, agent.policy.size),
        ),
    )


def _networks(params: dict[str, Any], slow_critic: Any) -> list[list[Array]]:
    """The leaves of every network, in the order of the operation."""
    recurrent = dict(params["dyn"])
    prior = {name: recurrent.pop(name) for name in list(recurrent) if name.startswith("prior")}
    rest = (params[name] for name in ("dec", "rew", "con", "actor", "critic"))
    return [jax.tree.leaves(tree) for tree in (params["enc"], recurrent, prior, *rest, slow_critic)]


def _flow(agent: Agent, state: TrainState, *batch: Any) -> dict[str, Array]:
    def losses(params: Any, slow_critic: Any) -> Array:
        total, named = agent.loss(params, slow_critic, state.normaliser, *batch)
        return jnp.stack([*(named[name].mean() for name in LOSSES), total])

    values, pull = jax.vjp(losses, state.params, state.slow_critic)
    count = len(values)
    networks = _networks(*jax.vmap(pull)(jnp.eye(count)))
    flat = [jnp.hstack([leaf.reshape(count, -1) for leaf in leaves]) for leaves in networks]
    reaches = [jnp.any(gradient[:-1], axis=1) for gradient in flat]
    return {"reaches": jnp.stack(reaches, 1), "gradients": jnp.hstack(flat)}


def gradient_flow(kind: str, seed: int) -> Answer:
    """See `dreamerv3.gradient_flow`."""
    rng = np.random.default_rng(seed)
    agent = _agent(kind)
    found = answers(compiled(_flow, agent)(_draw(agent, rng), *_batch(agent, rng)))
    *losses, total = found["gradients"].astype(np.float64)
    sizes = np.linalg.norm(losses, axis=1)
    scales = np.linalg.lstsq(np.transpose(losses) / sizes, total, rcond=None)[0] / sizes
    return {"reaches": found["reaches"].astype(np.int64), "scales": scales}


def _update(agent: Agent, state: TrainState, *batch: Any) -> tuple[TrainState, Array]:
    after, _, _ = agent.update(state, *batch)
    pairs = (
        zip(old, new, strict=True)
        for old, new in zip(
            _networks(state.params, state.slow_critic),
            _networks(after.params, after.slow_critic),
            strict=True,
        )
    )
    changed = [jnp.mean(jnp.stack([jnp.any(a != b) for a, b in network])) for network in pairs]
    return after, jnp.stack(changed)


def ownership(kind: str, seed: int, learning_rate: float) -> Answer:
    """See `dreamerv3.ownership`."""
    rng = np.random.default_rng(seed)
    agent = _agent(kind, learning_rate=learning_rate, warmup=1)
    state, changed = _draw(agent, rng), []
    for _ in range(2):
        state, now = compiled(_update, agent)(state, *_batch(agent, rng))
        changed.append(np.asarray(now, np.float32))
    return {"changed": np.stack(changed)}


TABLE = {"dreamerv3.gradient_flow": gradient_flow, "dreamerv3.ownership": ownership}
