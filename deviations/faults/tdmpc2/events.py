"""Faults of what a plan starts from, of evaluations, and of how a run of TD-MPC2 ends."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "order of a run"
EVENTS = "run_events"


def _answered(change: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]):
    """What a run would tell in which some of it is otherwise."""

    def overrides() -> OperationTable:
        from parity.core_subject.tdmpc2 import TABLE

        def run_events(**inputs: Any) -> dict[str, Any]:
            return change(inputs, dict(TABLE["tdmpc2.run_events"](**inputs)))

        return {"tdmpc2.run_events": run_events}

    return overrides


def _direct(id: str, title: str, change: Any, *caught: str) -> Fault:
    return Fault(id, title, KIND, _answered(change), caught)


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


# What a plan starts from.


def _first_mean_for_all(sound, agent, params, carry, observation, t0, noise, task=None):
    same = _jnp().broadcast_to(carry[:1], carry.shape)
    return sound(agent, params, same, observation, t0, noise, task)


def _first_episode_for_all(sound, agent, params, carry, observation, t0, noise, task=None):
    same = _jnp().broadcast_to(t0[:1], t0.shape)
    return sound(agent, params, carry, observation, same, noise, task)


def _never_forgets(sound, previous, t0):
    return sound(previous, _jnp().zeros_like(t0))


def _evaluation_leaves_its_mean(inputs, answer):
    """As in the reference: the first plan starts from the last evaluation's mean."""
    before = answer["before"].copy()
    first = int(answer["planned"].argmax())
    if (answer["evaluated"] <= first).any():
        before[first] = -2
    return {**answer, "before": before}


# Evaluations.


def _at_step_0(inputs, answer):
    """As in the reference: an untrained agent is evaluated too."""
    import numpy as np

    if not inputs["eval_episodes"]:
        return answer
    evaluated = np.append(0, answer["evaluated"])
    starts = np.concatenate([answer["eval_start"][:1] / 2, answer["eval_start"]])
    return {**answer, "evaluated": evaluated, "eval_start": starts}


def _at_the_end_of_an_episode(inputs, answer):
    """An evaluation that falls due within an episode waits for its end."""
    length = inputs["length"]
    return {**answer, "evaluated": -(-answer["evaluated"] // length) * length}


def _one_interval_late(inputs, answer):
    """The first evaluation comes an interval late."""
    return {name: x[1:] if name.startswith("eval") else x for name, x in answer.items()}


def _in_the_training_environment(inputs, answer):
    """As in the reference: what training draws next depends on what evaluations have drawn."""
    start = answer["start"].copy()
    for step in answer["evaluated"].tolist():
        start[step:] = (start[step:] + inputs["eval_episodes"] / 8) % 1
    return {**answer, "start": start}


def _same_states(sound, act, environment, carry, key, episodes):
    import jax

    return sound(act, environment, carry, jax.random.key(0), episodes)


# Episodes that end by themselves.


def _uncounted(sound, seen, entered, last, step):
    return seen


def _on_time_is_fine(sound, seen, entered, last, step):
    return sound(seen, entered._replace(is_terminal=entered.is_last & ~last), last, step)


def _any_end(sound, seen, entered, last, step):
    return sound(seen, entered, _jnp().zeros_like(last), step)


def _refused_in_episodic_mode(inputs, answer):
    """The episodic mode takes no terminations either."""
    import numpy as np

    if not inputs["episodic"]:
        return answer
    return {**answer, "error": np.asarray(1, np.int64)}


FAULTS: tuple[Fault, ...] = (
    fault(
        "X710",
        "one mean for the plans of all environments",
        KIND,
        EVENTS,
        within("parity.core_subject.tdmpc2.scripted:Counting", "act", _first_mean_for_all),
        "T7/core-memory",
    ),
    fault(
        "X711",
        "an episode of the first environment taken for one of all",
        KIND,
        EVENTS,
        within("parity.core_subject.tdmpc2.scripted:Counting", "act", _first_episode_for_all),
        "T7/core-memory",
    ),
    fault(
        "X712",
        "a new episode's plan started from the last one's mean",
        KIND,
        EVENTS,
        within("core.tdmpc2.planner", "warm_start", _never_forgets),
        "T7/core-memory",
        "T8/one",
    ),
    _direct(
        "X713",
        "the first plan started from an evaluation's mean, as the reference does",
        _evaluation_leaves_its_mean,
        "T8/core",
        "T9/core-mean",
    ),
    _direct("X720", "an evaluation at step 0", _at_step_0, "T9/core-when"),
    _direct(
        "X721",
        "evaluations that wait for the end of an episode",
        _at_the_end_of_an_episode,
        "T9/core-when",
    ),
    _direct(
        "X722",
        "the first evaluation an interval late",
        _one_interval_late,
        "T9/core-when",
        "T9/same-steps",
    ),
    _direct(
        "X723",
        "evaluations in the training environment, as the reference does",
        _in_the_training_environment,
        "T9/core-environment",
    ),
    fault(
        "X724",
        "evaluations that always start from the same states",
        KIND,
        EVENTS,
        within("core.tdmpc2.train", "play", _same_states),
        "T9/core-starts",
    ),
    fault(
        "X730",
        "episodes that end by themselves not counted",
        KIND,
        EVENTS,
        within("core.tdmpc2.terminations", "add", _uncounted),
        "T10/core",
        "T10/core-last",
    ),
    fault(
        "X731",
        "an episode that ends by itself with its last step not counted",
        KIND,
        EVENTS,
        within("core.tdmpc2.terminations", "add", _on_time_is_fine),
        "T10/core-last",
    ),
    fault(
        "X732",
        "every end of an episode counted",
        KIND,
        EVENTS,
        within("core.tdmpc2.terminations", "add", _any_end),
        "T10/core",
    ),
    _direct(
        "X733",
        "episodes that end by themselves refused in the episodic mode too",
        _refused_in_episodic_mode,
        "T10/core-episodic",
    ),
)
