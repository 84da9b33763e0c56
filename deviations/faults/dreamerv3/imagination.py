"""Faults of imagination, and of what a training step makes of actions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.dreamerv3.latent import REPORTED, only
from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "imagination"


def imagination(
    feed_back: bool = True,
    fresh_action: bool = True,
    prior_mode: bool = False,
    scored_at_outcome: bool = False,
) -> Callable[[], OperationTable]:
    """`world_model.imagine` without its heads, with one line of it wrong.

    Args:
        feed_back: Whether a step starts from the stochastic state that was drawn last.
        fresh_action: Whether it takes the action of its own state, or that of the one before.
        prior_mode: Whether the likeliest class is taken, and not a draw.
        scored_at_outcome: Whether an action is handed on with the state that it leads to.
    """

    def overrides() -> OperationTable:
        import jax
        import jax.numpy as jnp

        from core.dreamerv3.networks import apply
        from core.dreamerv3.rssm import State
        from core.dreamerv3.world_model import Imagined

        def imagine(
            networks, config, policy, params, slow_critic, start, prior_noise, action_noise
        ):
            del slow_critic

            def act(state, noise):
                raw = apply(networks.actor, params["actor"], *state.features)
                return policy.sample(raw, noise), raw

            def step(carry, noise):
                state, action, raw, older = carry
                used = State(state.deter, state.stoch if feed_back else start.stoch)
                taken = action if fresh_action else older
                gumbel = 0 * noise[0] if prior_mode else noise[0]
                following = apply(
                    networks.dyn, params["dyn"], used, taken, gumbel, method="imagine"
                )
                carry = (following, *act(following, noise[1]), action)
                return carry, (state, action, carry[2] if scored_at_outcome else raw)

            first = act(start, action_noise[0])
            carry = (start, *first, first[0])
            carry, outputs = jax.lax.scan(step, carry, (prior_noise, action_noise[1:]))
            states, actions, raw = outputs
            steps, rows = actions.shape[:2]
            none, some = jnp.zeros((steps, rows)), jnp.zeros((steps + 1, rows))
            logits = jnp.zeros((steps, rows, config.bins))
            return Imagined(
                states, actions, raw, logits, none, some, carry[0], carry[1], none, none
            )

        return only("imagine", imagine=imagine)

    return overrides


def horizon(steps: int) -> Callable[[], OperationTable]:
    """An agent with another horizon."""

    def overrides() -> OperationTable:
        from core.dreamerv3.agent import Agent

        class Faulty(Agent):
            def __init__(self, config, *spaces):
                super().__init__(config.replace(imag_horizon=steps), *spaces)

        return only("imagined_counts", agent=Faulty)

    return overrides


def intermediates(
    operation: str, change: Callable[[dict[str, Any], Any, Any], dict[str, Any]]
) -> Callable[[], OperationTable]:
    """An agent whose loss computes something else on the way.

    Args:
        operation: What is answered with it.
        change: From the named intermediates, the rows and the context to what replaces them.
    """

    def overrides() -> OperationTable:
        from core.dreamerv3.agent import Agent

        class Faulty(Agent):
            def loss(self, params, slow_critic, retnorm, rows, context, noise):
                total, named = super().loss(params, slow_critic, retnorm, rows, context, noise)
                return total, {**named, **change(named, rows, context)}

        return only(operation, agent=Faulty)

    return overrides


def _last_action_scored(named, rows, context):
    import jax.numpy as jnp

    del rows, context
    loss = named["actor_loss"]
    return {"actor_loss": jnp.concatenate([loss, loss[:, -1:]], axis=1)}


def _own_actions(named, rows, context):
    import jax

    del context
    return {"previous_actions": jax.nn.one_hot(rows.action, named["previous_actions"].shape[-1])}


def _no_context(named, rows, context):
    del rows, context
    return {"previous_actions": named["previous_actions"].at[:, 0].set(0)}


def _along_the_batch(named, rows, context):
    import jax.numpy as jnp

    del rows, context
    first = named["previous_actions"][:, :1]
    later = named["previous_actions"][:, 1:]
    return {"previous_actions": jnp.concatenate([jnp.roll(first, 1, axis=0), later], axis=1)}


def _fault(
    id: str, title: str, overrides: Callable[[], OperationTable], *caught: str, source: str = ""
) -> Fault:
    return Fault(id, title, KIND, overrides, caught, source)


FAULTS = (
    _fault(
        "F09.imagining",
        "actions scored at the state that they lead to",
        imagination(scored_at_outcome=True),
        "imagining/scores",
        source=REPORTED,
    ),
    _fault(
        "F25",
        "imagination does not feed back its new stochastic state",
        imagination(feed_back=False),
        "imagining/feeds-back",
        "imagining/deters",
        source=REPORTED,
    ),
    _fault(
        "F26.short",
        "imagined horizon one step short",
        horizon(14),
        "imagining/counts",
        source=REPORTED,
    ),
    _fault(
        "F26.scored",
        "the action of the last imagined state scored too",
        intermediates("imagined_counts", _last_action_scored),
        "imagining/counts",
        source=REPORTED,
    ),
    _fault(
        "X60",
        "likeliest classes imagined in place of draws",
        imagination(prior_mode=True),
        "imagining/classes",
        "imagining/feeds-back",
    ),
    _fault(
        "X61",
        "imagined steps take the action before",
        imagination(fresh_action=False),
        "imagining/deters",
        "imagining/actions",
    ),
    _fault(
        "X62",
        "rows of a training sequence told their own action",
        intermediates("previous_actions", _own_actions),
        "previous-actions/vectors",
    ),
    _fault(
        "X63",
        "action of the context row forgotten",
        intermediates("previous_actions", _no_context),
        "previous-actions/vectors",
    ),
    _fault(
        "X64",
        "context actions of other sequences",
        intermediates("previous_actions", _along_the_batch),
        "previous-actions/vectors",
    ),
)
