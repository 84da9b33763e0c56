"""A right port that is not JAX: float32 numpy, with the formulas that one would write.

No claim may be broken for it.
"""

import numpy as np
import numpy_port_data
import numpy_port_latent
import numpy_port_learning
import numpy_port_optimizer
import numpy_port_tdmpc2

NAME = "numpy port"
F32 = np.float32


def symlog(x, mode):
    return {"y": np.sign(x) * np.log1p(np.abs(x))}


def symexp(x, mode):
    with np.errstate(over="ignore"):
        return {"y": np.sign(x) * np.expm1(np.abs(x))}


def softmax(logits):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def unimix(logits, unimix, mode):
    mixed = F32(1 - unimix) * softmax(logits) + F32(unimix / logits.shape[-1])
    return {"log_probs": np.log(mixed)}


def bins(count, mode):
    grid = np.linspace(-20, 20, count, dtype=F32)
    return {"bins": np.sign(grid) * np.expm1(np.abs(grid))}


def encode(value, bins, mode):
    inside = np.clip(value, bins[0], bins[-1])
    above = np.clip(np.searchsorted(bins, inside, side="right"), 1, len(bins) - 1)
    upper = (inside - bins[above - 1]) / (bins[above] - bins[above - 1])
    weights, rows = np.zeros((len(value), len(bins)), F32), np.arange(len(value))
    weights[rows, above - 1], weights[rows, above] = 1 - upper, upper
    return {"weights": weights}


def loss(logits, value, bins, mode):
    top = logits.max(-1, keepdims=True)
    log_probs = logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))
    return {"loss": -(encode(value, bins, mode)["weights"] * log_probs).sum(-1)}


def decode(logits, bins, mode):
    total = np.zeros(len(logits), F32)
    for prob, place in zip(softmax(logits).T, bins, strict=True):  # one term after another
        total = total + prob * place
    return {"value": total}


def rms_norm(x, scale, mode):
    return {"y": x / np.sqrt(np.mean(x * x, -1, keepdims=True) + F32(1e-4)) * scale}


def return_normaliser(returns, initial, mode):
    low, high = initial
    rows = []
    for batch in returns:
        p5, p95 = np.percentile(batch, [5, 95]).astype(F32)
        low, high = low + F32(0.01) * (p5 - low), high + F32(0.01) * (p95 - high)
        rows.append((low, high, max(F32(1), high - low)))
    columns = np.asarray(rows, F32).T.copy()
    return dict(zip(("low", "high", "scale"), columns, strict=True))


def kernel(rng, shape, fan_in, outscale):
    draws = rng.standard_normal(4 * int(np.prod(shape)))
    draws = draws[np.abs(draws) < 2][: int(np.prod(shape))]
    return {"kernel": (draws.reshape(shape) * outscale / np.sqrt(fan_in) / 0.87962566).astype(F32)}


def kernel_init(fan_in, fan_out, outscale, seed):
    return kernel(np.random.default_rng(seed), (fan_in, fan_out), fan_in, outscale)


def block_kernel_init(blocks, fan_in, fan_out, outscale, seed):
    shape = (blocks, fan_in, fan_out)
    return kernel(np.random.default_rng(seed), shape, blocks * fan_in, outscale)


def update_schedule(numerator, denominator, steps):
    total = 1 + (steps - steps[0]) * numerator // denominator
    return {"updates": np.diff(total, prepend=0)}


OPERATIONS = {
    "dreamerv3.symlog": symlog,
    "dreamerv3.symexp": symexp,
    "dreamerv3.latent_log_probs": unimix,
    "dreamerv3.actor_log_probs": unimix,
    "dreamerv3.twohot_bins": bins,
    "dreamerv3.twohot_encode": encode,
    "dreamerv3.twohot_loss": loss,
    "dreamerv3.twohot_decode": decode,
    "dreamerv3.rms_norm": rms_norm,
    "dreamerv3.return_normaliser": return_normaliser,
    "dreamerv3.kernel_init": kernel_init,
    "dreamerv3.block_kernel_init": block_kernel_init,
    "dreamerv3.update_schedule": update_schedule,
    **numpy_port_data.OPERATIONS,
    **numpy_port_latent.OPERATIONS,
    **numpy_port_learning.OPERATIONS,
    **numpy_port_optimizer.OPERATIONS,
    **numpy_port_tdmpc2.OPERATIONS,
}
