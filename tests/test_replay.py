"""The replay against a model in plain Python, on rings small enough to see everything."""

import functools
import itertools
from collections import deque
from fractions import Fraction

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from core.dreamerv3 import replay, schedule
from core.dreamerv3.types import Latent, Rows
from core.spaces import Continuous, Discrete

add = jax.jit(replay.add)
sample = jax.jit(replay.sample, static_argnums=(2, 3))
write_back = jax.jit(replay.write_back)


def row_of(t, n_envs, *, actions=None):
    """Row t of every environment: each number tells the environment and the row."""
    environment, time = np.arange(n_envs), np.full(n_envs, t)
    rows = Rows(
        observation=np.stack([environment, time], -1).astype(np.float32),
        action=(100 * environment + t).astype(np.int32) if actions is None else actions,
        reward=(time + 0.5).astype(np.float32),
        is_first=time % 5 == 0,
        is_last=time % 5 == 4,
        is_terminal=time % 10 == 4,
    )
    deter = np.stack([1000.0 * environment + t, -time], -1).astype(np.float32)
    return rows, Latent(deter, np.stack([environment, time % 7, time % 3], -1))


def filled(rows, n_envs, capacity):
    state = replay.init(capacity, n_envs, 2, Discrete(9), 2, 3, classes=16)
    for t in range(rows):
        state = add(state, *row_of(t, n_envs))
    return state


class Model:
    """What a replay with these rules holds, in lists and a queue."""

    def __init__(self, capacity, n_envs, length):
        self.capacity, self.n_envs, self.stride = capacity, n_envs, length + 1
        self.added, self.queue = 0, deque()

    def add(self):
        self.added += 1
        if self.added > self.stride and (self.added - 1) % self.stride == 0:
            start = self.added - self.stride
            self.queue.extend((environment, start) for environment in range(self.n_envs))
        while self.queue and self.queue[0][1] < self.oldest:
            self.queue.popleft()

    @property
    def oldest(self):
        return max(0, self.added - self.capacity)

    def items(self):
        starts = range(self.oldest, self.added - self.stride + 1)
        return set(itertools.product(range(self.n_envs), starts))


RINGS = [
    *((capacity, 2, 2) for capacity in (3, 5, 7, 40)),
    *((capacity, 1, 4) for capacity in (5, 11)),
    (2, 3, 1),
]


@pytest.mark.parametrize(("capacity", "n_envs", "length"), RINGS)
def test_every_sequence_is_whole_and_every_whole_sequence_is_drawn(capacity, n_envs, length):
    state, model = filled(0, n_envs, capacity), Model(capacity, n_envs, length)
    keys = jax.random.split(jax.random.key(0), 64)
    draw = jax.jit(jax.vmap(lambda state, key: replay.sample(state, key, 4, length), (None, 0)))
    for t in range(3 * capacity if capacity < 40 else 20):
        state = add(state, *row_of(t, n_envs))
        model.add()
        assert int(replay.items(state, length)) == len(model.items())
        assert bool(replay.can_sample(state, 2, length)) == (len(model.items()) >= 2)
        if not model.items():
            continue
        # With an empty queue, so that all draws are uniform.
        drained = state._replace(dequeued=jnp.int32(10**6))
        rows, context, where = jax.tree.map(np.asarray, draw(drained, keys))
        assert not where.online.any()
        drawn = set(zip(where.environment.ravel(), where.first.ravel() - 1, strict=True))
        assert drawn == model.items()
        expected = where.first[..., None] + np.arange(length)
        np.testing.assert_array_equal(rows.observation[..., 1], expected)
        np.testing.assert_array_equal(
            rows.observation[..., 0],
            np.broadcast_to(where.environment[..., None], expected.shape),
        )
        np.testing.assert_array_equal(rows.reward, expected + 0.5)
        np.testing.assert_array_equal(rows.is_first, expected % 5 == 0)
        np.testing.assert_array_equal(rows.is_last, expected % 5 == 4)
        np.testing.assert_array_equal(rows.is_terminal, expected % 10 == 4)
        before = where.first - 1
        np.testing.assert_array_equal(context.action, 100 * where.environment + before)
        np.testing.assert_array_equal(
            context.latent.deter, np.stack([1000 * where.environment + before, -before], -1)
        )
        np.testing.assert_array_equal(
            context.latent.stoch, np.stack([where.environment, before % 7, before % 3], -1)
        )


@pytest.mark.parametrize(("capacity", "n_envs", "length"), RINGS)
@pytest.mark.parametrize("batches", ["none", "few", "many"])
def test_the_queue_is_handed_out_once_and_in_order(capacity, n_envs, length, batches):
    state, model = filled(0, n_envs, capacity), Model(capacity, n_envs, length)
    for t in range(5 * (length + 1) + capacity % 40):
        state = add(state, *row_of(t, n_envs))
        model.add()
        assert int(replay.queued(state, length)) == len(model.queue)
        updates = {"none": t > 4 * (length + 1), "few": t % 5 == 4, "many": 3}[batches]
        for _ in range(int(updates) if model.items() else 0):
            _, _, where = sample(state, jax.random.key(t), 2, length)
            expected = [model.queue.popleft() for _ in range(min(2, len(model.queue)))]
            online = np.asarray(where.online)
            assert online.tolist() == [i < len(expected) for i in range(2)]
            starts = zip(where.environment.tolist(), (where.first - 1).tolist(), strict=True)
            assert list(starts)[: len(expected)] == expected
            state = write_back(state, where, posteriors(2, length, t))


def posteriors(batch_size, length, seed=0):
    rng = np.random.default_rng(seed)
    deter = rng.standard_normal((batch_size, length, 2)).astype(np.float32)
    return Latent(deter, rng.integers(0, 16, (batch_size, length, 3)).astype(np.int32))


def test_the_first_items_are_those_of_the_reference():
    starts = []
    state = replay.init(200, 16, 1, Discrete(2), 1, 1)
    for added in range(201):
        state = state._replace(added=jnp.int32(added))
        while int(replay.queued(state, 64)):
            _, _, where = sample(state, jax.random.key(0), 16, 64)
            assert where.environment.tolist() == list(range(16))
            starts.append((added, int(where.first[0]) - 1))
            state = state._replace(dequeued=where.dequeued)
    # Rows of each environment when the item enters, and its first row, of context.
    assert starts == [(66, 1), (131, 66), (196, 131)]


def test_sampling_alone_takes_nothing_off_the_queue():
    state = filled(10, 2, 40)
    first, second = (sample(state, jax.random.key(i), 2, 2)[2] for i in range(2))
    assert first.online.all()
    assert jax.tree.all(jax.tree.map(jnp.array_equal, first, second))


def test_all_items_are_equally_likely():
    state = filled(11, 2, 7)._replace(dequeued=jnp.int32(10**6))
    _, _, where = sample(state, jax.random.key(1), 20_000, 2)
    _, counts = np.unique(where.environment * 100 + where.first, return_counts=True)
    assert len(counts) == 10
    assert np.abs(counts - 2000).max() < 5 * np.sqrt(2000)


@pytest.mark.parametrize("rows", [9, 23])
def test_written_latents_are_read_again_and_nothing_else_changes(rows):
    state = filled(rows, 2, 9)
    _, _, where = sample(state, jax.random.key(0), 1, 3)
    latent = posteriors(1, 3)
    after = write_back(state, where, latent)
    environment, first = int(where.environment[0]), int(where.first[0])
    expected = jax.tree.map(np.array, state.latents)
    for i in range(3):
        slot = (first + i) % 9
        expected.deter[environment, slot] = latent.deter[0, i]
        expected.stoch[environment, slot] = latent.stoch[0, i]
    assert jax.tree.all(jax.tree.map(np.array_equal, after.latents, expected))
    assert jax.tree.all(jax.tree.map(np.array_equal, after.rows, state.rows))


def test_trained_latents_are_the_context_of_later_sequences():
    state = filled(9, 1, 9)
    where = replay.Where(jnp.array([0]), jnp.array([3]), jnp.array([False]), jnp.int32(99))
    state = write_back(state, where, posteriors(1, 4))
    for seed in range(20):
        _, context, drawn = sample(state, jax.random.key(seed), 1, 2)
        before = int(drawn.first[0]) - 1
        old = row_of(before, 1)[1].deter[0]
        new = posteriors(1, 4).deter[0, before - 3] if 3 <= before < 7 else old
        np.testing.assert_array_equal(context.latent.deter[0], new)


def test_of_overlapping_sequences_the_later_one_is_kept(mode):
    state, latent = filled(23, 2, 9), posteriors(5, 4, seed=5)
    where = replay.Where(
        environment=jnp.array([0, 0, 1, 0, 0]),
        first=jnp.array([17, 15, 16, 19, 17]),
        online=jnp.zeros(5, bool),
        dequeued=jnp.int32(0),
    )
    write = write_back if mode == "compiled" else replay.write_back
    expected = np.array(state.latents.deter)
    for sequence in range(5):
        for i in range(4):
            row = int(where.first[sequence]) + i
            expected[where.environment[sequence], row % 9] = latent.deter[sequence, i]
    np.testing.assert_array_equal(write(state, where, latent).latents.deter, expected)


def test_every_row_of_a_batch_is_written_once():
    # Devices scatter duplicates in any order.
    where = replay.Where(
        jnp.array([0, 0, 1, 0, 1]), jnp.array([5, 3, 5, 5, 9]), jnp.zeros(5, bool), jnp.int32(0)
    )
    kept = replay.written_last(where, 4).astype(int).tolist()
    assert kept == [[0] * 4, [1, 1, 0, 0], [1] * 4, [1] * 4, [1] * 4]


def test_rows_that_were_overwritten_since_they_were_drawn_keep_their_new_latents():
    state = filled(9, 1, 9)
    where = replay.Where(jnp.array([0]), jnp.array([1]), jnp.array([True]), jnp.int32(1))
    for t in (9, 10, 11):
        state = add(state, *row_of(t, 1))
    latent = posteriors(1, 3)
    after = write_back(state, where, latent)
    np.testing.assert_array_equal(after.latents.deter[0, :3], state.latents.deter[0, :3])
    np.testing.assert_array_equal(after.latents.deter[0, 3], latent.deter[0, 2])


def test_a_row_of_walker_at_12m_takes_8351_bytes():
    state = jax.eval_shape(
        functools.partial(replay.init, 10, 16, 24, Continuous(6), 2048, 32, classes=16)
    )
    assert replay.bytes_per_row(state) == 8351


def test_class_indices_survive_in_one_byte():
    state = replay.init(4, 1, 2, Continuous(3), 2, 3, classes=256)
    rows, latent = row_of(0, 1, actions=np.asarray([[0.1, -0.2, 0.3]], np.float32))
    for _ in range(4):
        state = add(state, rows, latent._replace(stoch=np.asarray([[0, 128, 255]])))
    assert state.latents.stoch.dtype == jnp.uint8
    drawn, context, _ = sample(state, jax.random.key(0), 1, 2)
    assert context.latent.stoch.dtype == jnp.int32
    assert context.latent.stoch.tolist() == [[0, 128, 255]]
    np.testing.assert_array_equal(drawn.action, np.tile(rows.action, (1, 2, 1)))


def test_seeds_under_vmap_are_the_same_as_each_alone():
    states, keys = [filled(rows, 2, 9) for rows in (7, 12)], jax.random.split(jax.random.key(2))
    latent = posteriors(5, 3)

    def step(state, key):
        rows, context, where = replay.sample(state, key, 5, 3)
        return replay.write_back(state, where, latent), rows, context, where

    together = jax.jit(jax.vmap(step))(jax.tree.map(lambda *x: jnp.stack(x), *states), keys)
    for seed in range(2):
        alone = jax.jit(step)(states[seed], keys[seed])
        one = jax.tree.map(lambda leaf, seed=seed: leaf[seed], together)
        assert jax.tree.all(jax.tree.map(np.array_equal, one, alone))


def test_one_program_serves_the_whole_run():
    def tick(state, row, key):
        state = replay.add(state, *row)
        rows, _, where = replay.sample(state, key, 4, 3)
        return replay.write_back(state, where, posteriors(4, 3)), rows

    compiled, state = jax.jit(tick), filled(0, 2, 9)
    for t in range(25):
        state, rows = compiled(state, row_of(t, 2), jax.random.key(t))
        assert np.isfinite(rows.observation).all()  # before the gate too, where it means nothing
    assert compiled._cache_size() == 1


def test_a_ring_that_is_too_short_is_refused():
    with pytest.raises(ValueError, match="it needs 10 or more"):
        replay.sample(filled(3, 2, 9), jax.random.key(0), 4, 9)
    with pytest.raises(ValueError, match="at least one row"):
        replay.init(0, 2, 2, Discrete(2), 2, 3)


@pytest.mark.parametrize(
    ("n_envs", "batch_size", "length"), [(16, 16, 64), (1, 16, 4), (3, 16, 5), (5, 2, 1), (8, 9, 3)]
)
def test_the_gate_opens_with_the_step_that_completes_a_batch_of_items(n_envs, batch_size, length):
    rows = [0] * n_envs
    for step in range(1, 2000):
        rows[(step - 1) % n_envs] += 1
        if sum(max(0, count - length) for count in rows) >= batch_size:
            break
    assert schedule.gate(n_envs, batch_size, length) == step


def test_twenty_thousand_rows_of_cartpole_train_9481_times():
    gate = schedule.gate(16, 16, 64)
    steps = 16 * jnp.arange(1, 1251)
    due = schedule.updates_due(steps, gate, Fraction(512, 16 * 64))
    state = replay.init(1250, 16, 1, Discrete(2), 1, 1)
    ready = [
        bool(replay.can_sample(state._replace(added=jnp.int32(ticks)), 16, 64))
        for ticks in (64, 65)
    ]
    assert (gate, ready) == (1040, [False, True])
    assert [int(due[tick - 1]) for tick in (64, 65, 66, 1250)] == [0, 1, 9, 9481]


def test_a_gate_without_environments_is_refused():
    with pytest.raises(ValueError, match="at least 1"):
        schedule.gate(0, 16, 64)
