"""In which order a run of danijar/dreamerv3 does what, at its head.

Runs inside the side environment. Loop, driver, replay, streams, prefetcher and the agent's
outer class are the reference's own, made and configured by its own `main`. In the place of
the networks stands a model with one parameter, which counts updates; in the place of the
environments, one that shows where its rows stand.
"""

import contextlib

import elements
import embodied
import embodied.jax
import jax
import jax.numpy as jnp
import ninjax as nj
import numpy as np
from dreamerv3 import main

from reference_harness.dreamerv3_head.loop import (
    NEVER,
    Logger,
    Placed,
    arguments,
    configured,
    noting,
)
from reference_harness.loop_order import LoopOrder
from reference_harness.scratch import scratch

_AHEAD = 1  # one batch waits in the queue


class _Counter(embodied.jax.Agent):
    """A model with the number of updates for its one parameter."""

    policy_keys = "updates"

    def __init__(self, obs_space, act_space, config):
        self._count = nj.Variable(jnp.zeros, (), jnp.int32, name="updates")

    @property
    def ext_space(self):
        step = {"stepid": elements.Space(np.uint8, 20), "latent": elements.Space(np.int32)}
        return {"consec": elements.Space(np.int32), **step}

    def init_policy(self, batch_size):
        return jnp.zeros(batch_size)

    init_train = init_report = init_policy

    def policy(self, carry, obs, mode="train"):
        known = jnp.zeros(len(obs["is_first"]), jnp.int32)
        return carry, {"action": known}, {"latent": known + self._count.read()}

    def train(self, carry, data):
        count = self._count.read()
        self._count.write(count + 1)
        stepid = data["stepid"][:, 1:]
        latent = jnp.full(stepid.shape[:2], count)
        return carry, {"replay": {"stepid": stepid, "latent": latent}}, {"update": count}

    def report(self, carry, data):
        return carry, {"of": self._count.read()}


def _drawing(order, stream, flags):
    """The batches of a stream, told of each."""
    batches = iter(stream)
    order.wait()
    while True:
        flags.clear()
        batch = next(batches)
        first = np.asarray(batch["place"])[:, 0]
        online = np.asarray([flag for _, flag in flags], bool)
        order.drawn((first[:, 1], first[:, 0], online))
        yield batch


def _telling(agent, order, flags):
    """The agent, whose methods tell what they do."""
    policy, train, stream = agent.policy, agent.train, agent.stream

    def acting(*args, **kwargs):
        carry, acts, outs = policy(*args, **kwargs)
        order.acted(outs)
        return carry, acts, outs

    def training(carry, data):
        order.taking()
        carry, outs, metrics = train(carry, data)
        order.trained(outs, metrics)
        return carry, outs, metrics

    streams = []

    def streaming(source):
        streams.append(source)
        if len(streams) > 1:  # of the reports, which are looked at elsewhere
            return source
        return stream(_drawing(order, source, flags))

    agent.policy, agent.train, agent.stream = acting, training, streaming
    return agent


def _agent(config):
    env = Placed(0)
    actions = {name: space for name, space in env.act_space.items() if name != "reset"}
    # All that the agent's wrapper reads of the configuration, beside what is the networks'.
    read = "jax seed logdir replica replicas batch_size batch_length replay_context report_length"
    settings = elements.Config({name: getattr(config, name) for name in read.split()})
    return _Counter(env.obs_space, actions, settings)


@contextlib.contextmanager
def _guarding_as_before():
    """The stock agent forbids transfers for the whole process, and so for every later operation."""
    before = jax.config.jax_transfer_guard
    try:
        yield
    finally:
        jax.config.update("jax_transfer_guard", before)


def run_events(seed, envs, batch, length, train_ratio, ticks):
    """See `dreamerv3.run_events`."""
    order = LoopOrder(_AHEAD)
    with _guarding_as_before(), scratch() as folder:
        config = configured(seed, folder, envs, batch, length, train_ratio, ticks)
        replay = main.make_replay(config, "replay")
        flags = noting(replay)
        agent = _telling(_agent(config), order, flags)
        add = replay.add

        def adding(row, worker):
            order.rows += 1
            add(row, worker)
            order.settle(len(replay))

        replay.add = adding
        embodied.run.train(
            lambda: agent,
            lambda: replay,
            Placed,
            lambda made, mode: main.make_stream(config, made, mode),
            Logger,
            arguments(config, NEVER),
        )
    return order.answer(ticks, envs)


OPERATIONS = {"dreamerv3.run_events": run_events}
