"""What is compared, in the order in which a step computes it."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np

Kind = Literal["intermediate", "loss", "gradient", "moment", "parameter", "count"]


@dataclasses.dataclass(frozen=True)
class Quantity:
    """One named array of a step, or one leaf of a tree.

    Attributes:
        name: As the tables show it.
        kind: Decides the tolerance; see `compare`.
        row: The registered deviation that acts here, if one does.
    """

    name: str
    kind: Kind = "intermediate"
    row: str = ""

    @property
    def group(self) -> str:
        """The tree that a leaf belongs to, else the name itself."""
        return self.name.partition("/")[0]


def _quantities(kind: Kind, *names: str, row: str = "") -> tuple[Quantity, ...]:
    return tuple(Quantity(name, kind, row) for name in names)


# The model, imagination, actor and critic, and the critic on replayed rows.
INTERMEDIATES = (
    *_quantities("intermediate", "previous_actions", "embed", "deter", "post_logits", "stoch"),
    *_quantities("intermediate", "prior_logits", "decoded", "reward_logits", "continue_logits"),
    *_quantities("loss", "rec_loss", "con_loss", "dyn_loss", "rep_loss"),
    *_quantities("loss", "rew_loss", row="D22"),
    *_quantities("intermediate", "imagined_deter", "imagined_stoch", "imagined_actions"),
    *_quantities("intermediate", "rewards", row="D22"),
    *_quantities("intermediate", "continues", "weights", "policy", "critic_logits"),
    *_quantities("intermediate", "values", "slow_values", "returns", row="D22"),
    *_quantities("intermediate", "normaliser_low", "normaliser_high", "advantages", row="D22"),
    *_quantities("intermediate", "log_probs", "entropies"),
    *_quantities("loss", "actor_loss", "critic_loss", row="D22"),
    *_quantities("intermediate", "replay_critic_logits"),
    *_quantities("intermediate", "replay_slow_values", "replay_returns", row="D22"),
    *_quantities("loss", "repval_loss", "total_loss", row="D22"),
)

# Trees of one array per parameter, and what they are.
_TREES: tuple[tuple[str, Kind], ...] = (
    ("gradient", "gradient"),
    ("second_moment", "moment"),
    ("momentum", "moment"),
    ("parameter", "parameter"),
    ("slow_critic", "parameter"),
)


def quantities(leaves: Iterable[str]) -> tuple[Quantity, ...]:
    """Everything that is compared in a step.

    Args:
        leaves: Names of the parameters, `network/layer/leaf`.
    """
    names = list(leaves)
    slow = [_short("slow_critic", name) for name in names if name.startswith("critic/")]
    of_trees = tuple(
        Quantity(f"{tree}/{leaf}", kind)
        for tree, kind in _TREES
        for leaf in (slow if tree == "slow_critic" else names)
    )
    return (*INTERMEDIATES, *of_trees, Quantity("updates", "count"))


def renamed(arrays: Mapping[str, np.ndarray], leaves: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Arrays under the names of `quantities`, with other names for the parameters.

    Args:
        arrays: By name.
        leaves: The other name of each parameter, `network/layer/leaf`, by the old one.
    """
    names = {
        f"{tree}/{_short(tree, old)}": f"{tree}/{_short(tree, new)}"
        for old, new in leaves.items()
        for tree, _ in _TREES
        if tree != "slow_critic" or old.startswith("critic/")
    }
    return {names.get(name, name): array for name, array in arrays.items()}


def _short(tree: str, leaf: str) -> str:
    return leaf.partition("/")[2] if tree == "slow_critic" else leaf
