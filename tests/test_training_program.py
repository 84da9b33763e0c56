"""What the training program stores and counts, worked out again beside it.

The program acts with the networks themselves; an update, which takes the compiler longest, is
replaced by one that moves the parameters visibly. The replay's rows are compared with the rules
of the environment, and its latents and actions with the agent acting on those rows one by one.
"""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from dreamerv3_batches import QUICK, SMALL
from jax.experimental import io_callback
from noisy_environment import NoisyEnvironment, ends

from core.dreamerv3 import train
from core.dreamerv3.agent import ActingNoise, Agent
from core.dreamerv3.config import Config
from core.dreamerv3.train_config import TrainConfig
from core.dreamerv3.types import Latent
from core.environments.rows import Observed
from core.spaces import Continuous, Discrete
from core.training.program import evaluation_figures

LAYERS = dict.fromkeys(("prior_layers", "enc_layers", "dec_layers", "actor_layers"), 1)
AGENT = Config(**SMALL, **LAYERS, batch_size=3, batch_length=14, train_ratio=14.0)
N_ENVS, TICKS, BEFORE_UPDATES, WINDOW = 3, 26, 14, 8
# A capacity that the environments can not share evenly, and that the run exceeds.
CONFIG = TrainConfig(
    AGENT,
    steps=N_ENVS * TICKS,
    n_envs=N_ENVS,
    replay_capacity=N_ENVS * 19 + 1,
    log_every=N_ENVS * WINDOW,
)


class Noting(Agent):
    """The agent, which tells the noise that it acts with, and learns nothing of use."""

    told: ClassVar[list[ActingNoise]] = []

    def acting_noise(self, key, n):
        noise = super().acting_noise(key, n)
        io_callback(lambda *told: self.told.append(ActingNoise(*told)), None, *noise, ordered=True)
        return noise

    def update(self, state, rows, context, noise):
        number = state.updates + 1
        params = jax.tree.map(lambda x: x + 0.01, state.params)
        shape = rows.is_first.shape
        latent = Latent(jnp.zeros((*shape, 16)), jnp.zeros((*shape, 3), jnp.int32))
        moved = state._replace(params=params, updates=number)
        return moved, latent, {"opt_loss": number.astype(jnp.float32)}


class Played(NamedTuple):
    """A run, in numpy; times first, then environments."""

    agent: Agent
    params: list[dict]  # before every tick
    noise: list[ActingNoise]
    early: tuple  # rows and latents before the first update
    late: tuple  # those that are left at the end
    capacity: int
    last: Observed  # the row after the last one
    figures: list[dict]  # after every tick
    updates: list[int]  # likewise


def contents(state):
    """Rows and latents that the replay holds, from the oldest."""
    ring = state.learners.replay
    (added,), (_, _, capacity) = ring.added.tolist(), ring.rows.reward.shape
    slots = np.arange(max(0, added - capacity), added) % capacity
    held = jax.tree.map(lambda x: np.asarray(x)[0].swapaxes(0, 1)[slots], (ring.rows, ring.latents))
    return held, capacity


@pytest.fixture(scope="module", params=[Discrete(3), Continuous(2)], ids=["discrete", "continuous"])
def played(request):
    space, agent = request.param, None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(train, "Agent", Noting)
        patch.setattr(Noting, "told", [])
        environment = NoisyEnvironment(space)
        functions = train.make_train(CONFIG, environment)
        state = jax.jit(functions.init, compiler_options=QUICK)(jax.random.key(7)[None])
        chunk = jax.jit(functions.chunk, compiler_options=QUICK)
        agent = Agent(AGENT, environment.observation_size, space)
        params, figures, updates, early = [], [], [], None
        for tick in range(TICKS):
            if tick == BEFORE_UPDATES:
                early, _ = contents(state)
            params.append(jax.tree.map(lambda x: np.asarray(x[0]), state.learners.train.params))
            state, metrics = chunk(state, jnp.int32(1))
            figures.append({name: float(value[0]) for name, value in metrics.items()})
            updates.append(int(state.learners.train.updates[0]))
        jax.effects_barrier()
        noise = list(Noting.told)
    late, capacity = contents(state)
    last = jax.tree.map(lambda x: np.asarray(x)[0], state.learners.environments.row)
    return Played(agent, params, noise, early, late, capacity, last, figures, updates)


def whole(played):
    """All rows of the run, of which the ring has overwritten the first."""
    return jax.tree.map(
        lambda a, b: np.concatenate([a[: TICKS - played.capacity], b]),
        played.early[0],
        played.late[0],
    )


def test_rows_follow_from_the_stored_actions(played):
    rows = whole(played)
    assert rows.reward.shape == (TICKS, N_ENVS)
    start, time, drawn = np.moveaxis(rows.observation[..., :3], -1, 0)
    acted = rows.observation[..., 3:]
    first = np.concatenate([np.ones((1, N_ENVS), bool), rows.is_last[:-1]])
    np.testing.assert_array_equal(rows.is_first, first)
    np.testing.assert_array_equal(rows.observation[first][:, 1:], 0)
    np.testing.assert_array_equal(rows.reward, np.where(first, 0, drawn + time))
    terminated, truncated = ends(start, time)
    np.testing.assert_array_equal(rows.is_last, ~first & (terminated | truncated))
    np.testing.assert_array_equal(rows.is_terminal, ~first & terminated)
    # What a step leaves as it was, what it counts, and what it was given.
    goes_on = ~first[1:]
    np.testing.assert_array_equal(start[1:][goes_on], start[:-1][goes_on])
    np.testing.assert_array_equal(time[1:][goes_on], time[:-1][goes_on] + 1)
    actions = rows.action.reshape(TICKS, N_ENVS, -1)
    np.testing.assert_array_equal(acted[1:][goes_on], actions[:-1][goes_on])
    # Environments and steps are told apart, and episodes end in both ways.
    assert len(np.unique(drawn[~first])) == (~first).sum()
    assert len(np.unique(start[first])) == first.sum()
    assert set(rows.is_terminal[rows.is_last]) == {False, True}
    assert first[1:].any(0).all()


def test_actions_and_latents_are_of_the_row_that_was_seen(played):
    agent, rows, (_, latents) = played.agent, whole(played), played.early
    assert len(latents.deter) == BEFORE_UPDATES
    act = jax.jit(agent.act, compiler_options=QUICK)
    carry = agent.initial_carry(N_ENVS)
    for t, (params, noise) in enumerate(zip(played.params, played.noise, strict=True)):
        carry, action, latent = act(params, carry, rows.observation[t], rows.is_first[t], noise)
        ended = rows.is_last[t]
        np.testing.assert_allclose(rows.action[t][~ended], action[~ended], rtol=1e-5, atol=1e-6)
        np.testing.assert_array_equal(rows.action[t][ended], 0)
        if t < BEFORE_UPDATES:  # those that no update has replaced yet
            np.testing.assert_allclose(latents.deter[t], latent.deter, rtol=1e-5, atol=1e-6)
            np.testing.assert_array_equal(latents.stoch[t], latent.stoch)
    # All of it could have been told apart, but for what follows from nothing.
    told_apart = latents.deter[~rows.is_first[:BEFORE_UPDATES]]
    assert len(np.unique(told_apart, axis=0)) == len(told_apart) > 20
    assert len(np.unique(rows.action[~rows.is_last])) >= 3
    assert rows.is_last[:BEFORE_UPDATES].any(0).all()


def test_the_ring_holds_each_environments_share_of_the_capacity(played):
    assert played.capacity == CONFIG.ring_rows == 20
    assert len(played.late[0].reward) == 20
    seen = BEFORE_UPDATES - (TICKS - 20)
    for early, late in zip(played.early[0], played.late[0], strict=True):
        np.testing.assert_array_equal(early[TICKS - 20 :], late[:seen])


def test_losses_are_means_over_the_updates_of_the_window(played):
    # The first update comes with row 45, and each is trained on 42 rows for 3 new ones.
    assert played.updates == [max(0, tick - 13) for tick in range(TICKS)]
    for tick, figures in enumerate(played.figures):
        before = ([0, *played.updates])[tick // WINDOW * WINDOW]
        numbers = range(before + 1, played.updates[tick] + 1)
        mean = np.mean(numbers) if numbers else np.nan
        np.testing.assert_allclose(figures["train/opt_loss"], mean, rtol=1e-6)


def test_episode_figures_are_those_of_the_window(played):
    rows = whole(played)
    reward = np.concatenate([rows.reward, played.last.reward[None]])
    is_first = np.concatenate([rows.is_first, played.last.is_first[None]])
    is_last = np.concatenate([rows.is_last, played.last.is_last[None]])
    ended = []  # row of the last step, environment, return, length
    for row, environment in zip(*np.nonzero(is_last), strict=True):
        begun = np.nonzero(is_first[:row, environment])[0][-1]
        score = reward[begun : row + 1, environment].sum()
        ended.append((row, environment, score, row - begun))
    for tick, figures in enumerate(played.figures):
        # The step of a tick leads to the next row.
        begin = tick // WINDOW * WINDOW + 1
        window = [entry for entry in ended if begin <= entry[0] <= tick + 1]
        assert figures["episode/count"] == len(window)
        for name, column in (("episode/return", 2), ("episode/length", 3)):
            mean = np.mean([entry[column] for entry in window]) if window else np.nan
            np.testing.assert_allclose(figures[name], mean, rtol=1e-6)
        recent = [
            [entry[2] for entry in ended if entry[1] == environment and entry[0] <= tick + 1][-10:]
            for environment in range(N_ENVS)
        ]
        mean = np.mean([np.mean(scores) for scores in recent]) if all(recent) else np.nan
        np.testing.assert_allclose(figures["episode/recent_return"], mean, rtol=1e-6)


def test_figures_of_an_evaluation_are_means_over_its_episodes():
    figures = evaluation_figures(np.array([[1.0, 5.0], [2.0, 2.0]]), np.array([[3, 4], [7, 9]]))
    assert figures["eval/return"].tolist() == [3.0, 2.0]
    assert figures["eval/length"].tolist() == [3.5, 8.0]
    assert figures["eval/returns"].tolist() == [[1.0, 5.0], [2.0, 2.0]]
    assert figures["eval/lengths"].tolist() == [[3, 4], [7, 9]]
