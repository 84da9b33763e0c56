"""The arrays that pass between the agent, the replay and the environments."""

from __future__ import annotations

from typing import NamedTuple

from jaxtyping import Array, Bool, Float, Int

from core.spaces import ActionSpace as ActionSpace
from core.spaces import Continuous as Continuous
from core.spaces import Discrete as Discrete

Action = Int[Array, "*batch"] | Float[Array, "*batch size"]


class Rows(NamedTuple):
    """Rows of experience: one observation and what is known when it is seen.

    Any leading axes; one row of one environment has none.

    Attributes:
        observation: Flat vector, in units of the environment.
        action: Taken *after* seeing this observation; zeroed on `is_last` rows.
        reward: Received on entering this row; 0 on `is_first` rows.
        is_first: The first row of an episode, right after the reset.
        is_last: The last row of an episode, terminated or truncated.
        is_terminal: The episode ended by itself: nothing follows this row.
    """

    observation: Float[Array, "*batch observation_size"]
    action: Action
    reward: Float[Array, "*batch"]
    is_first: Bool[Array, "*batch"]
    is_last: Bool[Array, "*batch"]
    is_terminal: Bool[Array, "*batch"]


class Latent(NamedTuple):
    """A state of the world model in the form that replay stores.

    Attributes:
        deter: The deterministic, recurrent part.
        stoch: Class index of each categorical variable; one-hot inside the networks.
    """

    deter: Float[Array, "*batch deter"]
    stoch: Int[Array, "*batch stoch"]


class Context(NamedTuple):
    """The row before a training sequence.

    Attributes:
        latent: The stored posterior of that row, one per sequence.
        action: The action of that row.
    """

    latent: Latent
    action: Action
