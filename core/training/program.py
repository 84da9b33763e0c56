"""A training run as a handful of pure functions of its state, whatever the agent."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, TypeVar

import jax
import numpy as np
from jaxtyping import Array, Float, Int, PRNGKeyArray

from core.training.windows import Fault


class Trained(Protocol):
    """What the loop reads of an agent's state."""

    @property
    def updates(self) -> Int[Array, " seeds"]:
        """How many there were."""
        ...


class Learner(Protocol):
    """What the loop reads of the seeds."""

    @property
    def key(self) -> PRNGKeyArray:
        """Where all of a seed's random numbers come from."""
        ...

    @property
    def train(self) -> Trained:
        """The agent's state."""
        ...

    @property
    def fault(self) -> Fault:
        """The first loss that was not finite."""
        ...


class RunState(NamedTuple):
    """All that a run needs to go on: what a checkpoint holds.

    Attributes:
        tick: Ticks that have run.
        learners: The seeds: a `Learner`, every array of which has a leading axis of seeds.
    """

    tick: Int[Array, ""]
    learners: Any


Metrics = dict[str, Float[Array, " seeds"]]


def evaluation_figures(scores: np.ndarray, lengths: np.ndarray) -> dict[str, np.ndarray]:
    """What is logged of an evaluation in one environment: [seeds, episodes] each."""
    return {
        "eval/return": scores.mean(-1),
        "eval/length": lengths.mean(-1),
        "eval/returns": scores,
        "eval/lengths": lengths,
    }


@dataclasses.dataclass(frozen=True)
class Train:
    """The pure functions of a training run; `jax.jit` them with the state donated.

    Attributes:
        init: Seeds' keys [seeds] to the state before the first row.
        chunk: A state and a number of ticks (an int32 array) to the state after them, and
            the metrics so far of the window that the last of them lies in. It may stop
            early, and amid a tick, if that has more updates than others.
        evaluate: A state to returns and lengths [seeds, episodes] of fresh episodes, which
            depend on nothing but the state.
        terms: Names of the losses that `Fault.term` counts.
        loss: The metric that stands for how well it learns, where there is room for one.
        ticks_without_updates: Ticks before the one with the first update.
        fit: A state as it was saved to one whose replay has the size of this run; raises
            ValueError if no run of that size could have come to it.
        check: Of a state and the seeds: raises `RunError` if the run must not go on.
        shareable: Whether seeds come to the same ticks wherever they are computed.
        constants: Further arguments of `chunk`: arrays that never change, that all seeds share,
            and that no checkpoint holds.
        figures: Of an evaluation's returns and lengths: what is logged, by name, with a leading
            axis of seeds.
    """

    init: Callable[[PRNGKeyArray], RunState]
    chunk: Callable[..., tuple[RunState, Metrics]]
    evaluate: Callable[[RunState], tuple[Float[Array, "seeds n"], Int[Array, "seeds n"]]]
    terms: tuple[str, ...]
    loss: str
    ticks_without_updates: int
    fit: Callable[[RunState], RunState] = lambda state: state
    check: Callable[[RunState, tuple[int, ...]], None] = lambda state, seeds: None
    shareable: bool = True
    constants: tuple[Any, ...] = ()
    figures: Callable[[np.ndarray, np.ndarray], dict[str, np.ndarray]] = evaluation_figures


OfSeed = TypeVar("OfSeed", bound=Learner)
Result = TypeVar("Result")


def for_seeds(
    function: Callable[[OfSeed, Int[Array, ""]], Result], learners: OfSeed, number: Int[Array, ""]
) -> Result:
    """`function` of every seed and the same number.

    One seed goes without `vmap`: XLA's CPU backend takes longer for sums and products with
    an axis of length 1 in front.
    """
    if len(learners.key) > 1:
        return jax.vmap(function, in_axes=(0, None))(learners, number)
    alone = jax.tree.map(lambda x: x.reshape(x.shape[1:]), learners)
    return jax.tree.map(lambda x: x.reshape(1, *x.shape), function(alone, number))
