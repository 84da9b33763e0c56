"""Actor and critic: returns, weights, advantages and their losses.

Imagined trajectories are time-major, [H, N]; replayed ones batch-major, [B, T].

Source: paper, sections "Critic learning" and "Actor learning", equations 6 to 13;
`agent.py:285-353@29eb964`.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from core.dreamerv3 import normaliser, twohot
from core.dreamerv3.config import Config
from core.dreamerv3.distributions import Policy
from core.dreamerv3.networks import apply
from core.dreamerv3.normaliser import Percentiles
from core.dreamerv3.types import Rows
from core.dreamerv3.world_model import Imagined, Networks, Params


def lambda_returns(
    rewards: Float[Array, "steps batch"],
    discounts: Float[Array, "steps batch"],
    lambdas: Float[Array, "steps batch"] | float,
    values: Float[Array, "steps batch"],
) -> Float[Array, "steps batch"]:
    """λ-returns of steps whose outcomes are given.

    R_t = r_t + d_t · ((1 − λ_t) · v_t + λ_t · R_{t+1}), and R after the last step is the
    last value. Everything is of the state that step t leads to: the reward received on
    entering it, the discount of what follows it, and its value.

    Args:
        rewards: r.
        discounts: d, 0 where nothing follows.
        lambdas: λ, 0 where the return must not be followed any further.
        values: v.

    Returns:
        Returns of the states that the steps start from.
    """
    mixed = rewards + (1 - lambdas) * discounts * values
    traces = jnp.broadcast_to(discounts * lambdas, mixed.shape)

    def step(following: Array, inputs: tuple[Array, Array]) -> tuple[Array, Array]:
        mixed, trace = inputs
        total = mixed + trace * following
        return total, total

    return jax.lax.scan(step, values[-1], (mixed, traces), reverse=True)[1]


class ImaginationLosses(NamedTuple):
    """The losses on imagined states and what they are made of; time-major.

    H counted states, and H + 1 where the last state is included.

    Attributes:
        rewards: Of all states; the first is that of the replayed row.
        continues: Likewise.
        weights: How much each state counts: the chance that it is reached.
        values: The critic's predictions.
        slow_values: The slow critic's predictions.
        returns: λ-returns.
        normaliser: The return normaliser, updated with them.
        advantages: (return − value) / scale.
        actor_outputs: The actor's raw outputs.
        log_probs: Of the imagined actions.
        entropies: Of the policy.
        critic_logits: Of the critic.
        actor: Loss of each state.
        critic: Loss of each state.
    """

    rewards: Float[Array, "H1 N"]
    continues: Float[Array, "H1 N"]
    weights: Float[Array, "H1 N"]
    values: Float[Array, "H1 N"]
    slow_values: Float[Array, "H N"]
    returns: Float[Array, "H N"]
    normaliser: Percentiles
    advantages: Float[Array, "H N"]
    actor_outputs: Float[Array, "H N outputs"]
    log_probs: Float[Array, "H N"]
    entropies: Float[Array, "H N"]
    critic_logits: Float[Array, "H N bins"]
    actor: Float[Array, "H N"]
    critic: Float[Array, "H N"]


def imagination_losses(
    networks: Networks,
    config: Config,
    policy: Policy,
    params: Params,
    retnorm: Percentiles,
    imagined: Imagined,
    start_reward: Float[Array, " N"],
    start_continue: Float[Array, " N"],
) -> ImaginationLosses:
    """The unscaled losses of actor and critic on imagined trajectories.

    The actor follows the score function with normalised advantages; the critic regresses
    to the returns and, as a regulariser, to the slow critic. States count with the chance
    that they are reached, so nothing is learned beyond the end of an episode.

    Args:
        networks: The networks.
        config: The configuration.
        policy: The distribution of actions.
        params: Parameters of the networks.
        retnorm: The return normaliser before this batch.
        imagined: The trajectories.
        start_reward: Replayed rewards of the states where they start.
        start_continue: 0 where such a state is terminal, otherwise 1, without a discount.
    """
    stop = jax.lax.stop_gradient
    bins = twohot.make_bins(config.bins)
    rewards = jnp.concatenate([start_reward[None], imagined.rewards])
    continues = jnp.concatenate([start_continue[None], imagined.continues])
    weights = stop(jnp.cumprod(continues, axis=0))
    values, slow_values = imagined.values, imagined.slow_values

    returns = lambda_returns(rewards[1:], continues[1:], config.lam, values[1:])
    retnorm = normaliser.update(retnorm, returns, rate=config.retnorm_rate)
    advantages = (returns - values[:-1]) / normaliser.scale(retnorm, limit=config.retnorm_limit)

    outputs = imagined.actor_outputs
    log_probs = policy.log_prob(outputs, imagined.actions.astype(jnp.float32))
    entropies = policy.entropy(outputs)
    actor = -weights[:-1] * (log_probs * advantages + config.actent * entropies)

    critic_logits = imagined.critic_logits
    critic = twohot.loss(critic_logits, returns, bins)
    critic += config.slowreg * twohot.loss(critic_logits, slow_values, bins)
    return ImaginationLosses(
        rewards,
        continues,
        weights,
        values,
        slow_values,
        returns,
        retnorm,
        advantages,
        outputs,
        log_probs,
        entropies,
        critic_logits,
        actor=actor,
        critic=weights[:-1] * critic,
    )


class ReplayLosses(NamedTuple):
    """The critic's loss on replayed rows; the last row of a sequence has none.

    Attributes:
        critic_logits: Of the critic.
        slow_values: The slow critic's predictions.
        returns: λ-returns of all rows but the last.
        critic: Loss of each, 0 on the last row of an episode.
    """

    critic_logits: Float[Array, "B T bins"]
    slow_values: Float[Array, "B T"]
    returns: Float[Array, "B T1"]
    critic: Float[Array, "B T1"]


def replay_losses(
    networks: Networks,
    config: Config,
    params: Params,
    slow_critic: Params,
    features: tuple[Array, ...],
    rows: Rows,
    bootstrap: Float[Array, "B T"],
) -> ReplayLosses:
    """The unscaled loss of the critic on replayed trajectories.

    Its gradient also trains the world model. The values in the returns are the imagined
    returns of the same rows, not the critic's predictions.

    Args:
        networks: The networks.
        config: The configuration.
        params: Parameters of the networks.
        slow_critic: Parameters of the slow critic.
        features: Of the rows' states, [B, T, ...].
        rows: Reward and flags are read.
        bootstrap: Imagined return from each row.

    Source: `agent.py:329-353@29eb964`.
    """
    stop = jax.lax.stop_gradient
    bins = twohot.make_bins(config.bins)
    critic_logits = apply(networks.critic, params["critic"], *features)
    slow_values = apply(networks.critic, slow_critic, *stop(features), method="predict")
    lives = 1 - rows.is_terminal.astype(jnp.float32)
    inside = 1 - rows.is_last.astype(jnp.float32)
    outcomes = (rows.reward, lives * config.discount, inside * config.repval_lam, stop(bootstrap))
    returns = lambda_returns(*(x.swapaxes(0, 1)[1:] for x in outcomes)).swapaxes(0, 1)
    logits = critic_logits[:, :-1]
    critic = twohot.loss(logits, returns, bins)
    critic += config.slowreg * twohot.loss(logits, stop(slow_values)[:, :-1], bins)
    return ReplayLosses(critic_logits, slow_values, returns, inside[:, :-1] * critic)
