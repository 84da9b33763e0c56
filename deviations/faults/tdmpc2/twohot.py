"""Faults of TD-MPC2's two-hot regression."""

from __future__ import annotations

from typing import Any

from deviations.faults.tdmpc2.seeding import fault, within
from parity.faults import Fault

KIND = "numerics"
ENCODE, DECODE, LOSS = (f"tdmpc2-twohot-{name}/equal" for name in ("encode", "decode", "loss"))


def _jnp() -> Any:
    import jax.numpy as jnp

    return jnp


def _in_float32(sound, count=101, limit=10.0, dtype="float32"):
    import numpy as np

    step = np.float32(2 * limit) / np.float32(count - 1)
    return np.float32(-limit) + step * np.arange(count, dtype=np.float32)


def _stretched(sound, count=101, limit=10.0, dtype="float32"):
    return sound(count, limit * (1 + 1e-4), dtype)


def _raw_support(sound, self, value):
    """Bins in units of the value: the symexp of the grid, and no symlog of the target."""
    jnp = _jnp()
    from core.numerics import symexp

    bins = symexp(self.bins(value.dtype))
    below = jnp.clip(jnp.searchsorted(bins, value, side="right") - 1, 0, self.count - 2)
    low, high = bins[below], bins[below + 1]
    share = jnp.clip((value - low) / (high - low), 0, 1)
    return type(sound(self, value))(below.astype(jnp.int32), share)


def _nearest_bin(sound, self, value):
    found = sound(self, value)
    return found._replace(share=_jnp().round(found.share))


def _no_symlog(sound, self, value):
    from core.numerics import symexp

    return sound(self, symexp(value))


def _floor_formula(sound, self, value):
    jnp = _jnp()
    from core.numerics import symlog

    x = jnp.clip(symlog(value), -self.limit, self.limit)
    place = (x + self.limit) / (2 * self.limit / (self.count - 1))
    below = jnp.clip(jnp.floor(place), 0, self.count - 2)
    return type(sound(self, value))(below.astype(jnp.int32), place - below)


def _plain_sum(sound, self, logits):
    import jax

    from core.numerics import symexp

    probs = jax.nn.softmax(logits, axis=-1)
    return symexp(_jnp().sum(probs * self.bins(logits.dtype), axis=-1))


def _no_symexp(sound, self, logits):
    from core.numerics import symlog

    return symlog(sound(self, logits))


def _half_precision(sound, self, logits):
    import jax

    # A cast there and back would be optimised away.
    return sound(self, jax.lax.reduce_precision(logits, 8, 7))


def _guarded(sound, self, logits, value):
    import jax

    probs = jax.nn.softmax(logits, axis=-1)
    return -_jnp().sum(self.encode(value) * _jnp().log(probs + 1e-8), axis=-1)


FAULTS: tuple[Fault, ...] = (
    fault(
        "X308",
        "bins evaluated in float32",
        KIND,
        "twohot_bins",
        within("core.tdmpc2.twohot", "make_bins", _in_float32),
        "T24/bins-rounding",
    ),
    fault(
        "X309",
        "limit of the bins wrong by 1e-4",
        KIND,
        "twohot_bins",
        within("core.tdmpc2.twohot", "make_bins", _stretched),
        "T24/bins",
        "T24/bins-rounding",
    ),
    fault(
        "F01.tdmpc2",
        "DreamerV3's support: bins in units of the value, targets without symlog",
        KIND,
        "twohot_encode twohot_loss",
        within("core.tdmpc2.twohot:Support", "place", _raw_support),
        ENCODE,
        LOSS,
        "T24/encode",
        "T24/encode-exact",
    ),
    fault(
        "X310",
        "all weight on the nearest bin",
        KIND,
        "twohot_encode twohot_loss",
        within("core.tdmpc2.twohot:Support", "place", _nearest_bin),
        ENCODE,
        LOSS,
        "T24/encode",
        "T24/encode-exact",
    ),
    fault(
        "F13.tdmpc2",
        "targets that are not compressed by symlog",
        KIND,
        "twohot_encode twohot_loss",
        within("core.tdmpc2.twohot:Support", "place", _no_symlog),
        ENCODE,
        LOSS,
        "T24/encode",
        "T24/encode-exact",
    ),
    fault(
        "X311",
        "the reference's floor formula for targets",
        KIND,
        "twohot_encode",
        within("core.tdmpc2.twohot:Support", "place", _floor_formula),
        "T24/encode-exact",
    ),
    fault(
        "X312",
        "the expectation as one plain sum over the bins",
        KIND,
        "twohot_decode",
        within("core.tdmpc2.twohot:Support", "decode", _plain_sum),
        "T24/uniform-zero",
    ),
    fault(
        "X313",
        "predictions left in symlog space",
        KIND,
        "twohot_decode",
        within("core.tdmpc2.twohot:Support", "decode", _no_symexp),
        DECODE,
        "T24/decode",
        "T24/decode-exact",
    ),
    fault(
        "X314",
        "logits rounded to bfloat16 before they are decoded",
        KIND,
        "twohot_decode",
        within("core.tdmpc2.twohot:Support", "decode", _half_precision),
        DECODE,
        "T24/decode",
        "T24/decode-exact",
    ),
    fault(
        "X315",
        "logarithm of a probability guarded by 1e-8",
        KIND,
        "twohot_loss",
        within("core.tdmpc2.twohot:Support", "loss", _guarded),
        LOSS,
        "T24/log-probabilities",
    ),
)
