"""Returns, weights, advantages and the losses of actor and critic, as the core computes them."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.dreamerv3 import actor_critic, world_model
from core.dreamerv3.distributions import CategoricalPolicy
from core.dreamerv3.normaliser import Percentiles
from core.dreamerv3.types import Rows
from parity.core_subject.dreamerv3 import stage
from parity.core_subject.dreamerv3.stage import answers, compiled
from parity.operations import Answer


def _on_numbers(
    rewards: Array,
    continues: Array,
    values: Array,
    normaliser: Array,
    log_probs: Array,
    entropies: Array,
    actent: float,
) -> actor_critic.ImaginationLosses:
    """`imagination_losses` on given numbers, [N, H + 1]."""
    n, steps = rewards.shape[0], rewards.shape[1] - 1
    config = stage.headless(bins=3, actent=actent)
    networks = stage.networks(config, 1, CategoricalPolicy(2, config.actor_unimix))
    rewards, continues, values = rewards.T, continues.T, values.T
    states = stage.unit_states(n * steps, 0, steps, n)
    blank = jnp.zeros((n * steps, 3))
    imagined = world_model.Imagined(
        states,
        actions=jnp.zeros((steps, n, 2)),
        actor_outputs=jnp.zeros((steps, n, 2)),
        critic_logits=jnp.zeros((steps, n, 3)),
        slow_values=values[:-1],
        values=values,
        last_state=stage.unit_states(n * steps, 0, n),
        last_action=jnp.zeros((n, 2)),
        rewards=rewards[1:],
        continues=continues[1:],
    )
    # What the policy would answer in the last state does not count.
    policy: Any = stage.GivenNumbers(log_probs.T[:-1], entropies.T[:-1])
    params = {"actor": stage.head(blank[:, :2]), "critic": stage.head(blank)}
    moments = Percentiles(normaliser[0], normaliser[1])
    return actor_critic.imagination_losses(
        networks, config, policy, params, moments, imagined, rewards[0], continues[0]
    )


def _returns(
    rewards: Array, continues: Array, values: Array, normaliser: Array
) -> dict[str, Array]:
    blank = jnp.zeros_like(rewards)
    found = _on_numbers(rewards, continues, values, normaliser, blank, blank, 0.0)
    return {
        "weights": found.weights.T,
        "returns": found.returns.T,
        "advantages": found.advantages.T,
        "normaliser": jnp.stack(found.normaliser),
    }


def imagined_returns(
    rewards: np.ndarray,
    continues: np.ndarray,
    values: np.ndarray,
    normaliser: np.ndarray,
    horizon: int,
) -> Answer:
    """See `dreamerv3.imagined_returns`."""
    del horizon
    return answers(compiled(_returns)(rewards, continues, values, normaliser))


def _actor(
    actent: float,
    log_probs: Array,
    entropies: Array,
    rewards: Array,
    continues: Array,
    values: Array,
    normaliser: Array,
) -> dict[str, Array]:
    def loss(log_probs: Array, entropies: Array) -> Array:
        found = _on_numbers(rewards, continues, values, normaliser, log_probs, entropies, actent)
        return found.actor.T

    slopes = jax.grad(lambda *x: loss(*x).mean(), (0, 1))(log_probs, entropies)
    return {
        "loss": loss(log_probs, entropies),
        "to_log_probs": slopes[0],
        "to_entropies": slopes[1],
    }


def actor_loss(
    rewards: np.ndarray,
    continues: np.ndarray,
    values: np.ndarray,
    normaliser: np.ndarray,
    log_probs: np.ndarray,
    entropies: np.ndarray,
    actent: float,
    horizon: int,
) -> Answer:
    """See `dreamerv3.actor_loss`."""
    del horizon
    call = compiled(_actor, actent)
    return answers(call(log_probs, entropies, rewards, continues, values, normaliser))


def _imagination(
    kind: str,
    critic_logits: Array,
    actor_outputs: Array,
    start_reward: Array,
    is_terminal: Array,
    reward_logits: Array,
    continue_logits: Array,
    slow_logits: Array,
    actions: Array,
    normaliser: Array,
) -> dict[str, Array]:
    n, states, bins = critic_logits.shape
    size, horizon = actions.shape[-1], states - 1
    config = stage.headless(bins=bins)
    discrete = stage.GivenCategorical(size, config.actor_unimix)
    continuous = stage.GivenNormal(size, config.minstd, config.maxstd)
    policy = discrete if kind == "discrete" else continuous
    networks = stage.networks(config, 1, policy)._replace(dyn=stage.Following(n))  # type: ignore[arg-type]

    def per_state(array: Array) -> Array:
        return jnp.swapaxes(array, 0, 1).reshape(n * states, -1)

    def losses(critic_logits: Array, actor_outputs: Array) -> actor_critic.ImaginationLosses:
        outputs = per_state(actor_outputs)
        actor = {"out": stage.layer(outputs[:, :size])}
        if kind == "continuous":
            actor["std"] = stage.layer(outputs[:, size:])
        params = {
            "dyn": {},
            "rew": stage.head(per_state(reward_logits)),
            "con": stage.head(per_state(continue_logits)),
            "critic": stage.head(per_state(critic_logits)),
            "actor": actor,
        }
        imagined = world_model.imagine(
            networks,
            config,
            policy,
            params,
            stage.head(per_state(slow_logits)),
            stage.unit_states(n * states, 0, n),
            jnp.zeros((horizon, n, 1, 1)),
            jnp.swapaxes(actions, 0, 1),
        )
        return actor_critic.imagination_losses(
            networks,
            config,
            policy,
            params,
            Percentiles(normaliser[0], normaliser[1]),
            imagined,
            start_reward,
            1 - is_terminal.astype(jnp.float32),
        )

    def slopes(name: str) -> tuple[Array, Array]:
        def mean(*learned: Array) -> Array:
            return getattr(losses(*learned), name).mean()

        return jax.grad(mean, (0, 1))(critic_logits, actor_outputs)

    found = losses(critic_logits, actor_outputs)
    actor_to_critic, actor_gradient = slopes("actor")
    return {
        "rewards": found.rewards.T,
        "values": found.values.T,
        "weights": found.weights.T,
        "returns": found.returns.T,
        "advantages": found.advantages.T,
        "actor_loss": found.actor.T,
        "critic_loss": found.critic.T,
        "actor_gradient": actor_gradient,
        "actor_to_critic": actor_to_critic,
        "critic_gradient": slopes("critic")[0],
    }


def imagination_losses(kind: str, horizon: int, **arrays: np.ndarray) -> Answer:
    """See `dreamerv3.imagination_losses`."""
    del horizon
    return answers(compiled(_imagination, kind)(**arrays))


def _replayed(
    critic_logits: Array,
    slow_logits: Array,
    reward: Array,
    is_terminal: Array,
    is_last: Array,
    bootstrap: Array,
) -> dict[str, Array]:
    batch, length, bins = critic_logits.shape
    config = stage.headless(bins=bins)
    networks = stage.networks(config, 1, CategoricalPolicy(2, config.actor_unimix))
    never = jnp.zeros((batch, length), bool)
    rows = Rows(
        jnp.zeros((batch, length, 1)), jnp.zeros((batch, length), jnp.int32), reward, never,
        is_last, is_terminal,
    )  # fmt: skip
    features = stage.unit_states(batch * length, 0, batch, length).features
    slow = stage.head(slow_logits.reshape(-1, bins))

    def losses(critic_logits: Array) -> actor_critic.ReplayLosses:
        params = {"critic": stage.head(critic_logits.reshape(-1, bins))}
        return actor_critic.replay_losses(networks, config, params, slow, features, rows, bootstrap)

    found = losses(critic_logits)
    gradient = jax.grad(lambda x: losses(x).critic.mean())(critic_logits)
    return {"returns": found.returns, "loss": found.critic, "gradient": gradient}


def replay_critic_loss(
    critic_logits: np.ndarray,
    slow_logits: np.ndarray,
    reward: np.ndarray,
    is_terminal: np.ndarray,
    is_last: np.ndarray,
    bootstrap: np.ndarray,
    followed: int,
) -> Answer:
    """See `dreamerv3.replay_critic_loss`."""
    del followed
    call = compiled(_replayed)
    return answers(call(critic_logits, slow_logits, reward, is_terminal, is_last, bootstrap))


TABLE = {
    "dreamerv3.imagined_returns": imagined_returns,
    "dreamerv3.actor_loss": actor_loss,
    "dreamerv3.imagination_losses": imagination_losses,
    "dreamerv3.replay_critic_loss": replay_critic_loss,
}
