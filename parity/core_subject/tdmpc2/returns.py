"""What the core counts of the episodes of an evaluation."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.spaces import Continuous
from core.tdmpc2 import evaluation as several
from core.tdmpc2.tasks import Tasks
from core.training import evaluation as single
from parity.core_subject.tdmpc2 import stage
from parity.operations import Answer


class Paying:
    """An environment whose episodes draw their lengths, and are paid them with their last step."""

    observation_size = 1
    action_space = Continuous(1)

    def __init__(self, longest: int):
        self._longest = longest

    def reset(self, key: Any) -> Any:
        """See `Environment`."""
        left = jax.random.randint(key, (), 1, self._longest + 1)
        return (left, left), jnp.zeros(1)

    def step(self, key: Any, state: Any, action: Any) -> Any:
        """See `Environment`."""
        del key, action
        length, left = state
        over = left == 1
        paid = jnp.where(over, 100.0 * length, 1.0)
        return (length, left - 1), jnp.zeros(1), paid, over, jnp.zeros((), bool)


def _played(count: int, episodes: int, longest: int, key: Any) -> Any:
    environment: Any = Paying(longest)
    if count == 1:

        def act(carry: Any, seen: Any, key: Any) -> Any:
            del key
            return carry, jnp.zeros((len(seen.reward), 1))

        found = single.play(act, environment, jnp.zeros(()), key, episodes)
        return jax.tree.map(lambda each: each[None], found)

    def act_of_tasks(carry: Any, observation: Any, t0: Any, key: Any) -> Any:
        del t0, key
        return carry, jnp.zeros(observation.shape)

    ones = (1,) * count
    tasks = Tasks(tuple(f"task{i}" for i in range(count)), ones, ones, ones)
    carry = jnp.zeros((count, episodes, 1, 1))
    environments = [environment] * count
    return several.play_tasks(act_of_tasks, tasks, environments, carry, key, episodes)


def evaluation_returns(tasks, episodes, longest, seed) -> Answer:
    """See `tdmpc2.evaluation_returns`."""
    call = stage.compiled(_played, tasks, episodes, longest)
    returns, lengths = call(jax.random.key(seed))
    return {"returns": np.asarray(returns), "lengths": np.asarray(lengths).astype(np.int64)}


TABLE = {"tdmpc2.evaluation_returns": evaluation_returns}
