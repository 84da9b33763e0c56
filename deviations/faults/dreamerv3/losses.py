"""Faults of the world model's losses."""

from __future__ import annotations

from deviations.faults.dreamerv3.learning import Change, around, seeded
from parity.faults import Fault

KIND = "losses of the world model"
REPORTED = "reported in re-implementations"
KL, DECODER, CONTINUE = ("kl_losses",), ("decoder_loss",), ("continue_loss",)


def _after_the_mean() -> list[Change]:
    import jax.numpy as jnp

    from core.dreamerv3 import world_model

    def wrong(sound, networks, config, params, observed, rows):
        found = sound(networks, config.replace(free_nats=0.0), params, observed, rows)

        def clipped(loss):
            return jnp.broadcast_to(jnp.maximum(loss.mean(), config.free_nats), loss.shape)

        return found._replace(dyn=clipped(found.dyn), rep=clipped(found.rep))

    return around(world_model, "losses", wrong)


def _per_latent() -> list[Change]:
    import jax.numpy as jnp

    from core.dreamerv3 import distributions

    return around(
        distributions, "categorical_kl", lambda sound, p, q: jnp.maximum(sound(p, q), 1.0)
    )


def _reversed() -> list[Change]:
    from core.dreamerv3 import distributions

    return around(distributions, "categorical_kl", lambda sound, p, q: sound(q, p))


def _one_stop() -> list[Change]:
    from core.dreamerv3 import world_model

    def wrong(sound, *args):
        found = sound(*args)
        return found._replace(dyn=found.rep)

    return around(world_model, "losses", wrong)


def _no_stop() -> list[Change]:
    import jax
    import jax.numpy as jnp

    from core.dreamerv3 import distributions, world_model

    def wrong(sound, networks, config, params, observed, rows):
        kl = distributions.categorical_kl(observed.post_logits, observed.prior_logits)
        blended = jnp.maximum(jnp.sum(kl, axis=-1), config.free_nats)
        found = sound(networks, config, params, jax.lax.stop_gradient(observed), rows)
        return found._replace(dyn=blended, rep=blended)

    return around(world_model, "losses", wrong)


def _plain_squares() -> list[Change]:
    import jax.numpy as jnp

    from core.dreamerv3 import distributions

    def wrong(predicted, target):
        return jnp.sum((predicted - target) ** 2, axis=-1)

    return [(distributions, "symlog_squared_error", wrong)]


def _intolerant() -> list[Change]:
    from core.dreamerv3 import distributions

    return [(distributions, "RECONSTRUCTION_TOLERANCE", 0.0)]


def _squashed_twice() -> list[Change]:
    from core.dreamerv3 import distributions
    from core.numerics import symlog

    return around(
        distributions, "symlog_squared_error", lambda sound, p, target: sound(symlog(p), target)
    )


def _done_is_terminal() -> list[Change]:
    from core.dreamerv3 import world_model

    def wrong(sound, networks, config, params, observed, rows):
        rows = rows._replace(is_terminal=rows.is_last)
        return sound(networks, config, params, observed, rows)

    return around(world_model, "losses", wrong)


def _no_free_nats() -> list[Change]:
    from core.dreamerv3 import world_model

    def wrong(sound, networks, config, *rest):
        return sound(networks, config.replace(free_nats=0.0), *rest)

    return around(world_model, "losses", wrong)


FAULTS = (
    Fault(
        "F03",
        "free nats clipped after the mean over the batch",
        KIND,
        seeded("F03", KL, _after_the_mean),
        ("kl-losses/values", "kl-losses/per-row", "kl-losses/gradients"),
        REPORTED,
    ),
    Fault(
        "F13",
        "squared error where symlog squared error is meant",
        KIND,
        seeded("F13", DECODER, _plain_squares),
        ("decoder-loss/values", "decoder-loss/gradient", "decoder-loss/figure"),
        REPORTED,
    ),
    Fault(
        "F17",
        "one KL with one stop-gradient for prior and posterior",
        KIND,
        seeded("F17", KL, _one_stop),
        ("kl-losses/gradients",),
        REPORTED,
    ),
    Fault(
        "F17.none",
        "one KL without a stop-gradient for prior and posterior",
        KIND,
        seeded("F17.none", KL, _no_stop),
        ("kl-losses/gradients",),
    ),
    Fault(
        "F42.loss",
        "continue target 0 at a time limit",
        KIND,
        seeded("F42.loss", CONTINUE, _done_is_terminal),
        ("continue-loss/values", "continue-loss/gradient"),
        REPORTED,
    ),
    Fault(
        "X150",
        "free nats clipped per latent instead of per row",
        KIND,
        seeded("X150", KL, _per_latent),
        ("kl-losses/values", "kl-losses/gradients"),
    ),
    Fault(
        "X151",
        "KL with its arguments exchanged",
        KIND,
        seeded("X151", KL, _reversed),
        ("kl-losses/values", "kl-losses/gradients"),
    ),
    Fault(
        "X152",
        "no tolerance in the decoder's squared error",
        KIND,
        seeded("X152", DECODER, _intolerant),
        ("decoder-loss/values",),
    ),
    Fault(
        "X153",
        "symlog of the prediction as well as of the target",
        KIND,
        seeded("X153", DECODER, _squashed_twice),
        ("decoder-loss/values", "decoder-loss/gradient"),
    ),
    Fault(
        "X154",
        "continue target without the discount",
        KIND,
        seeded("X154", CONTINUE, return_horizon=10**9),
        ("continue-loss/values", "continue-loss/gradient"),
    ),
    Fault(
        "X155",
        "free nats of 0",
        KIND,
        seeded("X155", KL, _no_free_nats),
        ("kl-losses/values", "kl-losses/per-row", "kl-losses/gradients"),
    ),
)
