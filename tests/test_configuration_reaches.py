"""Which losses, steps and counts every key of the configuration changes.

Each key is changed alone, and the tables name all that changes; nothing else may.
"""

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from configuration_keys import BASE, SCALES, changed
from dreamerv3_batches import QUICK, batch, random_params
from test_configuration_shapes import INITIAL, SHAPES

from core.dreamerv3.agent import Agent, TrainState
from core.dreamerv3.config import Config
from core.dreamerv3.normaliser import Percentiles, initial
from core.dreamerv3.train_config import TrainConfig
from core.dreamerv3.types import Continuous, Discrete

SPACES = {"discrete": Discrete(3), "continuous": Continuous(2)}

# Intermediates of a loss.
REPLAYED = {"replay_returns", "repval_loss", "total_loss"}
ACTOR = {"actor_loss", "total_loss"}
NORMALISED = {"normaliser_low", "normaliser_high", "advantages", *ACTOR}
IMAGINED = {"imagined_deter", "imagined_actions", "rewards", "continues", "weights"}
IMAGINED |= {"actor_outputs", "critic_logits", "values", "slow_values", "returns", "log_probs"}
IMAGINED |= {"critic_loss", "entropies"} | NORMALISED | REPLAYED
NUMBERS = {
    # So little that no draw comes out otherwise.
    "unimix": (0.0201, {"post_logits", "prior_logits", "dyn_loss", "rep_loss", "total_loss"}),
    "actor_unimix": (0.0301, {"log_probs", "entropies", *ACTOR}),
    "minstd": (0.3, IMAGINED),
    "maxstd": (0.9, IMAGINED),
    "free_nats": (0.4, {"dyn_loss", "rep_loss", "total_loss"}),
    "return_horizon": (60, {"con_loss", *REPLAYED}),
    "lam": (0.8, {"returns", "critic_loss"} | NORMALISED | REPLAYED),
    "repval_lam": (0.6, REPLAYED),
    "actent": (0.2, ACTOR),
    "slowreg": (0.5, {"critic_loss", "repval_loss", "total_loss"}),
    "retnorm_rate": (0.3, NORMALISED),
    # Above what the percentiles are apart, from below it.
    "retnorm_limit": (1000.0, {"advantages", *ACTOR}),
    **{key: (base + 1, {"total_loss"}) for key, base in SCALES.items()},
}
# What the other kind of actions has no use for.
ONLY = {"actor_unimix": "discrete", "minstd": "continuous", "maxstd": "continuous"}

# Of the optimizer, for a parameter of ones and one of zeros.
MOMENTS, STEPS = {"second_moment", "momentum", "step"}, {"momentum", "step"}
BOTH = ("ones", "zeros")
OPTIMIZER = {
    "learning_rate": (0.2, BOTH, {"step"}),
    "warmup": (5, BOTH, {"step"}),
    "beta1": (0.7, BOTH, STEPS),
    "beta2": (0.9, BOTH, MOMENTS),
    "eps": (0.02, BOTH, STEPS),
    "agc": (0.35, BOTH, MOMENTS),
    "agc_pmin": (0.06, ("zeros",), MOMENTS),
    "slow_rate": (0.25, BOTH, {"slow"}),
}
# Of a run.
COUNTS = {
    "train_ratio": (16.0, {"updates"}),
    "batch_size": (5, {"updates", "quiet"}),
    "batch_length": (16, {"updates", "quiet", "rows"}),
}


def test_every_key_has_its_place():
    tables = (SHAPES, INITIAL, NUMBERS, OPTIMIZER, COUNTS)
    assert sorted(key for table in tables for key in table) == sorted(Config().to_dict())


class NotZero:
    """A number inside a program of which is known that it is not 0."""

    def __init__(self, value):
        self.value = value

    def __rsub__(self, other):
        return other - self.value

    def __truediv__(self, other):
        return self.value / other


@functools.cache
def losses(space):
    """The intermediates of a loss, one program for all values of `NUMBERS`."""
    agent = Agent(BASE, 5, SPACES[space])
    params, slow = random_params(agent), random_params(agent, seed=1)["critic"]
    for head in (params["rew"], params["critic"], slow):
        # Predictions of about 1, not of 1e7, beside which no reward would count.
        head["out"]["bias"] += -3.5 * jnp.abs(jnp.arange(-7.0, 8.0))
    inputs, before = batch(agent, B=3, T=6), Percentiles(jnp.float32(-1), jnp.float32(2))

    def intermediates(numbers):
        config = BASE.replace()
        for key, value in numbers.items():
            value = NotZero(value) if "unimix" in key else value
            object.__setattr__(config, key, value)
        return Agent(config, 5, SPACES[space]).loss(params, slow, before, *inputs)[1]

    program = jax.jit(intermediates, compiler_options=QUICK)
    numbers = {key: jnp.float32(getattr(BASE, key)) for key in NUMBERS}
    unchanged = program(numbers)
    return unchanged, lambda key, value: program({**numbers, key: jnp.float32(value)})


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("space", SPACES)
def test_a_key_changes_its_own_losses(space, key):
    value, expected = NUMBERS[key]
    before, after = losses(space)[0], losses(space)[1](key, value)
    wanted = expected if ONLY.get(key, space) == space else set()
    assert changed(before, after) - {"imagined_stoch"} == wanted
    if key in SCALES:
        term = float(before[key.replace("_scale", "_loss")].mean())
        moved = float(after["total_loss"]) - float(before["total_loss"])
        assert moved == pytest.approx(term, rel=1e-4, abs=1e-4)


def stepped(config):
    """Moments, steps and slow parameters after some updates."""
    agent = Agent(config, 5, Discrete(3))
    params: Any = {"ones": jnp.ones(3), "zeros": jnp.zeros(2)}
    state: Any = agent.optimizer.init(params)
    step: Any = None
    # One gradient that is not clipped among others that are.
    for size in (1.0, 0.005, 0.3):
        step, state = agent.optimizer.update(
            jax.tree.map(lambda x, s=size: s + 0 * x, params), state, params
        )
    laprop = state[1]
    slow = TrainState({}, jax.tree.map(jnp.zeros_like, params), (), initial(), jnp.int32(3))
    target = jax.tree.map(lambda x: x + 1, params)
    found = {"second_moment": laprop.second_moment, "momentum": laprop.momentum, "step": step}
    found["slow"] = agent._slow_critic(slow, target)
    return {f"{p}/{name}": tree[p] for name, tree in found.items() for p in params}


@pytest.mark.parametrize("key", OPTIMIZER)
def test_a_key_changes_its_own_part_of_the_step(key):
    value, which, expected = OPTIMIZER[key]
    found = changed(stepped(BASE), stepped(BASE.replace(**{key: value})))
    assert found == {f"{p}/{name}" for p in which for name in expected}


@pytest.mark.parametrize("key", COUNTS)
def test_a_key_changes_its_own_counts(key):
    def counts(config):
        run = TrainConfig(agent=config, n_envs=2, steps=20, replay_capacity=1000)
        due = np.asarray([run.updates_after(ticks) for ticks in (10, 20, 30)])
        return {"updates": due, "quiet": run.ticks_without_updates, "rows": run.ring_rows}

    value, expected = COUNTS[key]
    assert changed(counts(BASE), counts(BASE.replace(**{key: value}))) == expected
