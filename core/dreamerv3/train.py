"""Training as one program: act, store, learn, for a number of ticks, for all seeds at once.

A tick adds one row of every environment and runs the updates that are due. Unlike the
reference, where threads interleave, everything is synchronous: a tick acts with the
parameters of the last update, and the updates of a tick follow all of its rows (rows D1
and D3). The ring has its final size from the start, and the number of ticks of a chunk is
an argument and not a shape, so that one compilation serves a run however it is divided.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.dreamerv3 import normaliser, replay
from core.dreamerv3.agent import Agent, Carry, TrainState
from core.dreamerv3.metrics import watched
from core.dreamerv3.replay import ReplayState
from core.dreamerv3.resumption import fitted
from core.dreamerv3.train_config import TrainConfig
from core.dreamerv3.types import Rows
from core.environments import Environment, rows
from core.training import windows
from core.training.evaluation import play
from core.training.program import Metrics, RunState, Train, for_seeds

# Which of a seed's streams of random numbers.
_INIT, _TICK, _UPDATE, _EVALUATION = range(4)


class Learner(NamedTuple):
    """One seed of a run. In a `RunState`, every array has a leading axis of seeds.

    Attributes:
        key: Where all of the seed's random numbers come from; never changes.
        train: Parameters, optimiser and normaliser.
        environments: One collector per environment.
        carry: What the acting agent remembers of each.
        replay: The rings.
        episodes: Returns of the training episodes.
        sums: Metrics of the window.
        fault: The first loss that was not finite.
    """

    key: PRNGKeyArray
    train: TrainState
    environments: rows.RowState
    carry: Carry
    replay: ReplayState
    episodes: windows.Episodes
    sums: windows.Sums
    fault: windows.Fault


def make_train(config: TrainConfig, environment: Environment) -> Train:
    """The functions of a run.

    Args:
        config: What the run is.
        environment: One environment; every seed gets `config.n_envs` of it.
    """
    agent = Agent(config.agent, environment.observation_size, environment.action_space)
    batch, length = config.agent.batch_size, config.agent.batch_length
    window = config.ticks_of(config.log_every)
    update = jax.jit(agent.update)  # so that it is traced once for all that follows

    def init_learner(key: PRNGKeyArray) -> Learner:
        for_agent, for_rows = jax.random.split(jax.random.fold_in(key, _INIT))
        return Learner(
            key=key,
            train=agent.init(for_agent),
            environments=jax.vmap(lambda k: rows.init(environment, k))(
                jax.random.split(for_rows, config.n_envs)
            ),
            carry=agent.initial_carry(config.n_envs),
            replay=replay.init(
                config.ring_rows,
                config.n_envs,
                environment.observation_size,
                environment.action_space,
                config.agent.deter,
                config.agent.stoch,
                classes=config.agent.classes,
            ),
            episodes=windows.no_episodes(config.n_envs),
            sums=windows.no_sums(metric_names),
            fault=windows.no_fault(),
        )

    def collect(learner: Learner, tick: Int[Array, ""]) -> Learner:
        key = jax.random.fold_in(jax.random.fold_in(learner.key, _TICK), tick)
        seen = rows.current(learner.environments)
        carry, action, latent = agent.act(
            learner.train.params,
            learner.carry,
            seen.observation,
            seen.is_first,
            agent.acting_noise(key, config.n_envs),
        )
        row = Rows(
            seen.observation,
            rows.zero_on_last(action, seen.is_last),
            seen.reward,
            seen.is_first,
            seen.is_last,
            seen.is_terminal,
        )
        environments = jax.vmap(lambda state, a: rows.advance(environment, state, a))(
            learner.environments, action
        )
        next_row = rows.current(environments)
        episodes, sums = windows.start_window(tick % window == 0, learner.episodes, learner.sums)
        return learner._replace(
            environments=environments,
            carry=carry,
            replay=replay.add(learner.replay, row, latent),
            episodes=windows.add_step(
                episodes, next_row.reward, next_row.is_first, next_row.is_last
            ),
            sums=sums,
        )

    def learn(learner: Learner, number: Int[Array, ""]) -> Learner:
        key = jax.random.fold_in(jax.random.fold_in(learner.key, _UPDATE), number)
        for_batch, for_noise = jax.random.split(key)
        trained, context, where = replay.sample(learner.replay, for_batch, batch, length)
        noise = agent.draw_noise(for_noise, batch, length)
        train, latent, metrics = update(learner.train, trained, context, noise)
        return learner._replace(
            train=train,
            replay=replay.write_back(learner.replay, where, latent),
            sums=windows.add_update(learner.sums, metrics),
            fault=windows.check(learner.fault, metrics, number + 1, terms),
        )

    def tick(state: RunState) -> RunState:
        # How much is due is the same for all seeds: outside their `vmap`, the loop stays a
        # loop instead of running masked over everything that it carries.
        learners = for_seeds(collect, state.learners, state.tick)
        learners = jax.lax.fori_loop(
            config.updates_after(state.tick),
            config.updates_after(state.tick + 1),
            lambda number, seeds: for_seeds(learn, seeds, number),
            learners,
        )
        return RunState(state.tick + 1, learners)

    def init(keys: PRNGKeyArray) -> RunState:
        return RunState(jnp.zeros((), jnp.int32), jax.vmap(init_learner)(keys))

    def chunk(state: RunState, ticks: Int[Array, ""]) -> tuple[RunState, Metrics]:
        state = jax.lax.fori_loop(0, ticks, lambda _, carried: tick(carried), state)
        learners = state.learners
        metrics = jax.vmap(windows.mean_metrics)(learners.sums)
        metrics |= jax.vmap(windows.episode_metrics)(learners.episodes)
        limit = config.agent.retnorm_limit
        return state, metrics | normaliser.metrics(learners.train.normaliser, limit=limit)

    def evaluate(state: RunState) -> tuple[Float[Array, "seeds n"], Int[Array, "seeds n"]]:
        def one(learner: Learner) -> tuple[Float[Array, " n"], Int[Array, " n"]]:
            def act(carry: Carry, seen: rows.Observed, key: PRNGKeyArray) -> tuple[Carry, Array]:
                noise = agent.acting_noise(key, config.eval_episodes)
                params = learner.train.params
                return agent.act(params, carry, seen.observation, seen.is_first, noise)[:2]

            # The same at every evaluation: initial states and draws.
            key = jax.random.fold_in(learner.key, _EVALUATION)
            carry = agent.initial_carry(config.eval_episodes)
            return play(act, environment, carry, key, config.eval_episodes)

        return jax.vmap(one)(state.learners)

    def fit(state: RunState) -> RunState:
        ring = fitted(state.learners.replay, config.ring_rows)
        return state._replace(learners=state.learners._replace(replay=ring))

    metric_names = _metric_names(agent, update)
    terms = watched(metric_names)
    quiet = config.ticks_without_updates
    return Train(init, chunk, evaluate, terms, "opt_loss", quiet, fit)


def _metric_names(agent: Agent, update: Callable[..., Any]) -> dict[str, Any]:
    """The metrics of an update, without running one."""
    config = agent.config

    def once(key: PRNGKeyArray) -> dict[str, Array]:
        ring = replay.init(
            config.batch_length + 1,
            1,
            agent.observation_size,
            agent.action_space,
            config.deter,
            config.stoch,
        )
        trained, context, _ = replay.sample(ring, key, config.batch_size, config.batch_length)
        noise = agent.draw_noise(key, config.batch_size, config.batch_length)
        return update(agent.init(key), trained, context, noise)[2]

    return jax.eval_shape(once, jax.eval_shape(jax.random.key, 0))
