"""When a run of the core learns whose episodes end by themselves."""

from __future__ import annotations

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from core.tdmpc2 import train
from core.tdmpc2.train_config import TrainConfig
from parity.core_subject.tdmpc2 import stage
from parity.core_subject.tdmpc2.idle import in_place_of_the_agent
from parity.core_subject.tdmpc2.seeding import Unseeded
from parity.operations import Answer


class Ending(Unseeded):
    """An environment whose episodes end by themselves."""

    def __init__(self, length: int, limit: int):
        super().__init__(limit, 1)
        self._length = length

    def step(self, key: Any, state: Any, action: Any) -> Any:
        """See `Environment`."""
        after, seen, reward, _, over = super().step(key, state, action)
        return after, seen, reward, after >= self._length, over


def episodic_run(ticks, seed_steps, length, limit, envs, horizon) -> Answer:
    """See `tdmpc2.episodic_run`."""
    config = TrainConfig(
        stage.config(horizon=horizon, batch_size=2),
        steps=ticks * envs,
        n_envs=envs,
        log_every=ticks * envs,
        seed_steps=seed_steps,
        episodic=True,
    )
    with in_place_of_the_agent(train):
        functions = train.make_train(config, Ending(length, limit))
    init, chunk = (
        stage.compiled(_Part(name, config, length, limit, getattr(functions, name)))
        for name in ("init", "chunk")
    )
    state = init(jax.vmap(jax.random.key)(np.zeros(1, np.uint32)))
    updates = np.zeros(ticks, np.int64)
    for tick in range(ticks):
        while int(state.tick) <= tick:
            state, _ = chunk(state, jnp.int32(1))
        updates[tick] = int(state.learners.train.updates[0])
    replay = state.learners.replay
    # The action of an episode's last row counts for nothing, and is stored as 0.
    action, ended = np.asarray(replay.action[0])[..., 0], np.asarray(replay.terminated[0])
    found = {
        "stepped": (~ended).sum(axis=0),
        "random": (~ended & (np.abs(action) <= 1)).sum(axis=0),
        "updates": updates,
    }
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


@dataclasses.dataclass(frozen=True)
class _Part:
    """A function of a run, which is the same for the same run."""

    name: str
    config: TrainConfig
    length: int
    limit: int
    function: Any = dataclasses.field(compare=False)

    def __call__(self, *arguments: Any) -> Any:
        """Calls it."""
        return self.function(*arguments)


TABLE = {"tdmpc2.episodic_run": episodic_run}
