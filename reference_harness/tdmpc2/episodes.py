"""How episodes begin and end, answered by nicklashansen/tdmpc2.

Runs inside the side environment. Actions go through the environment that the reference's own
function makes for a task of the control suite; in the place of the suite stands one that is
asked for a task and hands out a scripted simulation. Episodes begin in the stock trainer.
"""

from __future__ import annotations

from types import SimpleNamespace

import dm_env
import numpy as np
import torch
from trainer import online_trainer

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL
from reference_harness.tdmpc2.seeding import Still, wrapper
from reference_harness.tdmpc2.stock import ROOT, Quiet, load, module
from reference_harness.tdmpc2.surroundings import replaced

REPEAT = 2  # whatever the task, in every version

# Modules of tasks that the reference adds to the suite.
_OWN_TASKS = ("cheetah", "walker", "hopper", "reacher", "ball_in_cup", "pendulum", "fish")


class Scripted(dm_env.Environment):
    """A simulation whose every reward, and whose end, is written down; it goes on after that.

    Args:
        ends: The step on which it terminates.
        limit: The step after which it is cut off.
        rewards: [S] by step.
    """

    def __init__(self, ends, limit, rewards):
        self._ends, self._limit, self._rewards = ends, limit, rewards
        self.made = 0

    def observation_spec(self):
        """One number."""
        return {"state": dm_env.specs.Array((1,), np.float64)}

    def action_spec(self):
        """One number."""
        return dm_env.specs.BoundedArray((1,), np.float64, -1.0, 1.0)

    def _seen(self):
        return {"state": np.zeros(1)}

    def reset(self):
        """The first step of an episode."""
        self.made = 0
        return dm_env.restart(self._seen())

    def step(self, action):
        """The next one."""
        del action
        self.made += 1
        paid = float(self._rewards[self.made - 1])
        if self.made == self._ends:
            return dm_env.termination(paid, self._seen())
        if self.made == self._limit:
            return dm_env.truncation(paid, self._seen())
        return dm_env.transition(paid, self._seen())


def control_suite(simulation, task, asked):
    """What the reference makes of a task, with a simulation that stands for the suite's own.

    Args:
        simulation: Stands for it.
        task: By the reference's own name.
        asked: Is told which tasks the suite is asked for.
    """
    limit = "envs/wrappers/timeout.py"
    around = {
        "envs_tasks": module("envs.tasks", **dict.fromkeys(_OWN_TASKS)),
        "envs_exceptions": module("envs.exceptions", UnknownTaskError=ValueError),
    }
    if (ROOT / limit).exists():
        around["envs_wrappers_timeout"] = load(limit)
    made = load("envs/dmcontrol.py", envs=module("envs"), **around)

    def loading(domain, name, **options):
        del options
        asked.append(f"{domain}/{name}")
        return simulation

    settings = SimpleNamespace(task=task, seed=0, obs="state")
    with replaced((made.suite, "load", loading)):
        return made.make_env(settings)


def action_repeat(actions, repeat, ends, limit, rewards):
    """See `environments.action_repeat`."""
    if repeat != REPEAT:
        raise ValueError(f"the reference takes every action {REPEAT} times, not {repeat}")
    simulation = Scripted(ends, limit, rewards)
    env = control_suite(simulation, "walker-walk", [])
    env.reset()
    seen = []
    while len(seen) < actions:
        _, reward, done, info = env.step(np.zeros(1, np.float32))
        seen.append((reward, simulation.made, done, bool(info["terminated"])))
        if done:  # the trainer resets it
            seen += [seen[-1]] * (actions - len(seen))
    reward, steps, ended, terminated = zip(*seen, strict=True)
    return {
        "reward": np.asarray(reward, np.float32),
        "steps": np.asarray(steps, np.int64),
        "ended": np.asarray(ended, bool),
        "terminated": np.asarray(terminated, bool),
    }


def suite_asked(task):
    """See `environments.suite_asked`."""
    names, short = [], task.replace("ball_in_cup", "cup").replace("/", "-").replace("_", "-")
    control_suite(Scripted(0, 0, ()), short, names)
    right = names.count(task)
    found = {"asked": right, "others": len(names) - right}
    return {name: np.asarray(count, np.int64) for name, count in found.items()}


class _Numbered(Still):
    """An environment that numbers its episodes, and shows the number."""

    def __init__(self, length):
        super().__init__(1)
        self._length, self._number, self._time = length, 0, 0

    def _shown(self):
        return np.full(4, self._number, np.float32)

    def reset(self):
        """The next episode."""
        self._number, self._time = self._number + 1, 0
        return self._shown()

    def step(self, action):
        """Cut off after `length` steps."""
        _, reward, _, info = super().step(action)
        self._time += 1
        return self._shown(), reward, self._time == self._length, info


def episode_starts(episodes, length, full_reset):
    """See `environments.episode_starts`: as they come into the stock trainer's replay."""
    del full_reset
    stored = []
    steps = episodes * length  # the last of which stores the last episode
    settings = agent.config(
        **{**SMALL, "steps": steps, "seed_steps": steps + 1, "eval_episodes": 0},
        save_video=False,
    )
    replay = Quiet()
    replay.add = stored.append
    trainer = online_trainer.OnlineTrainer(
        cfg=settings,
        env=wrapper.TensorWrapper(_Numbered(length)),
        agent=SimpleNamespace(model=SimpleNamespace(total_params=0)),
        buffer=replay,
        logger=Quiet(),
    )
    trainer.eval = dict
    trainer.train()
    never = torch.zeros(1)
    return {
        "start": np.asarray([int(one["obs"][0, 0]) for one in stored], np.int64),
        "truncated": np.asarray([not one.get("terminated", never)[-1] for one in stored], bool),
    }


OPERATIONS = {
    "environments.action_repeat": action_repeat,
    "environments.episode_starts": episode_starts,
    "environments.suite_asked": suite_asked,
}
