"""What the stock loop of danijar/dreamerv3 is given, at its head.

Runs inside the side environment: the stock configuration and replay, and the least that the
loop takes for an environment and a logger.
"""

import pathlib
import types

import elements
import embodied
import numpy as np
import ruamel.yaml
from dreamerv3 import main

NEVER = 0  # the period of a clock that never strikes


class Placed(embodied.Env):
    """An environment that shows the number of its row and its own, in episodes of 7 steps."""

    def __init__(self, index, stepped=lambda: None):
        self._place, self._step, self._stepped = [-1, index], 0, stepped

    @property
    def obs_space(self):
        """What it shows."""
        flags = dict.fromkeys(("is_first", "is_last", "is_terminal"), elements.Space(bool))
        spaces = {"place": elements.Space(np.int32, (2,)), "reward": elements.Space(np.float32)}
        return {**spaces, **flags}

    @property
    def act_space(self):
        """What it takes."""
        return {"action": elements.Space(np.int32, (), 0, 2), "reset": elements.Space(bool)}

    def step(self, action):
        """The next row."""
        self._stepped()
        self._place[0] += 1
        self._step = 0 if action["reset"] else self._step + 1
        over = self._step == 7
        flags = {"is_first": self._step == 0, "is_last": over, "is_terminal": over}
        return {"place": np.array(self._place, np.int32), "reward": np.float32(0), **flags}

    def close(self):
        """Nothing is open."""


class Logger:
    """A logger that keeps nothing but the count of steps."""

    def __init__(self):
        self.step = elements.Counter()

    def add(self, *args, **kwargs):
        """Keeps nothing."""

    def write(self, *args):
        """Writes nothing."""

    def close(self):
        """Nothing is open."""


def configured(seed, folder, envs, batch, length, train_ratio, ticks):
    """The stock configuration, but for sizes, a seed, and a CPU to run on."""
    path = pathlib.Path(main.__file__).parent / "configs.yaml"
    stock = ruamel.yaml.YAML(typ="safe").load(path.read_text())["defaults"]
    return elements.Config(stock).update(
        {
            "seed": seed,
            "logdir": folder,
            "batch_size": batch,
            "batch_length": length,
            "report_length": length,
            "run.envs": envs,
            "run.train_ratio": train_ratio,
            "run.steps": ticks * envs,
            "run.log_every": NEVER,
            "run.save_every": NEVER,
            "run.debug": True,
            "jax.platform": "cpu",
            "jax.compute_dtype": "float32",
            "jax.prealloc": False,
        }
    )


def arguments(config, report_every):
    """What the stock loop is configured with, as `main` puts it together."""
    names = "batch_size batch_length report_length consec_train consec_report replay_context"
    top = {name: config[name] for name in (*names.split(), "replica", "replicas", "logdir")}
    run = {**config.run, "report_every": report_every, "usage": {}}
    return types.SimpleNamespace(**run, **top)


def noting(replay):
    """Has the replay tell whether a sequence was from the queue; returns where it tells."""
    told, sample = [], replay._sample

    def sampling(mode):
        found = sample(mode)
        told.append((mode, found[1]))
        return found

    replay._sample = sampling
    return told
