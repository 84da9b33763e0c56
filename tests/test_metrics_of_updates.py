"""Every metric that an update reports, worked out again in numpy from what it is of."""

import dataclasses
import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dreamerv3_batches import QUICK, SMALL, batch, random_params

from core.dreamerv3.agent import Agent, TrainState
from core.dreamerv3.config import Config
from core.dreamerv3.normaliser import Percentiles, initial
from core.dreamerv3.types import Continuous, Discrete

SPACES = {"discrete": Discrete(3), "continuous": Continuous(2)}
# Clipping clips, and steps are no smaller than the rounding of the parameters.
NUMBERS = {
    "agc": 0.01,
    "learning_rate": 0.05,
    "warmup": 0,
    "minstd": 0.2,
    "maxstd": 0.9,
    "retnorm_limit": 0.25,
}
LOW, HIGH, UPDATES = -0.75, 1.25, 4


@dataclasses.dataclass(frozen=True)
class KnownAgent(Agent):
    """An agent whose loss has intermediates and gradients that were chosen beforehand."""

    def loss(self, params, slow_critic, retnorm, rows, context, noise):
        total = sum(map(jnp.vdot, *map(jax.tree.leaves, (chosen_gradients(self), params))))
        known = jax.tree.map(jnp.asarray, chosen(self))
        return jnp.asarray(total), {**known, "total_loss": jnp.asarray(total)}


@functools.cache
def agent_of(space):
    return KnownAgent(Config(**{**SMALL, **NUMBERS}), 5, SPACES[space])


@functools.cache
def chosen_gradients(agent):
    rng = np.random.default_rng(1)
    draw = lambda x: rng.normal(size=x.shape).astype(np.float32)  # noqa: E731
    return jax.tree.map(draw, random_params(agent))


@functools.cache
def chosen(agent):
    """Arrays of the shapes of a loss's intermediates, no two of them with like statistics."""
    plain = Agent(agent.config, agent.observation_size, agent.action_space)
    params, inputs = random_params(plain), batch(plain)
    shapes = jax.eval_shape(plain.loss, params, params["critic"], initial(), *inputs)[1]
    rng, arrays = np.random.default_rng(5), {}
    for name, x in shapes.items():
        values = rng.uniform(-2, 2) + rng.uniform(0.2, 2) * rng.normal(size=x.shape)
        if name in ("prior_logits", "post_logits"):
            values = np.log(np.exp(values) / np.exp(values).sum(-1, keepdims=True))
        if name == "imagined_actions" and agent.action_space == Discrete(3):
            values = np.eye(3)[values.argmax(-1)]
        arrays[name] = np.asarray(values, np.float32)
    arrays["normaliser_low"], arrays["normaliser_high"] = np.float32(LOW), np.float32(HIGH)
    return arrays


@functools.cache
def updated(space):
    """The rows of an update, the states around it, and what it reports."""
    agent = agent_of(space)
    params, inputs = random_params(agent), batch(agent)
    fresh = agent.optimizer.init(params), Percentiles(jnp.float32(7), jnp.float32(9))
    before = TrainState(params, params["critic"], *fresh, jnp.int32(UPDATES))
    after, _, metrics = jax.jit(agent.update, compiler_options=QUICK)(before, *inputs)
    return inputs[0], before, after, metrics


def norm(tree):
    return np.sqrt(sum(np.sum(np.square(x, dtype=np.float64)) for x in jax.tree.leaves(tree)))


def latent_entropy(logits):
    """Of normalised log-probabilities, summed over the variables of a row."""
    return -(np.exp(logits) * logits).sum((-1, -2))


def extreme_entropies(space):
    """Of three actions; of two normals with the least and with the largest deviation."""
    if space == "discrete":
        return 0.0, np.log(3)
    return tuple(2 * (0.5 * np.log(2 * np.pi * np.e) + np.log(std)) for std in (0.2, 0.9))


def described(space):
    """The arrays of which mean, deviation, magnitude, least and largest are reported."""
    aux = {name: np.asarray(x, np.float64) for name, x in chosen(agent_of(space)).items()}
    least, largest = extreme_entropies(space)
    actions = aux["imagined_actions"]
    return {
        "ent/action": aux["entropies"],
        "rand/action": (aux["entropies"] - least) / (largest - least),
        "act/action": actions.argmax(-1) if space == "discrete" else actions,
        "adv": aux["advantages"],
        "rew": aux["rewards"],
        "weight": aux["weights"],
        "val": aux["values"],
        "ret": aux["returns"],
        "ret_normed": (aux["returns"] - LOW) / max(0.25, HIGH - LOW),
        "replay_ret": aux["replay_returns"],
        "prior_ent": latent_entropy(aux["prior_logits"]),
        "post_ent": latent_entropy(aux["post_logits"]),
    }


def scalars(space):
    """What is reported as one number."""
    rows, before, after, _ = updated(space)
    aux = {name: np.asarray(x, np.float64) for name, x in chosen(agent_of(space)).items()}
    gradients, moved = (
        chosen_gradients(agent_of(space)),
        jax.tree.map(lambda new, old: np.float64(new) - old, after.params, before.params),
    )
    products = jax.tree.map(lambda g, p: np.vdot(np.float64(g), p), gradients, before.params)
    expected = {
        "td_error": np.abs(aux["returns"] - aux["values"][:, :-1]).mean(),
        "ret_rate": np.mean(np.abs(aux["returns"]) > 1),
        "activation/embed": np.abs(aux["embed"]).mean(),
        "opt_loss": sum(jax.tree.leaves(products)),
        "opt_grad_norm": norm(gradients),
        "opt_update_norm": norm(moved),
        "opt_param_norm": norm(after.params),
        "opt_grad_steps": UPDATES + 1,
    }
    for name, values in (("data_rew", np.float64(rows.reward)), ("pred_rew", aux["rewards"])):
        expected[f"{name}/max"] = np.abs(values).max()
        expected[f"{name}/mean"], expected[f"{name}/std"] = values.mean(), values.std()
    for name in ("rec", "rew", "con", "dyn", "rep", "actor", "critic", "repval"):
        loss = aux[f"{name}_loss"]
        expected[f"{name}_loss"], expected[f"{name}_loss_std"] = loss.mean(), loss.std()
    return expected


def expected_metrics(space):
    expected = scalars(space)
    for name, values in described(space).items():
        expected[f"{name}/mean"], expected[f"{name}/std"] = values.mean(), values.std()
        expected[f"{name}/mag"] = np.abs(values).mean()
        expected[f"{name}/min"], expected[f"{name}/max"] = values.min(), values.max()
    return expected


@pytest.mark.parametrize("space", SPACES)
def test_every_metric_is_that_of_its_definition(space):
    metrics, expected = updated(space)[-1], expected_metrics(space)
    assert metrics.keys() == expected.keys()
    wrong = {
        name: (float(metrics[name]), float(wanted))
        for name, wanted in expected.items()
        if not np.isclose(metrics[name], wanted, rtol=1e-4, atol=1e-6)
    }
    assert not wrong, "reported, and expected"


@pytest.mark.parametrize("space", SPACES)
def test_no_two_metrics_are_alike_here(space):
    """Otherwise one that is reported in the place of another would not be noticed above."""
    expected = expected_metrics(space)
    # The rewards of the imagined states have two names; magnitudes, least and largest of what
    # has one sign may be alike.
    names = [
        name
        for name in expected
        if not name.startswith("pred_rew") and not name.endswith(("/mag", "/min", "/max"))
    ]
    values = np.array([expected[name] for name in names], np.float64)
    alike = np.isclose(values[:, None], values, rtol=5e-4) & ~np.eye(len(values), dtype=bool)
    assert not alike.any(), [(names[i], names[j]) for i, j in np.argwhere(alike)]


def test_clipping_and_steps_have_norms_of_their_own():
    """The gradient's norm is that before clipping, the update's is of what was added."""
    _, before, after, metrics = updated("discrete")
    moment = after.opt_state[1].second_moment
    clipped = np.sqrt(sum(x.sum() for x in jax.tree.leaves(moment)) / 1e-3)
    assert clipped < 0.1 * metrics["opt_grad_norm"]
    # LaProp's first step is one of the size of the learning rate for every number.
    count = sum(x.size for x in jax.tree.leaves(before.params))
    assert float(metrics["opt_update_norm"]) == pytest.approx(0.05 * count**0.5, rel=1e-4)
