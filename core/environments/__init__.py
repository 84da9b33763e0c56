"""Environments behind one interface, and the collector that turns them into rows."""

from core.environments.catalogue import environment_names, make_environment
from core.environments.environment import Environment, EnvironmentSetupError, TimedEnvironment

__all__ = [
    "Environment",
    "EnvironmentSetupError",
    "TimedEnvironment",
    "environment_names",
    "make_environment",
]
