"""What a loss computes on its way, under the names that traces and metrics use."""

from __future__ import annotations

import jax.numpy as jnp
from jaxtyping import Array, Float

from core.dreamerv3.actor_critic import ImaginationLosses, ReplayLosses
from core.dreamerv3.world_model import Imagined, ModelLosses, Observed


def intermediates(
    total: Float[Array, ""],
    observed: Observed,
    model: ModelLosses,
    imagined: Imagined,
    imagination: ImaginationLosses,
    replay: ReplayLosses,
) -> dict[str, Array]:
    """Every named intermediate of a loss, batch-major, in the order of computation."""

    def batch_major(x: Array) -> Array:
        return x.swapaxes(0, 1)

    def with_last(x: Array, last: Array) -> Array:
        return batch_major(jnp.concatenate([x, last[None]]))

    a, r = imagination, replay
    return {
        "embed": observed.embed,
        "deter": observed.states.deter,
        "post_logits": observed.post_logits,
        "stoch": observed.states.stoch,
        "prior_logits": observed.prior_logits,
        "decoded": model.decoded,
        "reward_logits": model.reward_logits,
        "continue_logits": model.continue_logits,
        "rec_loss": model.rec,
        "rew_loss": model.rew,
        "con_loss": model.con,
        "dyn_loss": model.dyn,
        "rep_loss": model.rep,
        "imagined_deter": with_last(imagined.states.deter, imagined.last_state.deter),
        "imagined_stoch": with_last(imagined.states.stoch, imagined.last_state.stoch),
        "imagined_actions": with_last(imagined.actions, imagined.last_action),
        "rewards": batch_major(a.rewards),
        "continues": batch_major(a.continues),
        "weights": batch_major(a.weights),
        "actor_outputs": batch_major(a.actor_outputs),
        "critic_logits": batch_major(a.critic_logits),
        "values": batch_major(a.values),
        "slow_values": batch_major(a.slow_values),
        "returns": batch_major(a.returns),
        "normaliser_low": a.normaliser.low,
        "normaliser_high": a.normaliser.high,
        "advantages": batch_major(a.advantages),
        "log_probs": batch_major(a.log_probs),
        "entropies": batch_major(a.entropies),
        "actor_loss": batch_major(a.actor),
        "critic_loss": batch_major(a.critic),
        "replay_critic_logits": r.critic_logits,
        "replay_slow_values": r.slow_values,
        "replay_returns": r.returns,
        "repval_loss": r.critic,
        "total_loss": total,
    }
