"""What one update reports, under the names of the protocol's section 5.4."""

from __future__ import annotations

from collections.abc import Mapping

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float

from core.dreamerv3 import distributions, normaliser
from core.dreamerv3.config import Config
from core.dreamerv3.distributions import CategoricalPolicy, Policy
from core.dreamerv3.normaliser import Percentiles
from core.dreamerv3.types import Rows

LOSSES = ("rec", "rew", "con", "dyn", "rep", "actor", "critic", "repval")

Metrics = dict[str, Float[Array, ""]]


def statistics(name: str, values: Float[Array, "*shape"]) -> Metrics:
    """Mean, deviation, mean magnitude, least and largest of an array."""
    return {
        f"{name}/mean": values.mean(),
        f"{name}/std": values.std(),
        f"{name}/mag": jnp.abs(values).mean(),
        f"{name}/min": values.min(),
        f"{name}/max": values.max(),
    }


def update_metrics(aux: Mapping[str, Array], rows: Rows, policy: Policy, config: Config) -> Metrics:
    """Metrics of a loss and its intermediates, as `Agent.loss` names them.

    Losses are unscaled means over their elements, with their standard deviations.
    """
    metrics: Metrics = {}
    for name in LOSSES:
        metrics[f"{name}_loss"] = aux[f"{name}_loss"].mean()
        metrics[f"{name}_loss_std"] = aux[f"{name}_loss"].std()
    low, high = policy.entropy_range()
    retnorm = Percentiles(aux["normaliser_low"], aux["normaliser_high"])
    scale = normaliser.scale(retnorm, limit=config.retnorm_limit)
    actions = aux["imagined_actions"].astype(jnp.float32)
    if isinstance(policy, CategoricalPolicy):
        actions = jnp.argmax(actions, axis=-1).astype(jnp.float32)
    described = {
        "ent/action": aux["entropies"],
        "rand/action": (aux["entropies"] - low) / (high - low),
        "act/action": actions,
        "adv": aux["advantages"],
        "rew": aux["rewards"],
        "weight": aux["weights"],
        "val": aux["values"],
        "ret": aux["returns"],
        "ret_normed": (aux["returns"] - retnorm.low) / scale,
        "replay_ret": aux["replay_returns"],
        "prior_ent": _latent_entropy(aux["prior_logits"]),
        "post_ent": _latent_entropy(aux["post_logits"]),
    }
    for name, values in described.items():
        metrics.update(statistics(name, values))
    metrics["td_error"] = jnp.abs(aux["returns"] - aux["values"][:, :-1]).mean()
    metrics["ret_rate"] = (jnp.abs(aux["returns"]) > 1.0).mean()
    for name, values in (("data_rew", rows.reward), ("pred_rew", aux["rewards"])):
        metrics[f"{name}/max"] = jnp.abs(values).max()
        metrics[f"{name}/mean"] = values.mean()
        metrics[f"{name}/std"] = values.std()
    metrics["activation/embed"] = jnp.abs(aux["embed"].astype(jnp.float32)).mean()
    return metrics


def optimizer_metrics(
    loss: Float[Array, ""],
    gradients: optax.Params,
    updates: optax.Params,
    params: optax.Params,
    count: Array,
) -> Metrics:
    """Metrics of the optimizer's step.

    Args:
        loss: The total.
        gradients: Before clipping.
        updates: What was added to the parameters.
        params: After the step.
        count: Updates so far, this one included.
    """
    return {
        "opt_loss": loss,
        "opt_grad_norm": optax.tree.norm(gradients),
        "opt_update_norm": optax.tree.norm(updates),
        "opt_param_norm": optax.tree.norm(params),
        "opt_grad_steps": count,
    }


def watched(metrics: Mapping[str, object]) -> tuple[str, ...]:
    """The metrics that must be finite, in the order in which an update computes them.

    Every term of the loss, the total, then the norms: a fault is named where it began.
    """
    order = [f"{name}_loss" for name in (*LOSSES, "opt")]
    order += [f"opt_{name}_norm" for name in ("grad", "update", "param")]
    return tuple(name for name in order if name in metrics)


def _latent_entropy(logits: Float[Array, "*batch stoch classes"]) -> Float[Array, "*batch"]:
    return distributions.categorical_entropy(logits.astype(jnp.float32)).sum(-1)
