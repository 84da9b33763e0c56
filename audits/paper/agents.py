"""The agents' configurations, through their own loaders."""

from __future__ import annotations

from typing import Any

from audits.paper.registry import RunSpec


def agent_config(spec: RunSpec) -> Any:
    """The agent's configuration object of a run.

    Raises:
        ConfigError: The settings are none of the agent's.
    """
    if spec.agent == "dreamerv3":
        from core.dreamerv3.config import Config
    else:
        from core.tdmpc2.config import Config
    settings = dict(spec.settings)
    return Config.of_size(settings.pop("size"), **settings)


def resolved(spec: RunSpec) -> dict[str, Any]:
    """Every number of the agent that a run trains, by key."""
    return agent_config(spec).to_dict()
