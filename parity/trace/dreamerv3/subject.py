"""The core's side of a trace: carries the reference's state over, and takes the steps."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from core.dreamerv3.agent import Agent, TrainNoise, TrainState
from core.dreamerv3.normaliser import Percentiles
from core.dreamerv3.optimizer import LaPropState
from core.dreamerv3.types import Context, Discrete, Latent, Rows
from parity.trace.dreamerv3.names import NameMap, match
from parity.trace.dreamerv3.problem import Problem
from parity.trace.dreamerv3.reference import ReferenceState, slow_critic
from parity.trace.quantity import Arrays

# Losses come out of `Agent.loss` without their weights, and are compared with them.
_WEIGHTS = {
    "rec_loss": "rec_scale",
    "rew_loss": "rew_scale",
    "con_loss": "con_scale",
    "dyn_loss": "dyn_scale",
    "rep_loss": "rep_scale",
    "actor_loss": "actor_scale",
    "critic_loss": "critic_scale",
    "repval_loss": "repval_scale",
}


class TracedCore:
    """The core's training step for one problem.

    Attributes:
        name: What reports call it.
        partial: It answers with every quantity.
        agent: The core's agent.
    """

    name = "core"
    partial = False

    def __init__(self, problem: Problem):
        self.agent = Agent(problem.config, problem.observation_size, problem.actions)
        self._shapes = jax.eval_shape(self.agent.init, jax.random.PRNGKey(0))

    def names(self, reference: ReferenceState) -> NameMap:
        """Which of its parameters is which; raises `NameMapError` where one is not."""
        ours = {name: leaf.shape for name, leaf in flatten(self._shapes.params).items()}
        return match(ours, {name: v.shape for name, v in reference.parameters.items()})

    def leaves(self, names: NameMap) -> Mapping[str, str]:
        """See `Subject`."""
        return {name: name for name in names.names}

    def carried_over(self, reference: ReferenceState, names: NameMap) -> TrainState:
        """The reference's state, before its first step, as the core's.

        The moments are those of a fresh optimiser; the counters are the reference's.
        """
        params = unflatten(names.to_core(reference.parameters))
        slow = unflatten(slow_critic(reference, names))["critic"]
        step = jnp.asarray(reference.state["agent/opt/step/value"], jnp.int32)

        def counted(node: Any) -> Any:
            is_schedule = isinstance(node, optax.ScaleByScheduleState)
            return node._replace(count=step) if is_schedule else node

        opt_state = jax.tree.map(
            counted,
            self.agent.optimizer.init(params),
            is_leaf=lambda node: isinstance(node, optax.ScaleByScheduleState),
        )
        low, high = (
            jnp.asarray(reference.state[f"agent/retnorm/{end}/value"]) for end in ("low", "high")
        )
        updates = jnp.asarray(reference.state["agent/updater/updates/value"], jnp.int32)
        return TrainState(params, slow, opt_state, Percentiles(low, high), updates)

    def step(self, before: TrainState, rows: Arrays, noise: Arrays) -> tuple[Arrays, TrainState]:
        """One step: its intermediates under the names of `quantities`, and the state after it."""
        inputs = (*_batch(rows), TrainNoise(**{k: jnp.asarray(v) for k, v in noise.items()}))
        aux, gradients = self._loss(before, *inputs)
        after, _, _ = self._update(before, *inputs)
        return self._read(aux, gradients, after), after

    @functools.cached_property
    def _loss(self) -> Any:
        """What `Agent.update` does not return: intermediates and gradients."""

        def loss(state: TrainState, rows: Rows, context: Context, noise: TrainNoise) -> Any:
            gradient = jax.grad(self.agent.loss, has_aux=True)
            inputs = (state.slow_critic, state.normaliser, rows, context, noise)
            gradients, aux = gradient(state.params, *inputs)
            return aux, gradients

        return jax.jit(loss)

    @functools.cached_property
    def _update(self) -> Any:
        """The program that trains, compiled as training compiles it.

        It is not one program with the other: a compiler rounds otherwise what it need not
        return, and what is traced beside would vouch for a program that nobody runs.
        """
        return jax.jit(self.agent.update)

    def _read(self, aux: Mapping[str, jax.Array], gradients: Any, after: TrainState) -> Arrays:
        found = {name: _array(value) for name, value in aux.items()}
        for loss, weight in _WEIGHTS.items():
            found[loss] = found[loss] * np.float32(getattr(self.agent.config, weight))
        found["continues"] = found["continues"][:, 1:]
        found["policy"] = self._policy(found.pop("actor_outputs"))
        moments = laprop(after.opt_state)
        for group, tree in (
            ("gradient", gradients),
            ("second_moment", moments.second_moment),
            ("momentum", moments.momentum),
            ("parameter", after.params),
            ("slow_critic", after.slow_critic),
        ):
            found |= {f"{group}/{name}": _array(v) for name, v in flatten(tree).items()}
        found["updates"] = _array(after.updates)
        return found

    def _policy(self, raw: np.ndarray) -> np.ndarray:
        """The parameters of the policy's distribution, in place of the network's output."""
        policy: Any = self.agent.policy
        if isinstance(self.agent.action_space, Discrete):
            return np.asarray(policy.logits(jnp.asarray(raw)))
        return np.concatenate([np.asarray(x) for x in policy.moments(jnp.asarray(raw))], -1)


def laprop(opt_state: optax.OptState) -> LaPropState:
    """The moments within the optimiser's state."""
    nodes = jax.tree.leaves(opt_state, is_leaf=lambda node: isinstance(node, LaPropState))
    (found,) = [node for node in nodes if isinstance(node, LaPropState)]
    return found


def flatten(tree: Any) -> dict[str, Any]:
    """The leaves of nested dictionaries by path, `network/layer/leaf`."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    return {"/".join(str(key.key) for key in path): leaf for path, leaf in leaves}


def unflatten(leaves: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """The inverse of `flatten`."""
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *folders, name = path.split("/")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        node[name] = jnp.asarray(leaf)
    return tree


def _batch(columns: Arrays) -> tuple[Rows, Context]:
    """The reference's columns as rows and the context before them."""
    first = {name: jnp.asarray(column[:, 0]) for name, column in columns.items()}
    rest = {name: jnp.asarray(column[:, 1:]) for name, column in columns.items()}
    flags = {name: rest[name] for name in ("is_first", "is_last", "is_terminal")}
    rows = Rows(observation=rest["vector"], action=rest["action"], reward=rest["reward"], **flags)
    return rows, Context(Latent(first["deter"], first["stoch"]), first["action"])


def _array(value: jax.Array) -> np.ndarray:
    return np.asarray(value.astype(jnp.float32) if value.dtype == jnp.bfloat16 else value)
