"""The two-hot head's loss and decode, compiled, at the sizes of one DreamerV3 update."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from core.dreamerv3 import twohot

BINS = twohot.make_bins()
# Replayed rows of a batch, and imagined states of all of them.
ROWS = [16 * 64, 16 * 64 * 16]


@pytest.fixture(params=ROWS, ids=lambda rows: f"{rows}rows")
def batch(request):
    rng = np.random.default_rng(0)
    logits = rng.standard_normal((request.param, 255)).astype(np.float32)
    return jnp.asarray(logits), jnp.asarray(logits[:, 0] * 10)


def test_loss_and_gradient(benchmark, batch):
    step = jax.jit(jax.value_and_grad(lambda logits, v: twohot.loss(logits, v, BINS).mean()))
    jax.block_until_ready(step(*batch))
    benchmark(lambda: jax.block_until_ready(step(*batch)))


def test_decode(benchmark, batch):
    decode = jax.jit(lambda logits: twohot.decode(logits, BINS))
    jax.block_until_ready(decode(batch[0]))
    benchmark(lambda: jax.block_until_ready(decode(batch[0])))
