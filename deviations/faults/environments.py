"""Faults of environments: how episodes begin and end."""

from __future__ import annotations

from functools import partial
from typing import Any

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "environments"


def _episodes(**parts: Any) -> OperationTable:
    """The core's wrappers and collector, with a part replaced."""
    from parity.core_subject.dreamerv3.rows import Parts
    from parity.core_subject.environments import episodes

    chosen = Parts(**parts)
    return {
        "environments.action_repeat": partial(episodes.action_repeat, parts=chosen),
        "environments.episode_starts": partial(episodes.episode_starts, parts=chosen),
    }


def _running_on() -> OperationTable:
    """Repeats go on after the end, and the last one's flags alone are kept."""
    import jax

    from core.environments.action_repeat import ActionRepeat

    class RunningOn(ActionRepeat):
        def step(self, key, state, action):
            def once(state, key):
                state, *rest = self._environment.step(key, state, action)
                return state, rest

            # What lies under the repeat says that it is over on one step, and not again.
            state, seen = jax.lax.scan(once, state, jax.random.split(key, self._repeats))
            observation, reward, terminated, truncated = seen
            ends = terminated[-1] & ~terminated[-2], truncated[-1]
            return state, observation[-1], reward.sum(), *ends

    return _episodes(repeat=RunningOn)


def _limit_in_actions() -> OperationTable:
    """The time limit counts actions."""
    from core.environments.action_repeat import ActionRepeat
    from core.environments.time_limit import TimeLimit

    class Unlimited(TimeLimit):
        def __init__(self, environment, limit):
            super().__init__(environment, 1 << 30)
            self.limit = limit

    class Limited(TimeLimit):
        def __init__(self, environment, repeats):
            limit = -(-environment.limit // repeats)
            super().__init__(ActionRepeat(environment, repeats), limit)

    return _episodes(limit=Unlimited, repeat=Limited)


def _cached_start() -> OperationTable:
    """Every episode restarts from the first one's state."""
    import jax

    from core.environments import rows as collector

    class Cached:
        def __init__(self, environment):
            self._environment = environment
            self.step = environment.step

        def reset(self, key):
            del key
            return self._environment.reset(jax.random.key(0))

    return _episodes(
        init=lambda environment, key: collector.init(Cached(environment), key),  # type: ignore
        advance=lambda environment, state, action: collector.advance(
            Cached(environment),  # type: ignore[arg-type]
            state,
            action,
        ),
    )


def _invented_task() -> OperationTable:
    """A task is offered that nobody has."""
    import numpy as np

    from parity.core_subject.environments import physics

    def offered(task):
        found = physics.offered(task)["offered"]
        return {"offered": np.asarray(found | (task == "DogRun"), bool)}

    return {"environments.offered": offered}


def _stock_options() -> OperationTable:
    """Options are told that are not simulated with."""
    import numpy as np

    from parity.core_subject.environments import physics

    def wrong(task):
        told = physics.physics_options(task)
        return told | {"timestep": told["control_timestep"], "integrator": np.asarray(1, np.int64)}

    return {"environments.physics_options": wrong}


def _actions_late() -> OperationTable:
    """Every action is taken one step late."""
    import numpy as np

    from parity.core_subject.environments import physics

    def wrong(actions, **inputs):
        late = np.concatenate([np.zeros_like(actions[:1]), actions[:-1]])
        return physics.trajectory(actions=late, **inputs)

    return {"environments.trajectory": wrong}


def _still() -> OperationTable:
    """A state that never moves."""
    import numpy as np

    from parity.core_subject.environments import physics

    def wrong(qpos, **inputs):
        answer = physics.trajectory(qpos=qpos, **inputs)
        return answer | {"qpos": np.broadcast_to(qpos, answer["qpos"].shape).copy()}

    return {"environments.trajectory": wrong}


_SUITE = "mujoco_playground"

FAULTS = (
    Fault("X423", "a task that nobody has", KIND, _invented_task, ("E18/core-unavailable",)),
    Fault(
        "X424",
        "options that are not simulated with",
        KIND,
        _stock_options,
        ("E18/timesteps", "E18/integrators"),
        needs=_SUITE,
    ),
    Fault(
        "X425",
        "actions one step late",
        KIND,
        _actions_late,
        ("E18/core-same-options",),
        needs=_SUITE,
    ),
    Fault(
        "X426",
        "a state that never moves",
        KIND,
        _still,
        ("E18/core-own", "E18/core-same-options"),
        needs=_SUITE,
    ),
    Fault(
        "X420",
        "an action repeat that runs past the end",
        KIND,
        _running_on,
        ("E19/core-stops", "E19/core-tells"),
        "brax's EpisodeWrapper",
    ),
    Fault("X421", "a time limit in actions", KIND, _limit_in_actions, ("E19/core-limit",)),
    Fault(
        "X422",
        "episodes that restart from one cached state",
        KIND,
        _cached_start,
        ("E20/core",),
        "mujoco_playground's training wrapper",
    ),
)
