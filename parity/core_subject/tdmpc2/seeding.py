"""What of a run of the core its seed decides."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.spaces import Continuous
from core.tdmpc2 import train
from core.tdmpc2.train_config import TrainConfig
from parity.core_subject.tdmpc2 import stage
from parity.core_subject.tdmpc2.idle import in_place_of_the_agent
from parity.operations import Answer


class Unseeded:
    """An environment that draws nothing; pays nothing."""

    observation_size = 1

    def __init__(self, length: int, actions: int):
        self.episode_length, self.action_space = length, Continuous(actions)

    def reset(self, key: Any) -> Any:
        """See `Environment`."""
        del key
        return jnp.zeros((), jnp.int32), jnp.zeros(1)

    def step(self, key: Any, state: Any, action: Any) -> Any:
        """See `Environment`."""
        del key, action
        no, over = jnp.zeros((), bool), state + 1 >= self.episode_length
        return state + 1, jnp.zeros(1), jnp.zeros(()), no, over


def _first_actions(steps: int, actions: int, keys: jax.Array) -> tuple[Any, Any]:
    """The random actions of a run, and the parameters that it begins with."""
    config = TrainConfig(
        stage.config(horizon=1, batch_size=2),
        steps=steps,
        log_every=steps,
        replay_capacity=steps,
        seed_steps=steps,
    )
    with in_place_of_the_agent(train):
        functions = train.make_train(config, Unseeded(steps, actions))
    start = functions.init(keys)
    state, _ = functions.chunk(start, jnp.int32(steps))
    replay = state.learners.replay
    return replay.action[0, 0, 0], start.learners.train.params


def repeated_seed_phase(seed: int, steps: int, actions: int) -> Answer:
    """See `tdmpc2.repeated_seed_phase`."""
    run = stage.compiled(_first_actions, steps, actions)
    runs = [
        [np.asarray(x) for x in run(jax.vmap(jax.random.key)(np.asarray([s], np.uint32)))]
        for s in (seed, seed, seed + 1)
    ]
    return counted(runs)


def counted(runs: list[list[np.ndarray]]) -> Answer:
    """What three runs, the actions and first parameters of each, have in common."""
    (first, its), (second, repeated), (third, others) = runs
    found = {
        "repeated": np.count_nonzero(first == second),
        "other": np.count_nonzero(first == third),
        "outside": sum(np.count_nonzero(np.abs(x) > 1) for x in (first, second, third)),
        "parameters": np.array_equal(its, repeated),
        "changed": not np.array_equal(its, others),
    }
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


TABLE = {"tdmpc2.repeated_seed_phase": repeated_seed_phase}
