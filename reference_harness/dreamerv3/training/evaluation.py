"""Evaluation of a stock agent with its latest parameters. Runs inside the side environment.

The compiled policy is called directly. Going through the agent's own `policy` would draw from
the generator that training draws from, and would swap the acting parameters, which lag behind
(row D1), at another time than in a stock run.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from dreamerv3 import main

from reference_harness.dreamerv3.training.cartpole import LIMIT
from reference_harness.dreamerv3.training.environment import CartPoleEnvironment

# Tells the generators of an evaluation from those of the training environments.
_STREAM, _POLICY = 7_000_001, 1_000_000

_RESET = {"action": np.int32(0), "reset": True}


class Evaluation(NamedTuple):
    """Return and length of each episode."""

    returns: list[float]
    lengths: list[int]


def evaluate(agent: Any, config: Any, seed: int, episodes: int) -> Evaluation:
    """Plays one episode in each of a number of fresh environments, side by side.

    Every evaluation of a seed has the same initial states and the same draws; only the
    parameters differ. An episode that is over is shown its last row until all are over.

    Args:
        agent: The stock `JAXAgent`; nothing of it is changed.
        config: The run's configuration.
        seed: The run's.
        episodes: How many.
    """
    rng = np.random.default_rng([seed, _STREAM, _POLICY])

    def next_seed() -> Any:
        drawn = rng.integers(0, np.iinfo(np.uint32).max, 2, np.uint32)
        return jax.device_put(drawn, agent.policy_sharded)

    environments = [
        main.wrap_env(CartPoleEnvironment(np.random.default_rng([seed, _STREAM, index])), config)
        for index in range(episodes)
    ]
    # Copies: the next training step deletes the policy's arrays.
    params = {name: agent.params[name].copy() for name in agent.policy_keys}
    carry = agent._init_policy(params, next_seed(), episodes)
    rows = [environment.step(_RESET) for environment in environments]
    returns, lengths, done = [0.0] * episodes, [0] * episodes, [False] * episodes
    for _ in range(LIMIT):
        stacked = {name: np.stack([row[name] for row in rows]) for name in rows[0]}
        seen = jax.device_put(agent._filter_data(stacked), agent.policy_sharded)
        acts, _, carry = agent._policy(params, seen, carry, next_seed(), "eval")
        actions = np.asarray(acts["action"])
        for index, environment in enumerate(environments):
            if done[index]:
                continue
            rows[index] = environment.step({"action": actions[index], "reset": False})
            returns[index] += float(rows[index]["reward"])
            lengths[index] += 1
            done[index] = bool(rows[index]["is_last"])
        if all(done):
            break
    return Evaluation(returns, lengths)
