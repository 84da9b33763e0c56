"""Faults of the two-hot support, targets, losses and predictions."""

from __future__ import annotations

import numpy as np

from parity.faults import Fault
from parity.implementations import OperationTable

KIND = "two-hot heads"


def _symlog_space() -> OperationTable:
    """Bins evenly spaced in symlog space, and symlog targets on them."""
    import jax
    import jax.numpy as jnp

    from core.dreamerv3 import twohot
    from core.numerics import symexp, symlog
    from parity.core_subject.running import run

    def grid(bins):
        return jnp.linspace(-twohot.LIMIT, twohot.LIMIT, len(bins))

    def encode(value, bins):
        return twohot.encode(symlog(value), grid(bins))

    def loss(logits, value, bins):
        return twohot.loss(logits, symlog(value), grid(bins))

    def expectation(probs, bins):
        return symexp(jnp.sum(probs * grid(bins), axis=-1))

    def decode(logits, bins):
        return expectation(jax.nn.softmax(logits, axis=-1), bins)

    return {
        "dreamerv3.twohot_bins": lambda count, mode: {
            "bins": np.linspace(-20, 20, count, dtype=np.float32)
        },
        "dreamerv3.twohot_encode": lambda value, bins, mode: {
            "weights": run(encode, mode, value, bins)
        },
        "dreamerv3.twohot_loss": lambda logits, value, bins, mode: {
            "loss": run(loss, mode, logits, value, bins)
        },
        "dreamerv3.twohot_expectation": lambda probs, bins, mode: {
            "value": run(expectation, mode, probs, bins)
        },
        "dreamerv3.twohot_decode": lambda logits, bins, mode: {
            "value": run(decode, mode, logits, bins)
        },
    }


def _random_output_layer() -> OperationTable:
    """The output layer of the head drawn as any other layer's."""
    import jax
    import jax.numpy as jnp

    from core.dreamerv3.heads import TwoHotHead

    def head_at_init(features, shift, seed, mode):
        head, key = TwoHotHead(layers=1, units=64), jax.random.PRNGKey(seed)
        parameters = head.init(key, jnp.asarray(features))["params"]
        draw = jax.nn.initializers.lecun_normal()(key, (64, head.bins))
        parameters = {"params": {**parameters, "out": {"kernel": draw, "bias": shift}}}
        predict = jax.jit(lambda x: head.apply(parameters, x, method="predict"))
        return {"value": np.asarray(predict(jnp.asarray(features)))}

    return {"dreamerv3.twohot_head_at_init": head_at_init}


def _plain_sum() -> OperationTable:
    """Σ p_k · b_k in one plain sum, which does not cancel exactly."""
    import jax
    import jax.numpy as jnp

    from parity.core_subject.running import run

    def expectation(probs, bins):
        return jnp.sum(probs * bins, axis=-1)

    def decode(logits, bins):
        return expectation(jax.nn.softmax(logits, axis=-1), bins)

    return {
        "dreamerv3.twohot_expectation": lambda probs, bins, mode: {
            "value": run(expectation, mode, probs, bins)
        },
        "dreamerv3.twohot_decode": lambda logits, bins, mode: {
            "value": run(decode, mode, logits, bins)
        },
    }


def _float32_bins() -> OperationTable:
    """The grid and its symexp evaluated in float32."""
    from core.numerics import symexp
    from parity.core_subject.running import run

    def bins(count, mode):
        grid = np.linspace(-20, 20, count).astype(np.float32)
        return {"bins": run(symexp, mode, grid)}

    return {"dreamerv3.twohot_bins": bins}


def _stretched_bins() -> OperationTable:
    """One constant, the limit of the grid, wrong by one part in 1e4."""

    def bins(count, mode):
        del mode
        grid = np.linspace(-1, 1, count) * 20 * (1 + 1e-4)
        return {"bins": (np.sign(grid) * np.expm1(np.abs(grid))).astype(np.float32)}

    return {"dreamerv3.twohot_bins": bins}


def _extrapolated_targets() -> OperationTable:
    """Targets beyond the support extrapolated over the last two bins instead of clipped."""

    def encode(value, bins, mode):
        del mode
        above = np.clip(np.searchsorted(bins, value, side="right"), 1, len(bins) - 1)
        low, high = bins[above - 1], bins[above]
        with np.errstate(invalid="ignore", over="ignore"):
            upper = ((value - low) / (high - low)).astype(np.float32)
        weights = np.zeros((len(value), len(bins)), np.float32)
        rows = np.arange(len(value))
        weights[rows, above - 1], weights[rows, above] = 1 - upper, upper
        return {"weights": weights}

    return {"dreamerv3.twohot_encode": encode}


def _guarded_logarithm() -> OperationTable:
    """log(softmax + 1e-8) where logits − logsumexp is meant."""
    import jax
    import jax.numpy as jnp

    from core.dreamerv3 import twohot
    from parity.core_subject.running import run

    def loss(logits, value, bins):
        log_probs = jnp.log(jax.nn.softmax(logits, axis=-1) + 1e-8)
        return -jnp.sum(twohot.encode(value, bins) * log_probs, axis=-1)

    return {
        "dreamerv3.twohot_loss": lambda logits, value, bins, mode: {
            "loss": run(loss, mode, logits, value, bins)
        }
    }


def _half_precision_sum() -> OperationTable:
    """Probabilities rounded to bfloat16 before the expectation."""
    import jax.numpy as jnp

    from core.dreamerv3 import twohot
    from parity.core_subject.running import run

    def expectation(probs, bins):
        return twohot.expectation(probs.astype(jnp.bfloat16).astype(jnp.float32), bins)

    return {
        "dreamerv3.twohot_expectation": lambda probs, bins, mode: {
            "value": run(expectation, mode, probs, bins)
        }
    }


FAULTS = (
    Fault(
        "F01",
        "bins linear in symlog space with symlog targets, instead of symexp-spaced bins",
        KIND,
        _symlog_space,
        ("D22/bins", "D22/encode", "D22/loss", "D22/expectation", "D22/decode"),
        "reported in re-implementations",
    ),
    Fault(
        "F10",
        "two-hot heads not initialised with zeros",
        KIND,
        _random_output_layer,
        ("D22/head-zero",),
        "reported in re-implementations",
    ),
    Fault(
        "X01",
        "the expectation as one plain sum over the bins",
        KIND,
        _plain_sum,
        ("D22/uniform-zero", "D22/mirror-zero"),
    ),
    Fault("X02", "bins evaluated in float32", KIND, _float32_bins, ("D22/bins-rounding",)),
    Fault("X03", "limit of the bins wrong by 1e-4", KIND, _stretched_bins, ("D22/bins",)),
    Fault(
        "X04",
        "targets beyond the support extrapolated",
        KIND,
        _extrapolated_targets,
        ("D22/encode", "twohot-encode/eager"),
    ),
    Fault(
        "X05",
        "logarithm of a probability guarded by 1e-8",
        KIND,
        _guarded_logarithm,
        ("D22/loss",),
    ),
    Fault("X06", "probabilities in bfloat16", KIND, _half_precision_sum, ("D22/expectation",)),
)
