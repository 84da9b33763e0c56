"""What danijar/dreamerv3 finds again in a checkpoint, at its head.

Runs inside the side environment. The loop is the reference's own, with its own driver, replay,
gate, ratio and checkpoint. The agent that it is given does nothing but count how often it is
trained; it has the state of a stock model by names and shapes, and the stock outer class's
`save` and `load` handle it.
"""

import functools
import threading
import types

import elements
import embodied
import embodied.jax
import jax
import numpy as np
from dreamerv3 import main
from embodied.jax import internal

from reference_harness.dreamerv3_head.agent import build, state
from reference_harness.dreamerv3_head.loop import Logger, Placed, arguments, configured
from reference_harness.dreamerv3_head.networks import computing_in
from reference_harness.scratch import scratch

_ALWAYS = -1  # the period of a clock that strikes whenever it is asked


@functools.cache
def _shapes():
    """Names, shapes and dtypes of the state of a small stock model."""
    with computing_in("float32"):
        small = {"deter": 8, "hidden": 4, "stoch": 2, "classes": 4, "blocks": 8, "units": 4}
        return state(build(2, **small), 2, 3)


class _Saving:
    """An agent that counts, with a state that the stock functions save and load."""

    save = embodied.jax.Agent.save
    load = embodied.jax.Agent.load

    def __init__(self, seed):
        self.trained = 0
        rng = np.random.default_rng(seed)
        mesh = internal.mesh(jax.devices()[:1], "-1,1,1", ("d", "f", "t"))
        self.train_mirrored = jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec())
        drawn = {
            name: rng.integers(0, 99, like.shape).astype(like.dtype)
            for name, like in _shapes().items()
        }
        self.params = jax.device_put(drawn, self.train_mirrored)
        self._ckpt_groups = internal.grouped_ckpt_fns(self.params, 0)
        self.jaxcfg = types.SimpleNamespace(enable_policy=False)
        self.train_lock, self.policy_lock = threading.Lock(), threading.Lock()
        self.n_updates, self.n_batches, self.n_actions = (elements.Counter() for _ in range(3))

    def init_train(self, batch_size):
        return ()

    init_report = init_policy = init_train

    def stream(self, source):
        return source

    def policy(self, carry, obs, mode="train"):
        return carry, {"action": np.zeros(len(obs["is_first"]), np.int32)}, {}

    def train(self, carry, data):
        self.trained += 1
        return carry, {}, {}

    def report(self, carry, data):
        return carry, {}

    def part(self, name):
        """The state under a name, by full name."""
        found = {k: np.asarray(v) for k, v in self.params.items() if k.startswith(f"{name}/")}
        if not found:
            raise RuntimeError(f"the agent has no state called {name}")
        return found


def _run(agent, replay, config):
    """One run of the stock loop, which writes its checkpoints where it stands."""
    embodied.run.train(
        lambda: agent,
        lambda: replay,
        Placed,
        lambda made, mode: main.make_stream(config, made, mode),
        Logger,
        arguments(config, _ALWAYS),  # reports draw from the sampler, whatever the queue holds
    )


def _replay(config):
    made = main.make_replay(config, "replay")
    made.save_wait = True
    return made


def _noted(replay):
    """What of a replay is looked at: its queue, and its sampler's generator."""
    return list(replay.queue), replay.sampler.rng.bit_generator.state


def restored_components(envs, batch, length, train_ratio, ticks, interrupted_at):
    """See `dreamerv3.restored_components`."""
    sizes = (envs, batch, length, train_ratio)
    whole, first, second = _Saving(1), _Saving(1), _Saving(2)
    with scratch() as folder, scratch() as elsewhere:
        config = configured(0, elsewhere, *sizes, ticks)
        _run(whole, _replay(config), config)
        config = configured(0, folder, *sizes, interrupted_at).update({"run.save_every": _ALWAYS})
        replay = _replay(config)
        _, fresh = _noted(replay)
        _run(first, replay, config)
        queue, sampler = _noted(replay)
        config = configured(0, folder, *sizes, ticks)
        resumed, found = _replay(config), []
        load = resumed.load

        def noting(*args, **kwargs):
            load(*args, **kwargs)
            found.append(_noted(resumed))

        resumed.load = noting
        _run(second, resumed, config)
    if not queue or sampler == fresh or not len(resumed):
        raise RuntimeError("not all has been used when the run is interrupted")
    ((queue_found, sampler_found),) = found

    def same(name):
        saved, loaded = first.part(name), second.part(name)
        return all(np.array_equal(saved[leaf], loaded[leaf]) for leaf in saved)

    answers = {
        "optimiser": same("opt"),
        "normaliser": same("retnorm"),
        "schedule": first.trained + second.trained == whole.trained,
        "queue": queue_found == queue,
        "sampler": sampler_found == sampler,
    }
    return {name: np.asarray(answer, bool) for name, answer in answers.items()}


OPERATIONS = {"dreamerv3.restored_components": restored_components}
