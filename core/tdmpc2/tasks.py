"""Several tasks in one agent: where they differ, and what tells them apart.

Observations and actions are padded with zeros to the longest of any task. Each task has a
learned vector, which is one more input of every network, and a mask of the actions it has.

Source: paper, section 3.4; `common/world_model.py:14-27,79-99@5f6fade`.
"""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from core.config import ConfigError

MAX_NORM = 1.0  # of a task's vector
INITIAL_RANGE = 0.02  # its numbers start in ± this


@dataclasses.dataclass(frozen=True)
class Tasks:
    """The tasks of one agent, in the order of their indices.

    Attributes:
        names: All different.
        observation_sizes: Lengths of their observations.
        action_sizes: Lengths of their actions.
        episode_lengths: Steps of their episodes, which their discounts follow.

    Raises:
        ConfigError: There is no task, two have one name, or a length is missing or below 1.
    """

    names: tuple[str, ...]
    observation_sizes: tuple[int, ...]
    action_sizes: tuple[int, ...]
    episode_lengths: tuple[int, ...]

    def __post_init__(self) -> None:
        if not self.names or len(set(self.names)) < len(self.names):
            raise ConfigError(
                f"tasks need one or more different names, not {', '.join(self.names) or 'none'}"
            )
        for field in ("observation_sizes", "action_sizes", "episode_lengths"):
            values = getattr(self, field)
            if len(values) != len(self.names) or min(values) < 1:
                raise ConfigError(
                    f"{field} of {len(self.names)} tasks: as many numbers of at least 1 are "
                    f"expected, not {', '.join(map(str, values)) or 'none'}"
                )

    def __len__(self) -> int:
        return len(self.names)

    @property
    def observation_size(self) -> int:
        """The longest observation; others are padded with zeros."""
        return max(self.observation_sizes)

    @property
    def action_size(self) -> int:
        """The longest action; the numbers that a task lacks are always 0."""
        return max(self.action_sizes)

    @property
    def masks(self) -> Float[np.ndarray, "tasks actions"]:
        """1 for every number of an action that a task has, else 0."""
        sizes = np.asarray(self.action_sizes)[:, None]
        return (np.arange(self.action_size) < sizes).astype(np.float32)


class Task(NamedTuple):
    """What the networks are told of the task of each state.

    Attributes:
        vector: The learned one.
        mask: Of its actions.
    """

    vector: Float[Array, "*batch task_dim"]
    mask: Float[Array, "*batch actions"]


def shortened(vectors: Float[Array, "*batch task_dim"]) -> Float[Array, "*batch task_dim"]:
    """Vectors with a norm of at most 1; no gradient flows into the norm.

    Source: `torch.nn.Embedding(max_norm=1)`, which adds 1e-7 to the norm it divides by.
    """
    norm = jnp.linalg.norm(vectors, axis=-1, keepdims=True)
    factor = jnp.where(norm > MAX_NORM, MAX_NORM / (norm + 1e-7), 1.0)
    return vectors * jax.lax.stop_gradient(factor)


def shorten_rows(
    table: Float[Array, "tasks task_dim"], index: Int[Array, " batch"]
) -> Float[Array, "tasks task_dim"]:
    """A table whose rows with these indices are shortened, and no others.

    Training does this whenever it reads the table, as the reference does; an evaluation reads
    shortened vectors and leaves the table alone, which the reference does not (row T15).
    """
    return table.at[index].set(shortened(table[index]))
