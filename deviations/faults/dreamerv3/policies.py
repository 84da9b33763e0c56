"""Faults of the policies' distributions."""

from __future__ import annotations

from deviations.faults.dreamerv3.learning import Change, around, seeded
from parity.faults import Fault

KIND = "policies"
DISCRETE, CONTINUOUS = ("discrete_policy",), ("continuous_policy",)


def _reparameterised() -> list[Change]:
    """The log-probability of mean + std · noise, as the draw was made, with its gradient."""
    import jax

    from core.dreamerv3.distributions import NormalPolicy

    def wrong(sound, policy, raw, vector):
        mean, std = policy.moments(raw)
        noise = jax.lax.stop_gradient((vector - mean) / std)
        return sound(policy, raw, mean + std * noise)

    return around(NormalPolicy, "log_prob", wrong)


def _unmixed_entropy() -> list[Change]:
    from core.dreamerv3 import distributions

    def wrong(policy, raw):
        return distributions.categorical_entropy(raw)

    return [(distributions.CategoricalPolicy, "entropy", wrong)]


def _hotter_draw() -> list[Change]:
    """The noise doubled: a temperature of 2."""
    from core.dreamerv3.distributions import CategoricalPolicy

    return around(
        CategoricalPolicy,
        "sample",
        lambda sound, policy, raw, noise: sound(policy, raw, 2 * noise),
    )


def _gradient_of_unmixed() -> list[Change]:
    """The mixture in the value of a log-probability, but not in its gradient."""
    import jax
    import jax.numpy as jnp

    from core.dreamerv3.distributions import CategoricalPolicy

    def wrong(sound, policy, raw, vector):
        plain = jnp.sum(vector * jax.nn.log_softmax(raw, axis=-1), axis=-1)
        return plain + jax.lax.stop_gradient(sound(policy, raw, vector) - plain)

    return around(CategoricalPolicy, "log_prob", wrong)


def _moments(of_mean, of_deviation) -> list[Change]:
    import jax.numpy as jnp

    from core.dreamerv3.distributions import NormalPolicy

    def wrong(sound, policy, raw):
        mean, std = sound(policy, raw)
        raw_mean, raw_std = jnp.split(raw, 2, axis=-1)
        return of_mean(raw_mean, mean), of_deviation(raw_std, std)

    return around(NormalPolicy, "moments", wrong)


def _unbounded_deviation() -> list[Change]:
    import jax

    return _moments(lambda raw, mean: mean, lambda raw, std: jax.nn.softplus(raw))


def _no_shift() -> list[Change]:
    import jax

    return _moments(lambda raw, mean: mean, lambda raw, std: 0.9 * jax.nn.sigmoid(raw) + 0.1)


def _no_tanh() -> list[Change]:
    return _moments(lambda raw, mean: raw, lambda raw, std: std)


def _clipped_draw() -> list[Change]:
    import jax.numpy as jnp

    from core.dreamerv3.distributions import NormalPolicy

    return around(
        NormalPolicy,
        "sample",
        lambda sound, *args: jnp.clip(sound(*args), -1, 1),
    )


def _mean_over_components() -> list[Change]:
    from core.dreamerv3.distributions import NormalPolicy

    def divided(sound, policy, *args):
        return sound(policy, *args) / policy.size

    return [
        *around(NormalPolicy, "log_prob", divided),
        *around(NormalPolicy, "entropy", divided),
    ]


FAULTS = (
    Fault(
        "F06",
        "policy gradient through the draw of a reparameterised action",
        KIND,
        seeded("F06", (*CONTINUOUS, "imagination_losses"), _reparameterised),
        (
            "continuous-policy/slopes",
            "continuous-policy/score",
            "imagination-losses/continuous-actor-gradient",
            "imagination-losses/continuous-score",
        ),
        "reported in re-implementations",
    ),
    Fault(
        "X156",
        "entropy of the distribution before unimix",
        KIND,
        seeded("X156", DISCRETE, _unmixed_entropy),
        ("discrete-policy/entropy", "discrete-policy/slopes"),
    ),
    Fault(
        "X157",
        "discrete actions drawn with a temperature of 2",
        KIND,
        seeded("X157", DISCRETE, _hotter_draw),
        ("discrete-policy/draws",),
    ),
    Fault(
        "X158",
        "standard deviation without its bounds",
        KIND,
        seeded("X158", CONTINUOUS, _unbounded_deviation),
        (
            "continuous-policy/moments",
            "continuous-policy/log-prob",
            "continuous-policy/entropy",
            "continuous-policy/draws",
        ),
    ),
    Fault(
        "X159",
        "standard deviation without the shift of its sigmoid",
        KIND,
        seeded("X159", CONTINUOUS, _no_shift),
        ("continuous-policy/moments", "continuous-policy/entropy"),
    ),
    Fault(
        "X160",
        "mean without tanh",
        KIND,
        seeded("X160", CONTINUOUS, _no_tanh),
        ("continuous-policy/moments", "continuous-policy/slopes", "continuous-policy/draws"),
    ),
    Fault(
        "X161",
        "drawn actions clipped before they are scored",
        KIND,
        seeded("X161", CONTINUOUS, _clipped_draw),
        ("continuous-policy/draws",),
    ),
    Fault(
        "X162",
        "log-density and entropy averaged over the components of an action",
        KIND,
        seeded("X162", CONTINUOUS, _mean_over_components),
        ("continuous-policy/log-prob", "continuous-policy/entropy", "continuous-policy/slopes"),
    ),
    Fault(
        "X163",
        "no unimix in the policy's log-probabilities, entropies and gradients",
        KIND,
        seeded("X163", DISCRETE, actor_unimix=0.0),
        (
            "discrete-policy/log-prob",
            "discrete-policy/entropy",
            "discrete-policy/slopes",
        ),
    ),
    Fault(
        "X164",
        "mixture in the value of a log-probability but not in its gradient",
        KIND,
        seeded("X164", (*DISCRETE, "imagination_losses"), _gradient_of_unmixed),
        (
            "discrete-policy/slopes",
            "discrete-policy/score",
            "imagination-losses/discrete-actor-gradient",
            "imagination-losses/discrete-score",
        ),
    ),
)
