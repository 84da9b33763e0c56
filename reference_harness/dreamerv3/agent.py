"""The stock agent of danijar/dreamerv3, paper era, built without its training loop.

Runs inside the side environment. The agent is the reference's own class with its own
configuration; nothing of `jaxagent` is used but the way in which it sets the precisions,
because its constructor compiles programs that nobody asks for here.
"""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import embodied
import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import agent as stock
from dreamerv3 import jaxutils, nets
from dreamerv3 import ninjax as nj

SEED = np.zeros(2, np.uint32)

# One row of replay beside the observation and the action.
_FLAGS = ("is_first", "is_last", "is_terminal")


@contextlib.contextmanager
def replaced(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Sets attributes, (object, name, value) each, and puts the old ones back."""
    with contextlib.ExitStack() as undo:
        for holder, name, value in changes:
            had = name in vars(holder)
            before = getattr(holder, name)
            setattr(holder, name, value)
            if had:
                undo.callback(setattr, holder, name, before)
            else:
                undo.callback(delattr, holder, name)
        yield


class _Doubled:
    """`jax.numpy` for whom float32 is float64."""

    def __getattr__(self, name: str) -> Any:
        return jnp.float64 if name == "float32" else getattr(jnp, name)


@contextlib.contextmanager
def precision(dtype: str) -> Iterator[None]:
    """The precision in which agents are built and run within.

    float32 and bfloat16 are what `jaxagent` would set as the compute dtype. float64 computes
    everything in float64, the parts that the reference holds in float32 whatever the compute
    dtype is among them: it is what the others are measured against.
    """
    if dtype != "float64":
        compute = getattr(jnp, dtype)
        with replaced((jaxutils, "COMPUTE_DTYPE", compute), (jaxutils, "PARAM_DTYPE", jnp.float32)):
            yield
        return
    doubled = _Doubled()
    modules = (jaxutils, nets, stock)
    draw = jaxutils.OneHotDist.__init__
    with (
        jax.experimental.enable_x64(),
        replaced(
            (jaxutils, "COMPUTE_DTYPE", jnp.float64),
            (jaxutils, "PARAM_DTYPE", jnp.float64),
            *(
                (module, name, value)
                for module in modules
                for name, value in (("jnp", doubled), ("f32", jnp.float64))
            ),
            # The dtype of a sample is a default argument, bound when the class was made.
            (draw, "__defaults__", (None, None, jnp.float64)),
        ),
    ):
        yield


@dataclasses.dataclass(frozen=True)
class Spaces:
    """What the agent sees and does.

    Attributes:
        observation_size: Length of the one observation vector.
        kind: discrete or continuous.
        actions: How many actions there are, or how long the action vector is.
    """

    observation_size: int
    kind: str
    actions: int

    def observations(self) -> dict[str, embodied.Space]:
        """What an environment of this kind shows, by key."""
        spaces = {"vector": embodied.Space(np.float32, (self.observation_size,))}
        spaces["reward"] = embodied.Space(np.float32)
        return {**spaces, **{flag: embodied.Space(bool) for flag in _FLAGS}}

    def action(self) -> embodied.Space:
        """What it takes, under the one key "action"."""
        if self.kind == "discrete":
            return embodied.Space(np.int32, (), 0, self.actions)
        return embodied.Space(np.float32, (self.actions,), -1, 1)


def build(overrides: Mapping[str, Any], spaces: Spaces):
    """The stock agent, in the precision that is set.

    Args:
        overrides: Keys of `configs.yaml` as its command line would set them, on top of its
            defaults.
        spaces: What it sees and does.
    """
    config = embodied.Config(stock.Agent.configs["defaults"]).update(dict(overrides))
    actions = {"action": spaces.action(), "reset": embodied.Space(bool)}
    return stock.Agent.inner(spaces.observations(), actions, config, name="agent")


def initial_state(agent, spaces: Spaces, batch: int, length: int) -> dict[str, Any]:
    """The parameters and all other state of a fresh agent, as `jaxagent` makes them.

    Args:
        agent: From `build`.
        spaces: Those that it was built with.
        batch: Sequences in a batch.
        length: Rows of a sequence, the context row included.
    """
    columns = {**spaces.observations(), "action": spaces.action(), **agent.aux_spaces}
    data = {
        # `nets.f32` is what the set precision calls float32.
        name: jnp.zeros(
            (batch, length, *space.shape),
            nets.f32 if space.dtype == np.float32 else space.dtype,
        )
        for name, space in columns.items()
    }
    carry = nj.pure(agent.init_train)({}, batch, seed=SEED)[1]
    return nj.init(agent.train)({}, data, carry, seed=SEED)


def pack(tree: Any) -> dict[str, np.ndarray]:
    """The leaves of a tree by name: the keys of their path, joined by colons."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {_name(path): _sendable(leaf) for path, leaf in leaves}


def unpack(arrays: Mapping[str, np.ndarray], like: Any) -> Any:
    """The tree of `like`'s shape that holds these leaves, in its leaves' dtypes.

    Raises:
        ValueError: The names or a shape are not those of `like`.
    """
    leaves, structure = jax.tree_util.tree_flatten_with_path(like)
    names = [_name(path) for path, _ in leaves]
    if set(names) != set(arrays):
        odd = sorted(set(names) ^ set(arrays))
        raise ValueError(f"these names are on one side only: {', '.join(odd)}")
    values = []
    for name, (_, leaf) in zip(names, leaves, strict=True):
        if np.shape(arrays[name]) != leaf.shape:
            raise ValueError(f"{name} has the shape {np.shape(arrays[name])}, not {leaf.shape}")
        values.append(jnp.asarray(arrays[name], leaf.dtype))
    return jax.tree_util.tree_unflatten(structure, values)


def _name(path: tuple) -> str:
    return ":".join(str(getattr(key, "key", getattr(key, "idx", key))) for key in path)


def _sendable(leaf: Any) -> np.ndarray:
    """As numpy holds it, which knows no bfloat16; every bfloat16 is a float32."""
    return np.asarray(leaf.astype(jnp.float32) if leaf.dtype == jnp.bfloat16 else leaf)
