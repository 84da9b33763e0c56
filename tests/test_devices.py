"""Seeds on several devices: the same numbers, and what can not be shared out is said."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest

from core.config import ConfigError
from core.training.devices import check_memory, seed_mesh

# A run whose learners are numbers: what is shared out does not matter to how.
PROGRAM = """
import jax, jax.numpy as jnp, numpy as np
from core.training.devices import place, seed_mesh, spread
from core.training.program import RunState, Train

def chunk(state, ticks, factor):
    assert len(state.learners) == 2  # of the four seeds
    return RunState(state.tick + ticks, state.learners * factor), {"loss": state.learners + 1}

def init(keys):
    return RunState(jnp.int32(0), keys + 0.5)

train = Train(init, chunk, lambda s: s.learners, (), "", 0, constants=(jnp.float32(2),))
mesh = seed_mesh(4, 2)
shared = spread(train, mesh)
seeds = jnp.arange(4.0)
state = jax.jit(shared.init)(seeds)
shape = place(jax.eval_shape(shared.init, seeds), mesh)
program = jax.jit(shared.chunk, donate_argnums=0)
program = program.lower(shape, jnp.int32(1), *shared.constants).compile()
start = place(RunState(jnp.int32(0), seeds + 0.5), mesh)
state, metrics = program(start, jnp.int32(3), *shared.constants)
assert int(state.tick) == 3
assert np.array_equal(state.learners, 2 * (np.arange(4) + 0.5)), state
assert np.array_equal(metrics["loss"], np.arange(4) + 1.5), metrics
assert len(state.learners.sharding.device_set) == 2
"""


def test_seeds_are_shared_out_over_devices():
    flags = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, **flags},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_seeds_that_can_not_be_shared_out_are_refused():
    with pytest.raises(ConfigError, match="3 seeds can not be shared out evenly over 2 devices"):
        seed_mesh(3, 2)
    with pytest.raises(ConfigError, match=r"not 512; on a CPU, set XLA_FLAGS=.*count=512"):
        seed_mesh(512, 512)


def test_a_state_that_no_memory_holds_is_refused():
    mesh = seed_mesh(1, 1)
    check_memory(jax.ShapeDtypeStruct((10, 10), jnp.float32), mesh)
    with pytest.raises(ConfigError, match=r"takes 40,000,000.0 GB.*smaller --size"):
        check_memory([jax.ShapeDtypeStruct((10**6, 10**10), jnp.float32)], mesh)
