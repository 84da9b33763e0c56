"""How several tasks are evaluated, and what is learned of them, answered by nicklashansen/tdmpc2.

Runs inside the side environment. The stock offline trainer and the stock evaluation script run;
environments, agent, logger and the files of the dataset are stubs.
"""

from __future__ import annotations

import contextlib
from types import SimpleNamespace

import numpy as np
import torch
from common import TASK_SET, logger
from trainer import offline_trainer

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL
from reference_harness.tdmpc2.stock import Quiet, load, module
from reference_harness.tdmpc2.surroundings import Facade, array, replaced


class Settings(SimpleNamespace):
    """What the trainers read of a configuration."""

    def get(self, name, default=None):
        """As a dictionary's."""
        return getattr(self, name, default)


class Episodes:
    """Environments of several tasks, whose episodes bring their return with the first step."""

    def __init__(self, lengths, returns):
        self._lengths, self._returns = lengths, returns
        self._played = [0] * len(lengths)
        self.task = self.time = 0
        self.episodes = 0

    def reset(self, task_idx):
        """The next episode of a task."""
        self.task, self.time = task_idx, 0
        self.episodes += 1
        return torch.zeros(4)

    def step(self, action):
        """Pays the episode's return at once."""
        del action
        paid = float(self._returns[self.task][self._played[self.task]]) if not self.time else 0.0
        self.time += 1
        done = self.time >= self._lengths[self.task]
        self._played[self.task] += done
        return torch.zeros(4), torch.tensor(paid), bool(done), {"success": 0.0}


class Asked:
    """An agent that notes how it is asked for actions, and how often for an update."""

    model = SimpleNamespace(total_params=0)

    def __init__(self, env):
        self._env = env
        self.updates = 0
        self.counts = dict.fromkeys(("actions", "explored", "misplaced", "strayed"), 0)

    def load(self, path):
        """Nothing."""

    def act(self, obs, t0=False, eval_mode=False, task=None):
        """Notes."""
        del obs
        self.counts["actions"] += 1
        self.counts["explored"] += not eval_mode
        self.counts["misplaced"] += bool(t0) != (self._env.time == 0)
        self.counts["strayed"] += task != self._env.task
        return torch.zeros(2)

    def update(self, buffer):
        """Counts."""
        del buffer
        self.updates += 1
        return {}


def _settings(count, **settings):
    default = agent.config()
    return Settings(
        **{"tasks": TASK_SET["mt30"][:count], "task": "mt30", "multitask": True, "seed": 1},
        **{"data_dir": "mt30", "checkpoint": __file__, "save_video": False, "work_dir": ""},
        **{"model_size": 1, "eval_episodes": default.eval_episodes, **settings},
    )


def _trainer(cfg, env, asked):
    return offline_trainer.OfflineTrainer(
        cfg=cfg, env=env, agent=asked, buffer=Quiet(), logger=Quiet()
    )


def _evaluated_by_trainer(cfg, env, asked):
    """Mean returns by task, and that of all tasks as the stock logger computes it."""
    found = _trainer(cfg, env, asked).eval()
    logger.Logger.pprint_multitask(None, found, cfg)
    means = [found[f"episode_reward+{task}"] for task in cfg.tasks]
    return means, found["episode_reward+avg_dmcontrol"]


def _evaluated_by_script(cfg, env, asked):
    """Mean returns by task, and the normalised score: what the script prints."""
    script = load(
        "evaluate.py", imageio=module("imageio"), envs=module("envs", make_env=lambda cfg: env)
    )
    noted = []

    def mean(values):
        noted.append(np.mean(values))
        return noted[-1]

    changes = {
        "parse_cfg": lambda cfg: cfg,
        "set_seed": lambda seed: None,
        "TDMPC2": lambda cfg: asked,
        "torch": Facade(torch, cuda=SimpleNamespace(is_available=lambda: True)),
        "np": Facade(np, mean=mean),
    }
    with replaced(*((script, name, value) for name, value in changes.items())):
        script.evaluate.__wrapped__(cfg)
    # Of every task the mean return and the mean success, then the score.
    return noted[:-1:2], noted[-1]


def _evaluated(cfg, env, asked, program):
    by = {"trainer": _evaluated_by_trainer, "evaluate": _evaluated_by_script}[program]
    return by(cfg, env, asked)


def multitask_score(returns, program):
    count, episodes = returns.shape
    env = Episodes([1] * count, returns)
    cfg = _settings(count, eval_episodes=episodes)
    means, score = _evaluated(cfg, env, Asked(env), program)
    return {"means": np.asarray(means, np.float64), "score": np.float64(score)}


def evaluation_actions(lengths, program):
    count = len(lengths)
    cfg = _settings(count)
    env = Episodes(lengths, np.zeros((count, cfg.eval_episodes)))
    asked = Asked(env)
    _evaluated(cfg, env, asked, program)
    found = {"episodes": env.episodes // count, **asked.counts}
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


class Loaded:
    """A file of the dataset: no episode, each of which would have so many rows."""

    def __init__(self, rows):
        self.shape = (0, rows)

    def __len__(self):
        return 0


class Filled:
    """A replay that is full from the start, and notes what it was to hold."""

    num_eps = capacity = 0

    def __init__(self, cfg):
        self.cfg = cfg

    def load(self, td):
        """Nothing."""

    def sample(self):
        """Nothing."""


@contextlib.contextmanager
def _files(rows=501):
    """The dataset is one file with no episodes, whose rows are so many each."""
    stock = Facade(torch, load=lambda *arguments, **options: Loaded(rows))
    with replaced(
        (offline_trainer, "torch", stock),
        (offline_trainer, "glob", lambda pattern: ["mt30/0.pt"]),
        (offline_trainer, "Buffer", Filled),
    ):
        yield


def offline_evaluations(updates, every):
    env = Episodes([1], np.zeros((1, 1)))
    asked = Asked(env)
    trainer = _trainer(_settings(1, steps=updates, eval_freq=every), env, asked)
    evaluated = np.zeros(updates, np.int64)

    def note():
        evaluated[asked.updates - 1] = 1
        return {}

    trainer.eval = note
    with _files():
        trainer.train()
    return {"evaluated": evaluated}


def task_set(tasks):
    text = "\n".join(TASK_SET[tasks]).encode()
    return {"names": np.frombuffer(text, np.uint8).copy()}


def offline_dataset(tasks):
    env = Episodes([1], np.zeros((1, 1)))
    cfg = _settings(1, steps=0, eval_freq=1)
    cfg.task = cfg.data_dir = tasks
    trainer = _trainer(cfg, env, Asked(env))
    # What the trainer demands of the files; another number fails.
    with _files({"mt30": 501, "mt80": 101}[tasks]):
        trainer.train()
    held = trainer.buffer.cfg
    found = {"rows": min(held.buffer_size, held.steps), "episode_rows": held.episode_length}
    return {name: np.asarray(value, np.int64) for name, value in found.items()}


def task_discounts(episode_lengths):
    count = len(episode_lengths)
    settings = agent.config(
        **{**SMALL, "latent_dim": 8, "simnorm_dim": 8, "multitask": True, "task_dim": 2},
        tasks=[str(i) for i in range(count)],
        action_dims=[2] * count,
        episode_lengths=episode_lengths.tolist(),
    )
    return {"discounts": array(agent.build(settings).discount)}


OPERATIONS = {
    "tdmpc2.task_discounts": task_discounts,
    "tdmpc2.multitask_score": multitask_score,
    "tdmpc2.evaluation_actions": evaluation_actions,
    "tdmpc2.offline_evaluations": offline_evaluations,
    "tdmpc2.task_set": task_set,
    "tdmpc2.offline_dataset": offline_dataset,
}
