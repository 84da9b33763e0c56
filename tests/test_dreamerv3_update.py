"""The program that trains, as it is compiled: what it computes is what its parts compute."""

import jax
import numpy as np
import pytest
from dreamerv3_batches import batch, small_agent

UPDATES = 6


@pytest.fixture(scope="module")
def after_some_updates():
    """An agent after a few updates, a batch, and the metrics of one more update."""
    # Enough bins that the outermost ones are ±4.85e8, and rows as many as vector registers like.
    agent = small_agent(bins=255, deter=64, units=8, stoch=8)
    rows, context, noise = batch(agent, B=8, T=16)
    update = jax.jit(agent.update)
    state = agent.init(jax.random.key(0))
    for _ in range(UPDATES):
        state, _, _ = update(state, rows, context, noise)
    _, _, metrics = update(state, rows, context, noise)
    return agent, state, (rows, context, noise), metrics


def test_values_of_a_nearly_fresh_critic_are_as_small_inside_the_update_as_outside(
    after_some_updates,
):
    """Row D22: the outer bins cancel in the training program too.

    Its logits are no longer all equal, but those of mirrored outer bins still are. A compiler
    that contracts the difference of two probabilities, each a product, leaves 0.1 to 0.8.
    """
    agent, state, inputs, metrics = after_some_updates
    loss = jax.jit(agent.loss)
    _, aux = loss(state.params, state.slow_critic, state.normaliser, *inputs)
    assert np.ptp(aux["critic_logits"]) > 0
    for name, values in (("val", aux["values"]), ("rew", aux["rewards"]), ("ret", aux["returns"])):
        for statistic in (np.mean, np.std, np.min, np.max):
            found = float(metrics[f"{name}/{statistic.__name__}"])
            assert found == pytest.approx(float(statistic(values)), abs=1e-4), (name, statistic)
    assert float(metrics["val/mag"]) < 1e-3
