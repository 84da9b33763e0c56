"""One update or one plan of nicklashansen/tdmpc2, with every named intermediate.

Runs inside the side environment, as a table of operations of its own: the arrays are large and
their names depend on the configuration, so they are in no catalogue. The update is the stock
`TDMPC2.update`, the plan the stock `TDMPC2.act`; `reading.py` sees what passes between the
functions that they call.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import torch
from common import math

from reference_harness.tdmpc2 import agent as agents
from reference_harness.tdmpc2.reading import PlanReader, UpdateReader
from reference_harness.tdmpc2.surroundings import Draws, array, given, tensor

Arrays = dict[str, np.ndarray]
_DTYPES = {"float32": torch.float32, "float64": torch.float64}


@contextlib.contextmanager
def _precision(dtype: str) -> Iterator[None]:
    """What the reference makes within it has this dtype, its two-hot support included.

    The paper's era keeps that of the first call for all others.
    """
    math.DREG_BINS = None
    torch.set_default_dtype(_DTYPES[dtype])
    try:
        yield
    finally:
        torch.set_default_dtype(torch.float32)


@functools.lru_cache(maxsize=2)
def _built(settings: str) -> Any:
    chosen = json.loads(settings)
    with _precision(chosen["dtype"]):
        torch.manual_seed(chosen.get("seed", 0))
        configuration = agents.config(
            chosen["observation_size"], chosen["action_size"], **chosen["overrides"]
        )
        agent = agents.build(configuration)
        agent.model.to(_DTYPES[chosen["dtype"]])
        _to_dtype(agent.scale, _DTYPES[chosen["dtype"]])
        return agent


def _to_dtype(scale: Any, dtype: torch.dtype) -> None:
    """The running scale has float32 buffers of its own."""
    for name in ("_value", "value", "_percentiles"):
        if isinstance(value := scale.__dict__.get(name), torch.Tensor):
            setattr(scale, name, value.to(dtype))
    if isinstance(scale, torch.nn.Module):
        scale.to(dtype)


def _scale_tensor(agent: Any) -> torch.Tensor:
    return agent.scale.value if agents.EPISODIC else agent.scale._value


def _agent(settings: Mapping[str, Any]) -> Any:
    return _built(json.dumps(settings, sort_keys=True))


def _optimisers(agent: Any) -> list[tuple[str, Any]]:
    """Names of the parameters that each optimiser trains, and the optimiser."""
    names = {id(p): name for name, p in agents.named_parameters(agent.model).items()}
    return [
        (names[id(parameter)], optimiser)
        for optimiser in (agent.optim, agent.pi_optim)
        for group in optimiser.param_groups
        for parameter in group["params"]
        if id(parameter) in names
    ]


def _state(agent: Any) -> Arrays:
    """Everything that updates change, by name."""
    parameters = agents.named_parameters(agent.model)
    found = {f"parameter/{name}": agents.as_ours(name, p) for name, p in parameters.items()}
    for name, optimiser in _optimisers(agent):
        kept = optimiser.state.get(parameters[name], {})
        for tree, theirs in (("first_moment", "exp_avg"), ("second_moment", "exp_avg_sq")):
            value = kept.get(theirs, torch.zeros_like(parameters[name]))
            found[f"{tree}/{name}"] = agents.as_ours(name, value)
        found["updates"] = np.int64(int(kept.get("step", 0)))
        if (gradient := parameters[name].grad) is not None:
            found[f"left_over/{name}"] = agents.as_ours(name, gradient)
    found["scale"] = array(_scale_tensor(agent)).reshape(())
    return found


def _set_state(agent: Any, state: Mapping[str, np.ndarray]) -> None:
    parameters = agents.named_parameters(agent.model)
    groups: dict[str, Arrays] = {}
    for name, value in state.items():
        tree, _, leaf = name.partition("/")
        groups.setdefault(tree, {})[leaf] = value
    agents.load(agent.model, groups["parameter"])
    dtype = next(iter(parameters.values())).dtype
    for name, optimiser in _optimisers(agent):
        parameter = parameters[name]

        def theirs(tree: str, name: str = name) -> torch.Tensor:
            return tensor(agents.as_theirs(name, groups[tree][name])).to(dtype)

        optimiser.state[parameter] = {
            "step": torch.tensor(float(state["updates"])),
            "exp_avg": theirs("first_moment"),
            "exp_avg_sq": theirs("second_moment"),
        }
        left_over = name in groups.get("left_over", {})
        parameter.grad = theirs("left_over") if left_over else None
    _scale_tensor(agent).data.fill_(float(state["scale"]))


def initial(settings: dict[str, Any]) -> Arrays:
    """The state of a fresh agent.

    Args:
        settings: overrides (keys of config.yaml), observation_size, action_size, dtype (float32
            or float64).
    """
    _built.cache_clear()
    return _state(_agent(settings))


class _Batch:
    """In the place of the replay."""

    def __init__(self, batch: Mapping[str, np.ndarray], dtype: torch.dtype):
        self._batch = {k: tensor(v).to(dtype) for k, v in batch.items() if k != "task"}
        self._task = tensor(batch["task"]).long() if "task" in batch else None

    def sample(self) -> tuple[Any, ...]:
        """What the pin's buffer returns; rewards have a last axis of one number."""
        b = self._batch
        parts = [b["observation"], b["action"], b["reward"][..., None]]
        if agents.EPISODIC:
            parts.append(b["terminated"][..., None])
        return (*parts, self._task)


def update(
    settings: dict[str, Any], state: Arrays, batch: Arrays, noise: Arrays
) -> dict[str, np.ndarray]:
    """One update.

    Args:
        settings: See `initial`.
        state: As `initial` or the update before returned it.
        batch: observation [H + 1, B, ...], action, reward, terminated [H, B, ...], and task [B]
            where there are several.
        noise: Fields of the core's `UpdateNoise`; masks of the drawn networks only.

    Returns:
        trace/..., what was read; state/..., what comes after.
    """
    agent, dtype = _agent(settings), _DTYPES[settings["dtype"]]
    _set_state(agent, state)
    masks = [noise["q_keep"]]
    if "target_keep" in noise:
        masks.insert(0, _of_all(noise["target_keep"], noise["target_q"], agent.cfg.num_q))
    masks.append(_of_all(noise["policy_keep"], noise["policy_q"], agent.cfg.num_q))
    draws = Draws(
        normal=[tensor(noise[name]).to(dtype) for name in ("target_action", "policy_action")],
        members=[noise["target_q"], noise["policy_q"]],
        masks=masks,
    )
    reader = UpdateReader(agent)
    with _precision(settings["dtype"]), given(draws, *reader.changes()):
        reader.told(agent.update(_Batch(batch, dtype)))
    return _prefixed(trace=reader.arrays(), state=_state(agent))


def plan(
    settings: dict[str, Any],
    state: Arrays,
    observation: np.ndarray,
    previous: np.ndarray,
    t0: bool,
    eval_mode: bool,
    noise: Arrays,
    task: int | None = None,
) -> dict[str, np.ndarray]:
    """One plan.

    Args:
        settings: See `initial`.
        state: As `initial` or an update returned it.
        observation: One, in units of the environment.
        previous: The mean of the plan before.
        t0: Whether it is the first of an episode.
        eval_mode: Whether the action is left without exploration.
        noise: Fields of the core's `PlanNoise`; masks of the drawn networks only.
        task: Index of the task, where there are several.

    Returns:
        trace/..., what was read.
    """
    agent, dtype = _agent(settings), _DTYPES[settings["dtype"]]
    _set_state(agent, state)
    normal: list[torch.Tensor] = [tensor(x).to(dtype) for x in noise["policy_action"]]
    masks = []
    for i, samples in enumerate(noise["samples"]):
        normal += [tensor(samples).to(dtype), tensor(noise["value_action"][i]).to(dtype)]
        if "q_keep" in noise:
            masks.append(_of_all(noise["q_keep"][i], noise["q"][i], agent.cfg.num_q))
    if not eval_mode:
        normal.append(tensor(noise["action"]).to(dtype))
    draws = Draws(normal, members=list(noise["q"]), masks=masks, gumbel=[noise["elite"]])
    reader = PlanReader(agent)
    with _precision(settings["dtype"]):
        agent._prev_mean = tensor(previous).to(dtype)
        with given(draws, *reader.changes()):
            action = agent.act(tensor(observation).to(dtype), t0=t0, eval_mode=eval_mode, task=task)
    found = {**reader.arrays(), "action": array(action), "mean": array(agent._prev_mean)}
    return _prefixed(trace=found)


def _of_all(drawn: np.ndarray, members: np.ndarray, count: int) -> np.ndarray:
    """Masks of the drawn networks among those of all; the others drop nothing."""
    every = np.ones((count, *drawn.shape[1:]), bool)
    every[np.asarray(members)] = drawn
    return every


def _prefixed(**groups: Arrays) -> Arrays:
    return {f"{group}/{name}": v for group, values in groups.items() for name, v in values.items()}


OPERATIONS = {
    "tdmpc2.trace_initial": initial,
    "tdmpc2.trace_update": update,
    "tdmpc2.trace_plan": plan,
}
