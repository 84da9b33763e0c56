"""In which order a run of nicklashansen/tdmpc2 does what.

Runs inside the side environment. Trainer, replay and planner are the reference's own, the
networks small; in the place of an update stands a count, in the place of the environment a
script. The mean that a plan starts from is read off the operations that its noise takes part in.
"""

from __future__ import annotations

import warnings
from collections import defaultdict
from typing import Any

import numpy as np
import torch
from common.buffer import Buffer
from omegaconf import OmegaConf
from trainer.online_trainer import OnlineTrainer

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.losses import SMALL
from reference_harness.tdmpc2.planner import watched
from reference_harness.tdmpc2.replay import on_the_cpu
from reference_harness.tdmpc2.surroundings import Facade, array, replaced

_PLANNER = {"horizon": 3, "iterations": 1, "num_samples": 6, "num_elites": 3, "num_pi_trajs": 0}


class StoppedError(Exception):
    """The run ends with an error; says which, as `tdmpc2.run_events` numbers them."""


class Scripted:
    """Says when episodes end; its random numbers are those of the starts alone."""

    def __init__(self, seed, length, ends, doomed):
        self._rng = np.random.default_rng(seed)
        self._length, self._ends, self._doomed = length, ends, doomed
        self.start, self.time = 0.0, 0

    def _seen(self):
        return torch.tensor([self.start, self.time], dtype=torch.float32)

    def rand_act(self):
        """An action of the right shape; no claim is about which."""
        return torch.zeros(1)

    def reset(self):
        """Draws the next start."""
        self.start, self.time = self._rng.random(dtype=np.float32), 0
        return self._seen()

    def step(self, action):
        """As the reference's wrapper answers."""
        assert action.shape == (1,)
        self.time += 1
        terminated = bool(self.start >= self._doomed) and self.time >= self._ends
        info = defaultdict(float, success=0.0, terminated=torch.tensor(float(terminated)))
        done = terminated or self.time >= self._length
        return self._seen(), torch.tensor(0.0), done, info


class _Told:
    """What happened, and whose mean each plan started from."""

    def __init__(self, env):
        self._env, self._evaluating = env, False
        self._left: list[tuple[int, np.ndarray]] = []
        self.ticks: list[dict[str, Any]] = []
        self.evaluations: list[tuple[int, list[float]]] = []

    def origin(self, start):
        """The tick that left the mean from which a plan starts."""
        if not start.any():
            return -1
        shifted = [(tick, np.concatenate([left[1:], 0 * left[:1]])) for tick, left in self._left]
        return next((tick for tick, mean in shifted if np.array_equal(mean, start)), -4)

    def planned(self, t0, start, left):
        """A plan has been made."""
        origin = self.origin(start)
        tick = -2 if self._evaluating else len(self.ticks)
        self._left.append((tick, left))
        if not self._evaluating:
            self._plan = {"planned": 1, "t0": int(t0), "before": origin}

    def around_step(self, step):
        """The environment's `step`, told of."""

        def call(action):
            if not self._evaluating:
                where = {"start": self._env.start, "step": self._env.time}
                self.ticks.append({**where, **self._plan, "updates": 0, "held": -1})
                self._plan = {"planned": 0, "t0": -1, "before": -3}
            return step(action)

        self._plan = {"planned": 0, "t0": -1, "before": -3}
        return call

    def around_reset(self, reset):
        """The environment's `reset`, told of."""

        def call():
            seen = reset()
            if self._evaluating:
                self.evaluations[-1][1].append(self._env.start)
            return seen

        return call

    def around_evaluation(self, evaluate):
        """The trainer's `eval`, told of."""

        def call():
            self.evaluations.append((len(self.ticks), []))
            self._evaluating = True
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # means of no episodes
                metrics = evaluate()
            self._evaluating = False
            return metrics

        return call

    def updated(self, buffer):
        """In the place of an update."""
        self.ticks[-1]["updates"] += 1
        self.ticks[-1]["held"] = buffer.num_eps
        return {}


class _Logger:
    def log(self, metrics, category):
        """Nowhere."""

    def finish(self, stock):
        """Nothing is kept."""


def _acting(act, stock, told, log):
    """The agent's `act`, told of."""

    def call(observation, t0=False, eval_mode=False, task=None):
        log.update(means=[], stds=[])
        try:
            action = act(observation, t0=t0, eval_mode=eval_mode, task=task)
        except AttributeError as error:
            if error.name != "_prev_mean":
                raise
            raise StoppedError(3) from error
        told.planned(t0, array(log["means"][0])[:, 0], array(stock._prev_mean))
        return action

    return call


def _storing(add):
    """The replay's `add`, whose failure is one of the run."""

    def call(episode):
        try:
            return add(episode)
        except RuntimeError as error:
            raise StoppedError(2) from error

    return call


def _ran(trainer):
    """Trains to the end, and says which."""
    try:
        trainer.train()
    except StoppedError as stopped:
        return stopped.args[0]
    except ValueError as error:
        if "Termination detected" not in str(error):
            raise
        return 1
    return 0


def run_events(
    seed,
    envs,
    length,
    ends,
    doomed,
    seed_steps,
    steps,
    eval_every,
    eval_episodes,
    updates_per_step,
    episodic,
):
    if envs != 1 or updates_per_step != 1 or (episodic and not agent.EPISODIC):
        raise ValueError("the reference has one environment, one update per step, and no such mode")
    mode = {"episodic": episodic} if agent.EPISODIC else {}
    settings = agent.config(
        2,
        1,
        **{**SMALL, "latent_dim": 8, "simnorm_dim": 8, **_PLANNER, **mode},
        **{"episode_length": length, "seed_steps": seed_steps, "steps": steps},
        **{"eval_freq": eval_every, "eval_episodes": eval_episodes, "save_video": False},
    )
    torch.manual_seed(seed)
    np.random.seed(seed)
    env = Scripted(seed, length, ends, doomed)
    told, log = _Told(env), {}
    env.step, env.reset = told.around_step(env.step), told.around_reset(env.reset)
    stock = agent.build(settings)
    stock.act, stock.update = _acting(stock.act, stock, told, log), told.updated

    def noise(*shape, device=None):
        del device
        return watched(torch.randn(*shape).numpy(), log)

    with on_the_cpu(), agent.given(), replaced(*_with_noise(noise)):
        buffer = Buffer(settings)
        buffer.add = _storing(buffer.add)
        trainer = OnlineTrainer(settings, env, stock, buffer, _Logger())
        trainer.eval = told.around_evaluation(trainer.eval)
        error = _ran(trainer)
    return _answer(told, eval_episodes, error)


def _with_noise(noise):
    """The planner's own draws, noted."""
    facade = Facade(torch, device=lambda *wanted: torch.device("cpu"), randn=noise)
    return ((agent.stock, "torch", facade),)


def _answer(told, eval_episodes, error):
    ticks = told.ticks
    played = [found for found in told.evaluations if eval_episodes]

    def column(name):
        return np.asarray([tick[name] for tick in ticks], np.int64)

    return {
        "start": np.asarray([tick["start"] for tick in ticks], np.float32)[:, None],
        **{name: column(name)[:, None] for name in ("step", "t0", "before")},
        **{name: column(name) for name in ("planned", "updates", "held")},
        "stepped": np.ones(len(ticks), np.int64),
        "evaluated": np.asarray([tick for tick, _ in played], np.int64),
        "eval_start": np.asarray([s for _, s in played], np.float32).reshape(
            len(played), eval_episodes
        ),
        "error": np.asarray(error, np.int64),
    }


def run_options():
    names = "\n".join(OmegaConf.load(agent.SETTINGS))
    return {"names": np.frombuffer(names.encode(), np.uint8).copy()}


OPERATIONS = {"tdmpc2.run_events": run_events, "tdmpc2.run_options": run_options}
