"""Environments by name."""

from __future__ import annotations

import difflib

from core.environments import playground_adapter
from core.environments.action_repeat import ActionRepeat
from core.environments.environment import EnvironmentSetupError, TimedEnvironment
from core.environments.time_limit import TimeLimit


def _gymnax_names() -> tuple[str, ...]:
    # gymnax takes a second to import, which only those who need it should wait for.
    from gymnax.registration import registered_envs

    return tuple(registered_envs)


def environment_names() -> tuple[str, ...]:
    """Every name that `make_environment` knows, installed or not."""
    return (*_gymnax_names(), *playground_adapter.NAMES)


def make_environment(
    name: str, *, action_repeat: int = 1, time_limit: int | None = None
) -> TimedEnvironment:
    """Makes an environment: the bare one, a time limit, and an action repeat around both.

    Args:
        name: Of a gymnax environment ("CartPole-v1") or of one of mujoco_playground's
            control suite ("CartpoleBalance").
        action_repeat: Steps of the environment per action.
        time_limit: Steps of the environment (not actions) after which an episode is cut
            off; None takes the environment's default.

    Raises:
        EnvironmentSetupError: No such environment, its package is not installed, a number
            below 1, or actions or observations that are not single arrays.
    """
    for option, value in (("action_repeat", action_repeat), ("time_limit", time_limit)):
        if value is not None and value < 1:
            raise EnvironmentSetupError(f"{option} must be at least 1, not {value}")
    environment = _bare(name, time_limit)
    return ActionRepeat(environment, action_repeat) if action_repeat > 1 else environment


def _bare(name: str, time_limit: int | None) -> TimedEnvironment:
    if name in playground_adapter.NAMES:
        environment = playground_adapter.PlaygroundEnvironment(name)
        return TimeLimit(environment, time_limit or environment.episode_length)
    if name in _gymnax_names():
        from core.environments.gymnax_adapter import GymnaxEnvironment

        return GymnaxEnvironment(name, time_limit=time_limit)
    names = environment_names()
    nearest = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    meant = f"; did you mean {nearest[0]!r}?" if nearest else "."
    raise EnvironmentSetupError(
        f"there is no environment {name!r}{meant} All {len(names)}: {', '.join(names)}"
    )
