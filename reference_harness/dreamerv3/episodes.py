"""How episodes begin and end around danijar/dreamerv3's own wrappers, paper era.

Runs inside the side environment.
"""

import itertools

import embodied
import numpy as np

from reference_harness.dreamerv3.rows import _Scripted, rows


def action_repeat(actions, repeat, ends, limit, rewards):
    """See `environments.action_repeat`: the wrappers in the order that `dmc` has them."""
    inner = _Scripted(itertools.count(1), ends or len(rewards) + 1, rewards, 1)
    env = embodied.wrappers.TimeLimit(inner, limit)
    if repeat > 1:
        env = embodied.wrappers.ActionRepeat(env, repeat)
    action = {"action": np.zeros(1, np.float32)}
    env.step({**action, "reset": True})
    seen = []
    for _ in range(actions):
        row = env.step({**action, "reset": False})
        seen.append((row["reward"], inner._step, row["is_last"], row["is_terminal"]))
        if row["is_last"]:  # what is asked after the end is a reset to these wrappers
            seen += [seen[-1]] * (actions - len(seen))
            break
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
    ticks = episodes * (length + 1)
    answer = rows(
        np.asarray([length + 1], np.int64),
        np.zeros((1, length + 1), np.float32),
        np.zeros((ticks, 1, 1), np.float32),
        length,
        1,
    )
    first, last = answer["is_first"][:, 0], answer["is_last"][:, 0]
    return {
        "start": answer["start"][first, 0].astype(np.int64),
        "truncated": ~answer["is_terminal"][last, 0],
    }


OPERATIONS = {
    "environments.action_repeat": action_repeat,
    "environments.episode_starts": episode_starts,
}
