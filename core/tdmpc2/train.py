"""Training as one program: act, store, learn, for a number of ticks, for all seeds at once.

A tick is a step of every environment and the updates that follow it. Whether its action is
random or planned, and how many updates are due, are outside the `vmap` over seeds: the one
stays a branch and the other a loop, where batched they would cost both branches and a masked
loop. The replay has its final size from the start, and the number of ticks of a chunk is an
argument, so that one compilation serves a run however it is divided.

The burst of updates after the seed phase can take an hour. A chunk of n ticks therefore runs
as many updates as n ordinary ticks have, and no more: the rest of a tick is left to the next.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.config import ConfigError
from core.environments import rows
from core.environments.environment import TimedEnvironment
from core.spaces import Continuous
from core.tdmpc2 import terminations
from core.tdmpc2.agent import Agent, TrainState
from core.tdmpc2.episodic import Episodic
from core.tdmpc2.intermediates import watched
from core.tdmpc2.timed import Timed
from core.tdmpc2.train_config import TrainConfig
from core.training import windows
from core.training.evaluation import play
from core.training.program import Metrics, RunState, Train, for_seeds

# Which of a seed's streams of random numbers.
_INIT, _TICK, _UPDATE, _EVALUATION = range(4)


class Learner(NamedTuple):
    """One seed of a run. In a `RunState`, every array has a leading axis of seeds.

    Attributes:
        key: Where all of the seed's random numbers come from; never changes.
        train: Parameters, optimisers and scale.
        environments: One collector per environment.
        carry: The mean of the last plan in each (row T7).
        replay: What it learns from.
        due: Updates that the run should have had by now; fewer only within a burst.
        episodes: Returns of the training episodes.
        sums: Metrics of the window.
        fault: The first loss that was not finite.
        terminations: Ends of episodes that should not have been.
    """

    key: PRNGKeyArray
    train: TrainState
    environments: rows.RowState
    carry: Float[Array, "n_envs H actions"]
    replay: Any
    due: Int[Array, ""]
    episodes: windows.Episodes
    sums: windows.Sums
    fault: windows.Fault
    terminations: terminations.Terminations


def make_agent(config: TrainConfig, environment: TimedEnvironment) -> Agent:
    """The agent of a run.

    Raises:
        ConfigError: It can not act in this environment.
    """
    space, length = environment.action_space, environment.episode_length
    if not isinstance(space, Continuous):
        raise ConfigError(
            "TD-MPC2 plans continuous actions, and those of this environment are discrete; choose "
            "another --env, such as Pendulum-v1"
        )
    if config.agent.horizon > length:
        raise ConfigError(
            f"horizon must not be above the {length:,} steps of an episode: it is "
            f"{config.agent.horizon:,}"
        )
    return Agent(config.agent, environment.observation_size, space.size, length)


def make_train(config: TrainConfig, environment: TimedEnvironment) -> Train:
    """The functions of a run.

    Args:
        config: What the run is.
        environment: One environment; every seed gets `config.n_envs` of it.

    Raises:
        ConfigError: See `make_agent` and `TrainConfig.schedule`.
    """
    agent, schedule = make_agent(config, environment), config.schedule(environment)
    n_envs = config.n_envs
    mode = (Episodic if config.episodic else Timed)(config, environment, schedule)
    window = config.ticks_of(config.log_every)
    terms = watched(config.agent)

    def init_learner(key: PRNGKeyArray) -> Learner:
        for_agent, for_rows = jax.random.split(jax.random.fold_in(key, _INIT))
        return Learner(
            key=key,
            train=agent.init(for_agent),
            environments=jax.vmap(lambda k: rows.init(environment, k))(
                jax.random.split(for_rows, n_envs)
            ),
            carry=agent.initial_carry(n_envs),
            replay=mode.replay(agent.action_size),
            due=jnp.zeros((), jnp.int32),
            episodes=windows.no_episodes(n_envs),
            sums=windows.no_sums(dict.fromkeys(terms)),
            fault=windows.no_fault(),
            terminations=terminations.none(),
        )

    def act(
        learner: Learner, seen: rows.Observed, key: PRNGKeyArray, tick: Int[Array, ""]
    ) -> tuple[Float[Array, "n_envs H actions"], Float[Array, "n_envs actions"]]:
        def at_random() -> tuple[Array, Array]:
            shape = (n_envs, agent.action_size)
            return learner.carry, jax.random.uniform(key, shape, minval=-1.0)

        def planned() -> tuple[Array, Array]:
            noise = agent.acting_noise(key, n_envs)
            params = learner.train.params
            return agent.act(params, learner.carry, seen.observation, seen.is_first, noise)

        return jax.lax.cond(schedule.is_random(tick), at_random, planned)

    def collect(learner: Learner, tick: Int[Array, ""]) -> Learner:
        key = jax.random.fold_in(jax.random.fold_in(learner.key, _TICK), tick)
        seen = rows.current(learner.environments)
        carry, action = act(learner, seen, key, tick)
        returns, sums = windows.start_window(tick % window == 0, learner.episodes, learner.sums)
        learner = learner._replace(carry=carry, episodes=returns, sums=sums)
        return mode.step(learner, seen, action, tick)

    def learn(learner: Learner, tick: Int[Array, ""]) -> Learner:
        number = learner.train.updates
        key = jax.random.fold_in(jax.random.fold_in(learner.key, _UPDATE), number)
        for_batch, for_noise = jax.random.split(key)
        batch = mode.sample(learner.replay, tick + 1, for_batch)
        trained, metrics = agent.update(learner.train, batch, agent.update_noise(for_noise))
        after = learner._replace(
            train=trained,
            sums=windows.add_update(learner.sums, metrics),
            fault=windows.check(learner.fault, metrics, number + 1, terms),
        )
        return mode.where_due(after, learner)

    def advance(state: RunState, left: Int[Array, ""]) -> tuple[RunState, Int[Array, ""]]:
        """A tick, or its rest, with so many updates at most; and how many that leaves."""
        began = _owed(state.learners) > 0
        learners = jax.lax.fori_loop(
            0,
            jnp.where(began, 0, 1),
            lambda _, seeds: for_seeds(collect, seeds, state.tick),
            state.learners,
        )
        owed = _owed(learners)
        now = jnp.minimum(owed, left)
        learners = jax.lax.fori_loop(
            0, now, lambda _, seeds: for_seeds(learn, seeds, state.tick), learners
        )
        return RunState(state.tick + (owed <= left), learners), left - now

    def init(keys: PRNGKeyArray) -> RunState:
        return RunState(jnp.zeros((), jnp.int32), jax.vmap(init_learner)(keys))

    def chunk(state: RunState, ticks: Int[Array, ""]) -> tuple[RunState, Metrics]:
        end, most = state.tick + ticks, ticks * schedule.per_step
        state, _ = jax.lax.while_loop(
            lambda now: (now[0].tick < end) & (now[1] > 0),
            lambda now: advance(*now),
            (state, jnp.asarray(most, jnp.int32)),
        )
        learners = state.learners
        metrics = jax.vmap(windows.mean_metrics)(learners.sums)
        return state, metrics | jax.vmap(windows.episode_metrics)(learners.episodes)

    def evaluate(state: RunState) -> tuple[Float[Array, "seeds n"], Int[Array, "seeds n"]]:
        n = config.eval_episodes

        def one(
            learner: Learner, tick: Int[Array, ""]
        ) -> tuple[Float[Array, " n"], Int[Array, " n"]]:
            def act(carry: Array, seen: rows.Observed, key: PRNGKeyArray) -> tuple[Array, Array]:
                noise = agent.acting_noise(key, n, explore=False)
                params = learner.train.params
                return agent.act(params, carry, seen.observation, seen.is_first, noise)

            # Other initial states at every evaluation, the same in every run (row T9).
            key = jax.random.fold_in(jax.random.fold_in(learner.key, _EVALUATION), tick)
            return play(act, environment, agent.initial_carry(n), key, n)

        return for_seeds(one, state.learners, state.tick)

    def fit(state: RunState) -> RunState:
        replay = mode.fitted(state.learners.replay, int(state.tick))
        return state._replace(learners=state.learners._replace(replay=replay))

    def check(state: RunState, seeds: tuple[int, ...]) -> None:
        terminations.refuse(state.learners.terminations, seeds, environment.episode_length)

    return Train(
        init,
        chunk,
        evaluate,
        terms=terms,
        loss="total_loss",
        ticks_without_updates=schedule.last_random,
        fit=fit,
        check=check,
        shareable=not config.episodic,
    )


def _owed(learners: Learner) -> Int[Array, ""]:
    """Updates that are due, of the seed with the most."""
    return jnp.max(learners.due - learners.train.updates)
