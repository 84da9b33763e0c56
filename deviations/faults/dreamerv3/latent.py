"""Faults of posterior and prior, of resets, and of observing a sequence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "latent dynamics"
REPORTED = "reported in re-implementations"

OBSERVING = ("observing/deters", "observing/classes")


def only(operations: str, **parts: Any) -> OperationTable:
    """The named operations, answered by the core with some of its parts replaced.

    Args:
        operations: Their names without the agent's, separated by spaces.
        **parts: See `parity.core_subject.dreamerv3.given.Variant`.
    """
    from parity.core_subject.dreamerv3 import latent, networks
    from parity.core_subject.dreamerv3.given import Variant

    variant = Variant(**parts)
    answers = {**networks.table(variant), **latent.table(variant)}
    return {name: answers[name] for name in (f"dreamerv3.{o}" for o in operations.split())}


def with_dynamics(model: Callable[[], type], operations: str) -> Callable[[], OperationTable]:
    """The named operations, with another recurrent model.

    Args:
        model: Makes its class, a subclass of `RSSM`.
        operations: See `only`.
    """

    def overrides() -> OperationTable:
        changed = model()
        return only(operations, networks=lambda n: n._replace(dyn=changed(n.dyn.config)))

    return overrides


def resets(keep_state: bool = False, keep_stoch: bool = False, keep_action: bool = False):
    """A recurrent model whose `observe` leaves something as it was where an episode starts."""

    def model() -> type:
        import jax.numpy as jnp

        from core.dreamerv3.distributions import sample_onehot
        from core.dreamerv3.rssm import RSSM, State

        class Faulty(RSSM):
            def observe(self, state, action, embed, is_first, gumbel):
                keep = 1 - is_first.astype(jnp.float32)[..., None]
                stoch = state.stoch if keep_state or keep_stoch else state.stoch * keep[..., None]
                old = State(state.deter if keep_state else state.deter * keep, stoch)
                deter = self.advance(old, action if keep_action else action * keep)
                logits = self.posterior(deter, embed)
                return State(deter, sample_onehot(logits, gumbel)), logits

        return Faulty

    return model


def _embed_first() -> type:
    """The posterior reads [embed, deter]."""
    from core.dreamerv3.rssm import RSSM

    class Faulty(RSSM):
        def posterior(self, deter, embed):
            return self._logits(self.posterior_out(self.posterior_hidden[0](embed, deter)))

    return Faulty


def _prior_for_posterior() -> type:
    """The state is drawn from the prior: the observation is not used."""
    from core.dreamerv3.rssm import RSSM

    class Faulty(RSSM):
        def posterior(self, deter, embed):
            del embed
            return self.prior(deter)

    return Faulty


def _raw_logits() -> type:
    """No unimix in prior and posterior."""
    from core.dreamerv3.rssm import RSSM

    class Faulty(RSSM):
        def _logits(self, flat):
            import jax

            shape = (*flat.shape[:-1], self.config.stoch, self.config.classes)
            return jax.nn.log_softmax(flat.reshape(shape), axis=-1)

    return Faulty


def _mixed_over_all() -> type:
    """Softmax and unimix over all classes of all variables at once."""
    from core.dreamerv3.rssm import RSSM

    class Faulty(RSSM):
        def _logits(self, flat):
            from core.numerics import unimix_log_probs

            shape = (*flat.shape[:-1], self.config.stoch, self.config.classes)
            return unimix_log_probs(flat, self.config.unimix).reshape(shape)

    return Faulty


def observing(
    stale_state: bool = False,
    flags: str = "by time",
    prior_of: Literal["states", "posterior", "rows before"] = "states",
) -> Callable[[], OperationTable]:
    """`world_model.observe` with one line of it wrong.

    Args:
        stale_state: The state does not advance: every row follows the first one's predecessor.
        flags: "reshaped" takes is_first on the batch axis where the time axis is meant; "late"
            hands each row the flag of the row before.
        prior_of: Whose prior is reported.
    """

    def overrides() -> OperationTable:
        import jax
        import jax.numpy as jnp

        from core.dreamerv3.networks import apply
        from core.dreamerv3.world_model import Observed

        def observe(networks, params, start, actions, rows, gumbel):
            embed = apply(networks.enc, params["enc"], rows.observation)

            def step(state, inputs):
                now = start if stale_state else state
                state, logits = apply(networks.dyn, params["dyn"], now, *inputs, method="observe")
                return state, (state, logits)

            actions, by_time, is_first = (x.swapaxes(0, 1) for x in (actions, embed, rows.is_first))
            if flags == "reshaped":
                is_first = rows.is_first.reshape(is_first.shape)
            if flags == "late":
                is_first = jnp.concatenate([is_first[:1], is_first[:-1]])
            _, outputs = jax.lax.scan(step, start, (actions, by_time, is_first, gumbel))
            states, posterior = jax.tree.map(lambda x: x.swapaxes(0, 1), outputs)
            before = jnp.concatenate([start.deter[:, None], states.deter[:, :-1]], axis=1)
            deter = before if prior_of == "rows before" else states.deter
            prior = apply(networks.dyn, params["dyn"], deter, method="prior")
            if prior_of == "posterior":
                prior = posterior
            return Observed(embed, states, posterior, prior)

        return only("observe", observe=observe)

    return overrides


def _reported(id: str, title: str, overrides: Callable[[], OperationTable], *caught: str) -> Fault:
    return Fault(id, title, KIND, overrides, caught, REPORTED)


def _ours(id: str, title: str, overrides: Callable[[], OperationTable], *caught: str) -> Fault:
    return Fault(id, title, KIND, overrides, caught)


FAULTS = (
    _reported(
        "F11.posterior-and-prior",
        "no unimix in posterior and prior, along a sequence",
        with_dynamics(_raw_logits, "observe"),
        "observing/unimix",
        "observing/posterior",
        "observing/prior",
    ),
    _reported(
        "F20",
        "reset computed, never stored: the state goes on into the next episode",
        with_dynamics(resets(keep_state=True), "observe act"),
        "observing/reset-past",
        "acting/reset-state",
        *OBSERVING,
    ),
    _reported(
        "F21",
        "previous action not cleared at a reset",
        with_dynamics(resets(keep_action=True), "observe act"),
        "observing/reset-action",
        "acting/reset-action",
        "observing/deters",
    ),
    _reported(
        "F22",
        "observing does not advance its state",
        observing(stale_state=True),
        "observing/step-by-step",
        *OBSERVING,
    ),
    _reported(
        "F24.observing",
        "is_first one row late along a sequence",
        observing(flags="late"),
        "observing/reset-past",
        "observing/step-by-step",
        "observing/deters",
    ),
    _reported(
        "F31.resets",
        "resets on the batch axis instead of time",
        observing(flags="reshaped"),
        "observing/reset-past",
        "observing/step-by-step",
        *OBSERVING,
    ),
    _ours(
        "X37",
        "only deter zeroed at a reset",
        with_dynamics(resets(keep_stoch=True), "observe act"),
        "observing/reset-past",
        "acting/reset-state",
        "observing/deters",
    ),
    _ours(
        "X38",
        "posterior reads [embed, deter]",
        with_dynamics(_embed_first, "observe"),
        "observing/posterior",
        "observing/classes",
    ),
    _ours(
        "X39",
        "prior used in place of the posterior",
        with_dynamics(_prior_for_posterior, "observe"),
        "observing/prior-is-blind",
        "observing/posterior",
        "observing/classes",
    ),
    _ours(
        "X40",
        "posterior reported as prior",
        observing(prior_of="posterior"),
        "observing/prior-is-blind",
        "observing/prior",
    ),
    _ours(
        "X41",
        "prior of the state before",
        observing(prior_of="rows before"),
        "observing/prior",
        "observing/reset-past",
    ),
    _ours(
        "X42",
        "softmax over all classes of all variables",
        with_dynamics(_mixed_over_all, "observe"),
        "observing/posterior",
        "observing/prior",
        "observing/unimix",
    ),
)
