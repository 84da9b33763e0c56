"""What is compared, in the order in which a step computes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from parity.trace.quantity import Kind, Quantity, of_kind

# The model, imagination, actor and critic, and the critic on replayed rows.
INTERMEDIATES = (
    *of_kind("intermediate", "previous_actions", "embed", "deter", "post_logits", "stoch"),
    *of_kind("intermediate", "prior_logits", "decoded", "reward_logits", "continue_logits"),
    *of_kind("loss", "rec_loss", "con_loss", "dyn_loss", "rep_loss"),
    *of_kind("loss", "rew_loss", row="D22"),
    *of_kind("intermediate", "imagined_deter", "imagined_stoch", "imagined_actions"),
    *of_kind("intermediate", "rewards", row="D22"),
    *of_kind("intermediate", "continues", "weights", "policy", "critic_logits"),
    *of_kind("intermediate", "values", "slow_values", "returns", row="D22"),
    *of_kind("intermediate", "normaliser_low", "normaliser_high", "advantages", row="D22"),
    *of_kind("intermediate", "log_probs", "entropies"),
    *of_kind("loss", "actor_loss", "critic_loss", row="D22"),
    *of_kind("intermediate", "replay_critic_logits"),
    *of_kind("intermediate", "replay_slow_values", "replay_returns", row="D22"),
    *of_kind("loss", "repval_loss", "total_loss", row="D22"),
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
