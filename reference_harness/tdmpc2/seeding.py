"""What of a run its seed decides, answered by nicklashansen/tdmpc2.

Runs inside the side environment. The seed is set by the reference's own function, the run is its
own trainer around its own wrapper of environments; the environment below it is a stub.
"""

from __future__ import annotations

import numpy as np
from common import seed as seeds
from trainer import online_trainer

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL
from reference_harness.tdmpc2.stock import Quiet, load
from reference_harness.tdmpc2.surroundings import array

wrapper = load("envs/wrappers/tensor.py")


class Still(wrapper.gym.Env):
    """An environment in which nothing happens, and that notes what it is asked to do."""

    def __init__(self, actions):
        self.action_space = wrapper.gym.spaces.Box(-1, 1, (actions,), np.float32)
        self.observation_space = wrapper.gym.spaces.Box(-1, 1, (4,), np.float32)
        self.taken = []

    def reset(self):
        """Zeros."""
        return np.zeros(4, np.float32)

    def step(self, action):
        """Zeros."""
        self.taken.append(action.copy())
        return np.zeros(4, np.float32), 0.0, False, {"success": 0.0, "terminated": 0.0}


class Learner(Quiet):
    """An agent that is asked for nothing but to be shown."""

    def __init__(self, model):
        self.model = model


def _run(seed, steps, actions):
    """The random actions of a run, and the parameters that it begins with."""
    seeds.set_seed(seed)
    below = Still(actions)
    # In the order in which the reference's program makes them.
    env = wrapper.TensorWrapper(below)
    settings = agent.config(
        action_size=actions,
        **{**SMALL, "latent_dim": 8, "simnorm_dim": 8, "steps": steps - 1, "seed_steps": steps},
        **{"eval_episodes": 0, "save_video": False},
    )
    built = agent.build(settings)
    trainer = online_trainer.OnlineTrainer(
        cfg=settings, env=env, agent=Learner(built.model), buffer=Quiet(), logger=Quiet()
    )
    trainer.eval = dict
    trainer.train()
    known = agent.named_parameters(built.model)
    return np.stack(below.taken), np.concatenate([array(p).ravel() for p in known.values()])


def repeated_seed_phase(seed, steps, actions):

    (first, its), (second, repeated), (third, others) = (
        _run(s, steps, actions) for s in (seed, seed, seed + 1)
    )
    found = {
        "repeated": np.count_nonzero(first == second),
        "other": np.count_nonzero(first == third),
        "outside": sum(np.count_nonzero(np.abs(x) > 1) for x in (first, second, third)),
        "parameters": np.array_equal(its, repeated),
        "changed": not np.array_equal(its, others),
    }
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


OPERATIONS = {"tdmpc2.repeated_seed_phase": repeated_seed_phase}
