"""Objects that answer with what is prescribed, in the place of the stock agent's own.

Runs inside the side environment; see `stage.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jax.numpy as jnp


class Numbers:
    """A distribution whose answers are prescribed, one number per state."""

    def __init__(self, mean: Any, log_prob: Any = None, entropy: Any = None):
        self._mean, self._log_prob, self._entropy = mean, log_prob, entropy

    def mean(self) -> Any:
        """The prescribed numbers."""
        return self._mean

    def log_prob(self, value: Any) -> Any:
        """The prescribed numbers, whatever the value."""
        del value
        return jnp.zeros_like(self._mean) if self._log_prob is None else self._log_prob

    def entropy(self) -> Any:
        """The prescribed numbers."""
        return self._entropy

    def sample(self, seed: Any = None) -> Any:
        """The prescribed mean."""
        del seed
        return self._mean


class Acting:
    """A policy's distribution whose draws are prescribed; all else is the policy's own."""

    def __init__(self, dist: Any, drawn: Any):
        self._dist, self._drawn = dist, drawn

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dist, name)

    def sample(self, seed: Any = None) -> Any:
        """The prescribed draw."""
        del seed
        return self._drawn


class Changed:
    """The agent's configuration with a few values replaced, maybe by traced ones."""

    def __init__(self, config: Any, changed: Mapping[str, Any]):
        self._config, self._changed = config, changed

    def __getattr__(self, name: str) -> Any:
        return self._changed[name] if name in self._changed else getattr(self._config, name)
