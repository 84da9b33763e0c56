"""What is compared, in the order in which a plan and an update compute it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from parity.trace.quantity import Kind, Quantity, of_kind

PLAN = (
    *of_kind("intermediate", "plan_latent", "plan_actions"),
    *of_kind("intermediate", "plan_values", row="T24"),
    *of_kind("count", "plan_elites"),
    *of_kind("intermediate", "plan_mean", "plan_action"),
)

MODEL = (
    *of_kind("intermediate", "next_latents", "target_actions"),
    *of_kind("intermediate", "target_values", "returns", row="T24"),
    *of_kind("intermediate", "latents", "q_logits", "reward_logits"),
    *of_kind("loss", "consistency"),
    *of_kind("loss", "reward", "value", row="T24"),
    *of_kind("loss", "consistency_loss"),
    *of_kind("loss", "reward_loss", "value_loss", row="T24"),
)

ENDS = (
    *of_kind("intermediate", "termination_logits"),
    *of_kind("loss", "termination_loss"),
)

TOTAL = of_kind("loss", "total_loss", row="T24")

POLICY = (
    *of_kind("intermediate", "policy_mean", "policy_log_std", "policy_actions", "policy_entropy"),
    *of_kind("intermediate", "policy_values", row="T24"),
    *of_kind("intermediate", "scale", row="T25"),
    *of_kind("loss", "policy_loss", row="T24"),
)

_AFTER: tuple[tuple[str, Kind], ...] = (
    ("second_moment", "moment"),
    ("first_moment", "moment"),
    ("parameter", "parameter"),
)


def quantities(leaves: Iterable[str]) -> tuple[Quantity, ...]:
    """Everything that is compared in a step.

    Args:
        leaves: Names of the parameters, `network/layer/leaf`. With a termination head among them,
            what it predicts is compared as well.
    """
    names = list(leaves)
    policy = [name for name in names if name.startswith("policy/")]
    model = [name for name in names if name not in policy]

    def trees(*kinds: tuple[str, Kind], of: list[str]) -> tuple[Quantity, ...]:
        return tuple(Quantity(f"{tree}/{leaf}", kind) for tree, kind in kinds for leaf in of)

    return (
        *PLAN,
        *MODEL,
        *(ENDS if any(name.startswith("termination/") for name in names) else ()),
        *TOTAL,
        *trees(("gradient", "gradient"), of=model),
        Quantity("gradient_norm", "norm"),
        *trees(*_AFTER, of=model),
        *POLICY,
        *trees(("gradient", "gradient"), of=policy),
        Quantity("policy_gradient_norm", "norm"),
        *trees(*_AFTER, of=policy),
        *trees(("target_q", "parameter"), of=[n for n in model if n.startswith("q/")]),
        Quantity("updates", "count"),
    )


def renamed(arrays: Mapping[str, np.ndarray], leaves: Mapping[str, str]) -> dict[str, np.ndarray]:
    """Arrays under the names of `quantities`, with other names for the parameters."""
    found = {}
    for name, array in arrays.items():
        tree, _, leaf = name.partition("/")
        found[f"{tree}/{leaves[leaf]}" if leaf in leaves else name] = array
    return found
