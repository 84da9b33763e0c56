"""The stock model of danijar/dreamerv3 at its head, without what compiles and places it.

Runs inside the side environment.
"""

import elements
import embodied
import jax
import jax.numpy as jnp
import ninjax as nj
import numpy as np
from dreamerv3.agent import Agent

from reference_harness.dreamerv3_head.networks import SEED, defaults

FLAGS = ("is_first", "is_last", "is_terminal")


def build(actions, **sizes):
    """A model of one observed number and one discrete action.

    Args:
        actions: How many there are.
        **sizes: Of its recurrent state, by the reference's own names; `units` of all networks.
    """
    units = sizes.pop("units", None)
    changed = {f"dyn.rssm.{name}": size for name, size in sizes.items()}
    changed |= {r".*\.units": units} if units else {}
    settings = defaults().agent.update(changed)
    settings = elements.Config(**settings, replay_context=defaults().replay_context)
    seen = {"vector": elements.Space(np.float32, (1,)), "reward": elements.Space(np.float32)}
    seen |= dict.fromkeys(FLAGS, elements.Space(bool))
    taken = {"action": elements.Space(np.int32, (), 0, actions)}
    model = embodied.Agent.__new__(Agent)
    model.__init__(seen, taken, settings)
    return model


def state(model, batch, length):
    """Names, shapes and dtypes of all that an update of the model reads or writes."""
    spaces = {**model.obs_space, **model.act_space, **model.ext_space}
    shape = (batch, length + model.config.replay_context)
    data = {name: jnp.zeros((*shape, *one.shape), one.dtype) for name, one in spaces.items()}

    def once(data):
        return model.train(model.init_train(batch), data)

    return jax.eval_shape(lambda: nj.pure(once)({}, data, seed=SEED, create=True)[0])
