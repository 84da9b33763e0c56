"""The core's side of a trace: carries the reference's state over, plans and updates."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax

from core.tdmpc2.agent import Agent, TrainState
from core.tdmpc2.intermediates import Intermediates
from core.tdmpc2.losses import Batch
from core.tdmpc2.noise import PlanNoise, UpdateNoise
from core.tdmpc2.optimizer import AdamState
from core.tdmpc2.planner import Plan
from core.tdmpc2.world_model import ModelParams, Params
from parity.trace.quantity import Arrays
from parity.trace.tdmpc2.names import TABLE, NameMap, match
from parity.trace.tdmpc2.problem import Problem
from parity.trace.tdmpc2.reference import ReferenceState

PLAN = "plan"  # stands before the plan's inputs and draws among those of a step


class TracedCore:
    """The core's update and plan for one problem.

    Attributes:
        name: What reports call it.
        partial: It answers with every quantity.
        agent: The core's agent.
    """

    name = "core"
    partial = False

    def __init__(self, problem: Problem):
        p = problem
        self.agent = Agent(p.config, p.observation_size, p.action_size, p.episode_length, p.tasks)
        self._shapes = jax.eval_shape(self.agent.init, jax.random.key(0))

    def names(self, reference: ReferenceState) -> NameMap:
        """Which of its parameters is which; raises `NameMapError` where one is not."""
        ours = {name: leaf.shape for name, leaf in flatten(self._shapes.params).items()}
        return match(ours, {name: v.shape for name, v in reference.parameters.items()})

    def leaves(self, names: NameMap) -> Mapping[str, str]:
        """See `Subject`."""
        return {name: name for name in names.names}

    def carried_over(self, reference: ReferenceState, names: NameMap) -> TrainState:
        """The reference's state, before its first update, as the core's, with fresh moments."""
        params = self._params(names.to_core(reference.parameters))
        left = names.to_core(reference.left_over)
        policy = [v for name, v in left.items() if name.startswith("policy/")]
        norm = np.sqrt(sum(float(np.sum(np.square(v, dtype=np.float64))) for v in policy))
        table = None
        if self._shapes.task_gradient is not None:
            table = jnp.asarray(left.get(TABLE, np.zeros(self._shapes.task_gradient.shape)))
        target = names.to_core(reference.target_q)
        optimizers = self.agent.optimizers
        model: Any = params.model
        return TrainState(
            params=params,
            target_q=_tree({k.removeprefix("q/"): v for k, v in target.items()}),
            model_optimizer=optimizers.model.init(model),
            policy_optimizer=optimizers.policy.init(params.policy),
            scale=jnp.asarray(reference.state["scale"], jnp.float32),
            policy_gradient_norm=jnp.asarray(norm, jnp.float32),
            updates=jnp.asarray(reference.state["updates"], jnp.int32),
            task_gradient=None if table is None else table.astype(jnp.float32),
        )

    def _params(self, arrays: Arrays) -> Params:
        trees = _tree({k: v for k, v in arrays.items() if k != TABLE})
        table = jnp.asarray(arrays[TABLE]) if TABLE in arrays else None
        networks = (trees[name] for name in ("encoder", "dynamics", "reward", "q"))
        model = ModelParams(*networks, tasks=table, termination=trees.get("termination"))
        return Params(model, trees["policy"])

    def step(self, before: TrainState, batch: Arrays, noise: Arrays) -> tuple[Arrays, TrainState]:
        """One plan and one update from the same state: their arrays, and the state after."""
        inputs, batch = parted(batch)
        plan_noise, noise = parted(noise)
        plan = self._plan(
            before.params,
            jnp.asarray(inputs["observation"]),
            jnp.asarray(inputs["previous"]),
            False,
            PlanNoise(**{"q_keep": None, **_arrays(plan_noise)}),
            None if inputs.get("task") is None else jnp.asarray(inputs["task"], jnp.int32),
        )
        fields = _arrays(batch)
        if "task" in fields:
            fields["task"] = fields["task"].astype(jnp.int32)
        given = (Batch(**fields), UpdateNoise(**{"target_keep": None, **_arrays(noise)}))
        named = self._traced(before, *given)
        after, _ = self._update(before, *given)
        return self._read(plan, named, after), after

    @functools.cached_property
    def _plan(self) -> Any:
        return jax.jit(self.agent.plan)

    @functools.cached_property
    def _traced(self) -> Any:
        """What `Agent.update` does not return."""
        return jax.jit(lambda *inputs: self.agent.traced_update(*inputs)[1])

    @functools.cached_property
    def _update(self) -> Any:
        """The program that trains, compiled on its own.

        A compiler rounds otherwise what it need not return.
        """
        return jax.jit(self.agent.update)

    def _read(self, plan: Plan, named: Intermediates, after: TrainState) -> Arrays:
        model, policy, i = named.model, named.policy, plan.iterations
        found = {
            "plan_latent": plan.latent,
            "plan_actions": i.actions,
            "plan_values": i.values,
            "plan_elites": np.sort(np.asarray(i.elites), axis=1),
            "plan_mean": plan.mean,
            "plan_action": plan.action,
            "next_latents": named.targets.next_latents,
            "target_actions": named.targets.policy.action,
            "target_values": named.targets.values,
            "returns": named.targets.returns,
            "latents": model.latents,
            "q_logits": model.q_logits,
            "reward_logits": model.reward_logits,
            "consistency": model.consistency,
            "reward": model.reward,
            "value": model.value,
            "consistency_loss": model.consistency_loss,
            "reward_loss": model.reward_loss,
            "value_loss": model.value_loss,
            "total_loss": model.total,
            "gradient_norm": named.clipped.norm,
            "policy_mean": policy.policy.mean,
            "policy_log_std": policy.policy.log_std,
            "policy_actions": policy.policy.action,
            "policy_entropy": policy.policy.entropy,
            "policy_values": policy.values,
            "policy_loss": policy.total,
            "policy_gradient_norm": named.policy_clipped.norm,
            "scale": after.scale,
            "updates": after.updates,
        }
        if model.ends is not None:
            found["termination_logits"] = model.ends.logits
            found["termination_loss"] = model.ends.loss
        found = {name: np.asarray(value) for name, value in found.items()}
        moments = [_adam(s) for s in (after.model_optimizer, after.policy_optimizer)]
        for tree, params in (
            ("gradient", Params(named.gradients, named.policy_gradients)),
            ("second_moment", Params(*(m.second for m in moments))),
            ("first_moment", Params(*(m.first for m in moments))),
            ("parameter", after.params),
        ):
            leaves = flatten(params)
            found |= {f"{tree}/{name}": np.asarray(leaf) for name, leaf in leaves.items()}
        target = flatten({"q": after.target_q})
        return found | {f"target_q/{name}": np.asarray(leaf) for name, leaf in target.items()}


def _adam(state: optax.OptState) -> AdamState:
    nodes = jax.tree.leaves(state, is_leaf=lambda node: isinstance(node, AdamState))
    (found,) = [node for node in nodes if isinstance(node, AdamState)]
    return found


def flatten(tree: Any) -> dict[str, Any]:
    """The leaves of parameters by path, `network/layer/leaf`; the model's are not set apart."""
    leaves = jax.tree_util.tree_leaves_with_path(tree)
    paths = [jax.tree_util.keystr(path, simple=True, separator="/") for path, _ in leaves]
    return {
        path.removeprefix("model/"): leaf for path, (_, leaf) in zip(paths, leaves, strict=True)
    }


def _tree(leaves: Mapping[str, np.ndarray]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, leaf in leaves.items():
        *folders, name = path.split("/")
        node = tree
        for folder in folders:
            node = node.setdefault(folder, {})
        node[name] = jnp.asarray(leaf)
    return tree


def parted(arrays: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Those of the plan, and those of the update."""
    plan = {k.partition("/")[2]: v for k, v in arrays.items() if k.startswith(f"{PLAN}/")}
    return plan, {k: v for k, v in arrays.items() if not k.startswith(f"{PLAN}/")}


def _arrays(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    return {name: jnp.asarray(value) for name, value in arrays.items()}
