"""Faults of acting, and of draws."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from deviations.faults.dreamerv3.latent import REPORTED, only
from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "acting"


def acting(
    observation: Callable[[Any], Any] | None = None,
    greedy: bool = False,
    older_state: bool = False,
) -> Callable[[], OperationTable]:
    """`Agent.act` on another observation, with other noise, or with another answer.

    Args:
        observation: What is made of an observation before it is seen.
        greedy: Whether the likeliest action is taken.
        older_state: Whether the state of the row before is handed to the replay.
    """

    def overrides() -> OperationTable:
        import jax.numpy as jnp

        from core.dreamerv3.agent import Agent
        from core.dreamerv3.types import Latent

        class Faulty(Agent):
            def act(self, params, carry, seen, is_first, noise):
                seen = observation(seen) if observation else seen
                noise = noise._replace(action=0 * noise.action) if greedy else noise
                now, action, latent = super().act(params, carry, seen, is_first, noise)
                if older_state:
                    classes = jnp.argmax(carry.state.stoch, axis=-1)
                    latent = Latent(carry.state.deter, classes.astype(jnp.int32))
                return now, action, latent

        return only("act", agent=Faulty)

    return overrides


def _clipped(observation):
    import jax.numpy as jnp

    return jnp.clip(observation, -10, 10)


def _unmixed_policy() -> OperationTable:
    """No unimix in the policy."""
    import functools

    from core.dreamerv3.agent import Agent
    from core.dreamerv3.distributions import CategoricalPolicy
    from core.spaces import Discrete

    class Faulty(Agent):
        @functools.cached_property
        def policy(self):
            assert isinstance(self.action_space, Discrete)
            return CategoricalPolicy(self.action_space.n, 0.0)

    return only("act imagine deep_head", agent=Faulty)


def _drawn(sample: Callable[..., Any]) -> Callable[[], OperationTable]:
    """Another draw, of (log-probabilities, noise)."""

    def overrides() -> OperationTable:
        import jax
        import jax.numpy as jnp

        def straight_through(log_probs, noise, weights):
            def objective(log_probs):
                draw = sample(log_probs, jnp.asarray(noise))
                return jnp.sum(weights * draw), draw

            gradient, draw = jax.grad(objective, has_aux=True)(jnp.asarray(log_probs))
            return {"draw": np.asarray(draw), "gradient": np.asarray(gradient)}

        return {"dreamerv3.straight_through": straight_through}

    return overrides


def _without_gradient(log_probs, noise):
    from core.dreamerv3.distributions import draw_onehot

    return draw_onehot(log_probs, noise)


def _relaxed(log_probs, noise):
    import jax

    return jax.nn.softmax(log_probs + noise, axis=-1)


def _through_log_probs(log_probs, noise):
    import jax

    from core.dreamerv3.distributions import draw_onehot

    return draw_onehot(log_probs, noise) + log_probs - jax.lax.stop_gradient(log_probs)


def _fault(
    id: str, title: str, overrides: Callable[[], OperationTable], *caught: str, source: str = ""
) -> Fault:
    return Fault(id, title, KIND, overrides, caught, source)


FAULTS = (
    _fault(
        "F11.policy",
        "no unimix in the policy, acting and imagining",
        _unmixed_policy,
        "acting/unimix",
        "acting/policy",
        "imagining/scores",
        "heads/actor",
        source=REPORTED,
    ),
    _fault(
        "F23",
        "acting policy ignores the observation",
        acting(observation=lambda seen: 0 * seen),
        "acting/sees",
        "acting/policy",
        "acting/same-features",
        source=REPORTED,
    ),
    _fault(
        "F32",
        "observations clipped when acting, and not when training",
        acting(observation=_clipped),
        "acting/same-features",
        "acting/classes",
        "acting/policy",
        source=REPORTED,
    ),
    _fault(
        "X65", "straight-through missing", _drawn(_without_gradient), "straight-through/gradient"
    ),
    _fault(
        "X66",
        "relaxed sample in place of a draw",
        _drawn(_relaxed),
        "straight-through/draw",
        "straight-through/gradient",
    ),
    _fault(
        "X67",
        "gradient of a draw through its log-probabilities",
        _drawn(_through_log_probs),
        "straight-through/gradient",
    ),
    _fault("X68", "likeliest action taken when acting", acting(greedy=True), "acting/action"),
    _fault(
        "X69",
        "state of the row before handed to the replay",
        acting(older_state=True),
        "acting/deter_now",
        "acting/classes",
        "acting/same-features",
    ),
)
