"""Everything random in an update or a plan, as arguments that can be drawn or given.

Dropout masks belong to the *drawn* networks where two of the ensemble are drawn, in the order
of their indices: the networks that are not drawn are not evaluated either. A mask is None where
nothing is dropped.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from core.tdmpc2.config import Config

DRAWN = 2  # Q networks per estimate


class UpdateNoise(NamedTuple):
    """Noise of one update on B sequences of H steps.

    Attributes:
        target_action: Normal, of the policy's actions in the targets.
        target_q: The two target networks whose smaller value is the target.
        target_keep: Units of their first layer that dropout keeps, or None.
        q_keep: Likewise of all Q networks, in the value loss.
        policy_action: Normal, of the policy's actions in its own loss.
        policy_q: The two Q networks whose mean value the policy maximises.
        policy_keep: Units of their first layer that dropout keeps, or None.
    """

    target_action: Float[Array, "H B actions"]
    target_q: Int[Array, " two"]
    target_keep: Bool[Array, "two H B units"] | None
    q_keep: Bool[Array, "num_q H B units"] | None
    policy_action: Float[Array, "H1 B actions"]
    policy_q: Int[Array, " two"]
    policy_keep: Bool[Array, "two H1 B units"] | None


class PlanNoise(NamedTuple):
    """Noise of one plan: I iterations, N trajectories of which P are the policy's.

    Attributes:
        policy_action: Normal, of the policy's own trajectories.
        samples: Normal, of the sampled trajectories of each iteration.
        value_action: Normal, of the policy's actions in the last states.
        q: The two Q networks whose mean is the value of the last states.
        q_keep: Units of their first layer that dropout keeps, or None.
        elite: Gumbel, of the elite whose actions are taken.
        action: Normal, of the exploration around its first action; zeros where none is wanted.
    """

    policy_action: Float[Array, "H P actions"]
    samples: Float[Array, "I H N_P actions"]
    value_action: Float[Array, "I N actions"]
    q: Int[Array, "I two"]
    q_keep: Bool[Array, "I two N units"] | None
    elite: Float[Array, " elites"]
    action: Float[Array, " actions"]


def draw_update_noise(key: Array, config: Config, action_size: int) -> UpdateNoise:
    """Draws the noise of one update."""
    c = config
    keys = jax.random.split(key, 7)
    always = c.q_dropout == "always"
    steps, latents = (c.horizon, c.batch_size), (c.horizon + 1, c.batch_size)
    return UpdateNoise(
        target_action=jax.random.normal(keys[0], (*steps, action_size)),
        target_q=two_of(keys[1], c.num_q),
        target_keep=keep_mask(keys[2], c, (DRAWN, *steps)) if always else None,
        q_keep=keep_mask(keys[3], c, (c.num_q, *steps)),
        policy_action=jax.random.normal(keys[4], (*latents, action_size)),
        policy_q=two_of(keys[5], c.num_q),
        policy_keep=keep_mask(keys[6], c, (DRAWN, *latents)),
    )


def draw_plan_noise(
    key: Array, config: Config, action_size: int, *, explore: bool = True
) -> PlanNoise:
    """Draws the noise of one plan; without exploration, everything else is drawn all the same."""
    c = config
    keys = jax.random.split(key, 7)
    n, sampled = c.planner_iterations(action_size), c.num_samples - c.num_pi_trajs
    always = c.q_dropout == "always"
    return PlanNoise(
        policy_action=jax.random.normal(keys[0], (c.horizon, c.num_pi_trajs, action_size)),
        samples=jax.random.normal(keys[1], (n, c.horizon, sampled, action_size)),
        value_action=jax.random.normal(keys[2], (n, c.num_samples, action_size)),
        q=jax.vmap(lambda k: two_of(k, c.num_q))(jax.random.split(keys[3], n)),
        q_keep=keep_mask(keys[4], c, (n, DRAWN, c.num_samples)) if always else None,
        elite=jax.random.gumbel(keys[5], (c.num_elites,)),
        action=jax.random.normal(keys[6], (action_size,)) if explore else jnp.zeros(action_size),
    )


def two_of(key: Array, count: int) -> Int[Array, " two"]:
    """Two different numbers below `count`, every ordered pair as likely as any other."""
    first, second = jax.random.split(key)
    a = jax.random.randint(first, (), 0, count)
    distance = jax.random.randint(second, (), 1, count)
    return jnp.stack([a, (a + distance) % count])


def keep_mask(
    key: Array, config: Config, shape: tuple[int, ...]
) -> Bool[Array, "*shape units"] | None:
    """Draws which units of a Q network's first layer dropout keeps; None if it drops none.

    Every unit has 16 random bits, two units share a 32-bit draw: a plan of size 5 needs three
    million of them, and a float each would take six times as long. The rate's distance from a
    multiple of 2⁻¹⁶ is made up for by the threshold, drawn once per mask, so that a unit is
    dropped with exactly the given probability (to 2⁻³²).
    """
    if not config.dropout:
        return None
    for_units, for_threshold = jax.random.split(key)
    shape = (*shape, config.mlp_dim)
    half = -(-shape[-1] // 2)
    bits = jax.random.bits(for_units, (*shape[:-1], half), jnp.uint32)
    bits = jnp.concatenate([bits & 0xFFFF, bits >> 16], axis=-1)[..., : shape[-1]]
    whole, rest = divmod(config.dropout * 2**16, 1.0)
    threshold = int(whole) + (jax.random.uniform(for_threshold) < rest)
    return bits >= threshold.astype(jnp.uint32)
