"""How episodes begin and end around danijar/dreamerv3's own wrappers and driver, at its head.

Runs inside the side environment.
"""

import itertools

import elements
import embodied
import numpy as np


class _Scripted(embodied.Env):
    """An environment whose every reward, and whose end, is written down.

    Args:
        ends: The step on which an episode terminates.
        rewards: [S] by step; zeros after them.
    """

    def __init__(self, ends, rewards=()):
        self._starts, self._ends, self._rewards = itertools.count(1), ends, rewards
        self.made = self._start = 0

    @property
    def obs_space(self):
        return {}

    @property
    def act_space(self):
        return {"action": elements.Space(np.float32, (1,)), "reset": elements.Space(bool)}

    def step(self, action):
        first = bool(action["reset"])
        self.made = 0 if first else self.made + 1
        if first:
            self._start = next(self._starts)
        paid = 0 < self.made <= len(self._rewards)
        over = not first and self.made >= self._ends
        return {
            "start": np.int64(self._start),
            "reward": np.float32(self._rewards[self.made - 1] if paid else 0),
            "is_first": first,
            "is_last": over,
            "is_terminal": over,
        }

    def close(self):
        """Nothing is open."""


def action_repeat(actions, repeat, ends, limit, rewards):
    """See `environments.action_repeat`: no other wrapper of the reference repeats or limits."""
    inner = _Scripted(ends or len(rewards) + 1, rewards)
    env = embodied.wrappers.TimeLimit(inner, limit)
    env = embodied.wrappers.ActionRepeat(env, repeat)

    def step(reset):
        return env.step({"action": np.zeros(1, np.float32), "reset": reset})

    step(True)
    seen = []
    while len(seen) < actions:
        row = step(False)
        seen.append((row["reward"], inner.made, row["is_last"], row["is_terminal"]))
        if row["is_last"]:  # what is asked after the end is a reset to these wrappers
            seen += [seen[-1]] * (actions - len(seen))
    reward, steps, ended, terminated = zip(*seen, strict=True)
    return {
        "reward": np.asarray(reward, np.float32),
        "steps": np.asarray(steps, np.int64),
        "ended": np.asarray(ended, bool),
        "terminated": np.asarray(terminated, bool),
    }


def episode_starts(episodes, length, full_reset):
    """See `environments.episode_starts`: the scripted environment numbers its resets."""
    del full_reset

    def made():
        return embodied.wrappers.TimeLimit(_Scripted(length + 1), length)

    driver, seen = embodied.Driver([made], parallel=False), []
    driver.on_step(lambda row, worker: seen.append(row))
    driver.reset(lambda count: ())
    still = {"action": np.zeros((1, 1), np.float32)}
    driver(lambda carry, obs: (carry, dict(still), {}), episodes=episodes)
    first = [row["start"] for row in seen if row["is_first"]]
    last = [not row["is_terminal"] for row in seen if row["is_last"]]
    return {"start": np.asarray(first, np.int64), "truncated": np.asarray(last, bool)}


OPERATIONS = {
    "environments.action_repeat": action_repeat,
    "environments.episode_starts": episode_starts,
}
