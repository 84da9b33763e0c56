"""Random numbers: of the right distribution, independent of each other, and each drawn once.

Statistics are of fixed seeds, so that they pass or fail for good. Their bounds say how likely a
sound generator would be to fail at another seed: less than 1e-5 for the whole file.
"""

import collections
import functools
import itertools
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dreamerv3_batches import QUICK, SMALL, small_agent
from noisy_environment import NoisyEnvironment
from scipy import stats

from core.dreamerv3 import replay, train
from core.dreamerv3.agent import Agent
from core.dreamerv3.config import Config
from core.dreamerv3.train_config import TrainConfig
from core.dreamerv3.types import Latent
from core.spaces import Continuous, Discrete

# Of one check, of which there are less than 100.
FALSE_ALARMS = 1e-7
SPACES = {"gumbel_r": Discrete(3), "norm": Continuous(3)}


@functools.cache
def noises(space):
    """By name: noise, and the name of the distribution that it must have."""
    agent = small_agent(space)
    of_action = next(name for name, its in SPACES.items() if its == space)

    def draw(one, another):
        return agent.acting_noise(one, 400), agent.draw_noise(another, 5, 6)

    acting, update = jax.jit(draw, compiler_options=QUICK)(jax.random.key(0), jax.random.key(1))
    assert acting.posterior.shape == (400, 3, 4)
    assert acting.action.shape == (400, 3)
    assert update.posterior.shape == (6, 5, 3, 4)
    assert update.prior.shape == (4, 30, 3, 4)
    assert update.action.shape == (5, 30, 3)
    return {
        "acting posterior": (np.asarray(acting.posterior), "gumbel_r"),
        "acting action": (np.asarray(acting.action), of_action),
        "update posterior": (np.asarray(update.posterior), "gumbel_r"),
        "update prior": (np.asarray(update.prior), "gumbel_r"),
        "update action": (np.asarray(update.action), of_action),
    }


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_noise_has_its_distribution(space):
    for name, (noise, distribution) in noises(space).items():
        assert stats.kstest(noise.ravel(), distribution).pvalue > FALSE_ALARMS, name


@pytest.mark.parametrize("space", SPACES.values(), ids=SPACES)
def test_noise_is_independent_along_every_axis_and_from_other_noise(space):
    drawn = {name: normal_scores(*pair) for name, pair in noises(space).items()}
    for name, noise in drawn.items():
        for axis in range(noise.ndim):
            length = noise.shape[axis]
            slices = np.moveaxis(noise, axis, 0).reshape(length, -1)
            assert len(np.unique(slices, axis=0)) == length, (name, axis)
            # Sums of independent normals are normal: not what they are of correlated ones.
            total = np.sum(slices.sum(0) ** 2) / length
            assert within(stats.chi2(slices.shape[1]), total), (name, axis)
    for a, b in itertools.combinations(drawn, 2):
        n = min(drawn[a].size, drawn[b].size)
        together = (drawn[a].ravel()[:n] + drawn[b].ravel()[:n]) ** 2 / 2
        assert within(stats.chi2(n), together.sum()), (a, b)


def normal_scores(noise, distribution):
    """The noise as a standard normal."""
    return stats.norm.ppf(getattr(stats, distribution).cdf(noise.astype(float)))


def within(distribution, value):
    """Whether a value lies in neither of a distribution's tails."""
    return min(distribution.cdf(value), distribution.sf(value)) > FALSE_ALARMS / 2


def test_batches_are_drawn_uniformly_and_each_sequence_by_itself():
    n_envs, length, batch, draws = 2, 4, 3, 6_000
    ring = replay.init(length + 3, n_envs, 1, Discrete(2), 1, 1)
    # Nothing waits in the queue.
    ring = ring._replace(added=jnp.int32(length + 3), dequeued=jnp.int32(99))

    def sequences(key):
        where = replay.sample(ring, key, batch, length)[2]
        return where.environment * 3 + where.first - 1, where.online

    keys = jax.random.split(jax.random.key(2), draws)
    index, online = jax.tree.map(
        np.asarray, jax.jit(jax.vmap(sequences), compiler_options=QUICK)(keys)
    )
    assert not online.any()
    for sequence in index.T:
        assert_uniform(sequence, 6)
    for a, b in itertools.combinations(index.T, 2):
        assert_uniform(a * 6 + b, 36)
    assert_uniform(index[:-1, 0] * 6 + index[1:, 0], 36)


def assert_uniform(index, n):
    assert index.min() >= 0
    assert stats.chisquare(np.bincount(index, minlength=n)).pvalue > FALSE_ALARMS


class Quick(Agent):
    """The agent with an update that takes no time to compile."""

    def update(self, state, rows, context, noise):
        del context, noise
        shape = rows.is_first.shape
        latent = Latent(jnp.zeros((*shape, 16)), jnp.zeros((*shape, 3), jnp.int32))
        return state._replace(updates=state.updates + 1), latent, {"opt_loss": jnp.zeros(())}


class Uses:
    """Stands before the functions of `jax.random`, and notes what is done with which key."""

    functions: ClassVar[tuple[str, ...]] = (
        *("fold_in", "split", "bits", "uniform", "normal", "gumbel", "randint"),
        *("bernoulli", "categorical", "choice", "permutation", "exponential"),
    )

    def __init__(self, patch):
        self.noted = collections.Counter()
        for name in self.functions:
            patch.setattr(jax.random, name, self._noting(name, getattr(jax.random, name)))
        # Initialisers of parameters draw by an inner function.
        inner = jax.nn.initializers.variance_scaling
        patch.setattr(jax.nn.initializers, "variance_scaling", self._initializer(inner))

    def _note(self, name, key):
        def note(data):
            self.noted[name, tuple(data.tolist())] += 1

        jax.debug.callback(note, jax.random.key_data(key))

    def _noting(self, name, function):
        def noting(key, *args, **kwargs):
            self._note(name, key)
            return function(key, *args, **kwargs)

        return noting

    def _initializer(self, inner):
        def scaling(*args, **kwargs):
            return self._noting("kernel", inner(*args, **kwargs))

        return scaling

    def total(self, name):
        return sum(count for (use, _), count in self.noted.items() if use == name)


LAYERS = dict.fromkeys(("prior_layers", "enc_layers", "dec_layers", "actor_layers"), 1)
TICKS, N_ENVS, SEEDS, EPISODES = 9, 3, 2, 4


@pytest.fixture(scope="module")
def uses():
    """What is done with keys as two seeds begin, train, and are evaluated."""
    agent = Config(**SMALL, **LAYERS, batch_size=2, batch_length=4, train_ratio=8.0)
    config = TrainConfig(agent, steps=TICKS * N_ENVS, n_envs=N_ENVS, eval_episodes=EPISODES)
    keys = jax.random.split(jax.random.key(3), SEEDS)
    with pytest.MonkeyPatch.context() as patch:
        found = Uses(patch)
        patch.setattr(train, "Agent", Quick)
        functions = train.make_train(config, NoisyEnvironment(Continuous(2)))
        state = jax.jit(functions.init, compiler_options=QUICK)(keys)
        chunk = jax.jit(functions.chunk, compiler_options=QUICK)
        state, _ = chunk(state, jnp.int32(TICKS))
        evaluate, steps = jax.jit(functions.evaluate, compiler_options=QUICK), 0
        for seed in range(SEEDS):
            # Side by side, a seed that is done would repeat its last step for the other's sake.
            one = jax.tree.map(lambda leaf, i=seed: leaf[i : i + 1], state.learners)
            steps += int(evaluate(state._replace(learners=one))[1].max())
        jax.effects_barrier()
    return found, state, steps


def test_no_key_is_used_twice(uses):
    found, _, _ = uses
    drawn = collections.Counter()
    folded = set()
    for (use, key), count in found.noted.items():
        if use == "fold_in":
            folded.add(key)
        else:
            drawn[key] += count
    assert [key for key, count in drawn.items() if count > 1] == []
    # A key from which numbered ones are derived serves nothing else.
    assert not folded & set(drawn)


def test_everything_that_is_random_was_noted(uses):
    found, state, steps = uses
    updates = state.learners.train.updates.tolist()
    assert updates == [1 + 9 * 3 - (4 * 3 + 2)] * SEEDS
    kernels = jax.tree_util.tree_leaves_with_path(state.learners.train.params)
    kernels = [leaf for path, leaf in kernels if path[-1].key == "kernel" and leaf.any()]
    assert found.total("kernel") >= SEEDS * len(kernels) > 20
    assert found.total("randint") == 2 * sum(updates)
    acting = SEEDS * TICKS + steps
    assert found.total("gumbel") + found.total("normal") == 2 * acting + 3 * sum(updates)
    # Steps are taken whether an episode goes on or not; there are resets at its beginning.
    at_least = SEEDS * (TICKS + 1) * N_ENVS + (SEEDS + steps) * EPISODES
    assert found.total("uniform") > at_least
