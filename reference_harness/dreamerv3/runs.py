"""How often danijar/dreamerv3 trains, and what it finds again in a checkpoint, paper era.

Runs inside the side environment. The loop is the reference's own `embodied.run.train`, with
its own driver, replay, gate, ratio and checkpoint; the agent that it is given does nothing
but count how often it is trained. Where checkpoints are looked at, it has the state of a
stock agent by names and shapes, and the stock `JAXAgent.save` and `load` handle it.
"""

import functools
import threading
import types

import embodied
import jax
import numpy as np
from dreamerv3.jaxagent import JAXAgent

from reference_harness.dreamerv3.agent import (
    Spaces,
    build,
    initial_state,
    pack,
    precision,
    replaced,
)
from reference_harness.scratch import scratch

# Periods of clocks that never strike, and that strike whenever they are asked.
_NEVER, _ALWAYS = -1, 0


class _Ticking(embodied.Env):
    """An environment with nothing to see, in episodes of seven steps."""

    def __init__(self):
        self._step = 0

    @property
    def obs_space(self):
        return {}

    @property
    def act_space(self):
        return {"action": embodied.Space(np.int32, (), 0, 2), "reset": embodied.Space(bool)}

    def step(self, action):
        self._step = 0 if action["reset"] else self._step + 1
        over = self._step == 7
        flags = {"is_first": self._step == 0, "is_last": over, "is_terminal": over}
        return {"reward": np.float32(0), **flags}


class _Counting:
    """An agent that counts. `seen` is the number of updates before each of its actions."""

    def __init__(self):
        self.trained = 0
        self.seen = []

    def _no_carry(self, batch_size):
        return ()

    init_policy = init_train = init_report = _no_carry

    def policy(self, obs, carry, mode):
        self.seen.append(self.trained)
        return {"action": np.zeros(len(obs["is_first"]), np.int32)}, {}, carry

    def dataset(self, generator):
        # Which rows it is trained on is no matter here.
        while True:
            yield {}

    def train(self, data, carry):
        self.trained += 1
        return {}, carry, {}

    def save(self):
        return {}

    def load(self, data):
        raise RuntimeError("there is nothing to resume")


class _Logger:
    """A logger that keeps nothing but the count of steps."""

    def __init__(self):
        self.step = embodied.Counter()

    def add(self, *args, **kwargs):
        pass

    def write(self, *args):
        pass

    def close(self):
        pass


def _arguments(folder, envs, batch, length, train_ratio, steps, save_every=_NEVER):
    """What the stock loop is configured with; the rest as in its `configs.yaml`."""
    return types.SimpleNamespace(
        logdir=folder,
        usage={},
        batch_size=batch,
        batch_length=length + 1,
        batch_length_eval=length + 1,
        replay_context=1,
        train_ratio=train_ratio,
        train_fill=0,
        expl_until=0,
        log_every=_NEVER,
        eval_every=_NEVER,
        save_every=save_every,
        num_envs=envs,
        driver_parallel=False,
        from_checkpoint="",
        steps=steps,
        log_video_streams=0,
        log_keys_video=(),
        log_keys_sum="^$",
        log_keys_avg="^$",
        log_keys_max="^$",
    )


def trained_updates(envs, batch, length, train_ratio, ticks):
    """See `dreamerv3.trained_updates`."""
    agent = _Counting()
    steps = ticks * envs + 1  # one more tick, which sees all that went before
    with scratch() as folder:
        embodied.run.train(
            lambda: agent,
            lambda: embodied.replay.Replay(length + 1, int(5e6), online=True),
            lambda index: _Ticking(),
            _Logger,
            _arguments(folder, envs, batch, length, train_ratio, steps),
        )
    return {"updates": np.asarray(agent.seen[1 : ticks + 1], np.int64)}


@functools.cache
def _shapes():
    """Names, shapes and dtypes of the state of a small stock agent."""
    spaces = Spaces(observation_size=1, kind="discrete", actions=2)
    size = {"deter": 8, "hidden": 4, "stoch": 2, "classes": 4, "blocks": 2}
    overrides = {f"dyn.rssm.{name}": value for name, value in size.items()}
    overrides[r".*\.units"] = 4
    with precision("float32"):
        agent = build(overrides, spaces)
        return jax.eval_shape(lambda: initial_state(agent, spaces, 2, 3))


class _Saving(_Counting):
    """A counting agent with a state, which the stock functions save and load."""

    policy_keys = ()
    save = JAXAgent.save
    load = JAXAgent.load

    def __init__(self, seed):
        super().__init__()
        rng = np.random.default_rng(seed)
        self.params = jax.tree.map(
            lambda like: jax.numpy.asarray(rng.integers(0, 99, like.shape), like.dtype), _shapes()
        )
        self.policy_params = {}
        self.train_lock, self.policy_lock = threading.Lock(), threading.Lock()
        here = jax.sharding.SingleDeviceSharding(jax.devices()[0])
        self.train_mirrored = self.policy_mirrored = here

    def state(self, part):
        """The state under a name, by full name."""
        found = {k: v for k, v in pack(self.params).items() if f"/{part}/" in f"/{k}"}
        if not found:
            raise RuntimeError(f"the agent has no state called {part}")
        return found

    def dataset(self, generator):
        return generator()


class _AtOnce(embodied.Checkpoint):
    """A checkpoint that is complete when the loop goes on; its own option for it fails to load."""

    def save(self, *args, **kwargs):
        super().save(*args, **kwargs)
        self._promise.result()


def _run(agent, replay, *args, **kwargs):
    """One run of the stock loop, which writes its checkpoints where it stands."""
    with replaced((embodied, "Checkpoint", _AtOnce)):
        embodied.run.train(
            lambda: agent,
            lambda: replay,
            lambda index: _Ticking(),
            _Logger,
            _arguments(*args, **kwargs),
        )


def _replay(length, folder=None):
    made = embodied.replay.Replay(length + 1, int(5e6), folder and folder + "/replay", online=True)
    made.save_wait = made.debug_save_wait = True  # its name differs between the pins
    return made


def _noted(replay):
    """What of a replay is looked at: its queue, and its sampler's generator."""
    return list(replay.queue), replay.sampler.rng.bit_generator.state


def restored_components(envs, batch, length, train_ratio, ticks, interrupted_at):
    """See `dreamerv3.restored_components`."""
    sizes = (envs, batch, length, train_ratio)
    whole, first, second = _Saving(1), _Saving(1), _Saving(2)
    with scratch() as folder, scratch() as elsewhere:
        _run(whole, _replay(length), elsewhere, *sizes, ticks * envs)
        replay = _replay(length, folder)
        _run(first, replay, folder, *sizes, interrupted_at * envs, save_every=_ALWAYS)
        queue, sampler = _noted(replay)
        resumed, found = _replay(length, folder), []
        load = resumed.load

        def noting(data):
            load(data)
            found.append(_noted(resumed))

        resumed.load = noting
        _run(second, resumed, folder, *sizes, ticks * envs)
    if not queue or not len(resumed):
        raise RuntimeError("nothing waits in the queue when the run is interrupted")
    ((queue_found, sampler_found),) = found

    def same(part):
        saved, loaded = first.state(part), second.state(part)
        return all(np.array_equal(saved[name], loaded[name]) for name in saved)

    answers = {
        "optimiser": same("opt"),
        "normaliser": same("retnorm"),
        "schedule": first.trained + second.trained == whole.trained,
        "queue": queue_found == queue,
        "sampler": sampler_found == sampler,
    }
    return {name: np.asarray(answer, bool) for name, answer in answers.items()}


OPERATIONS = {
    "dreamerv3.trained_updates": trained_updates,
    "dreamerv3.restored_components": restored_components,
}
