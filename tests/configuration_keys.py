"""A configuration of a small agent in which no two keys of a kind are alike."""

import jax
import numpy as np
from dreamerv3_batches import SMALL

from core.dreamerv3.config import Config

LAYERS = {"enc": 2, "dec": 3, "rew": 2, "con": 1, "actor": 3, "critic": 1}
LAYERS |= {"prior": 2, "posterior": 1, "core": 1}
LOSSES = ("rec", "rew", "con", "dyn", "rep", "actor", "critic", "repval")
SCALES = {f"{name}_scale": 0.2 + 0.1 * i for i, name in enumerate(LOSSES)}

BASE = Config().replace(
    **SMALL,
    **SCALES,
    **{f"{name}_layers": count for name, count in LAYERS.items()},
    unimix=0.02,
    actor_unimix=0.03,
    minstd=0.2,
    maxstd=0.8,
    return_horizon=50,
    lam=0.9,
    repval_lam=0.7,
    actent=0.1,
    slowreg=0.6,
    slow_rate=0.15,
    retnorm_rate=0.4,
    retnorm_limit=0.5,
    learning_rate=0.1,
    beta1=0.8,
    beta2=0.95,
    eps=0.01,
    agc=0.25,
    agc_pmin=0.05,
    warmup=4,
    train_ratio=32.0,
    batch_size=4,
    batch_length=8,
)


def changed(before, after):
    """The names under which two dictionaries of trees differ."""
    assert before.keys() == after.keys()

    def same(a, b):
        a, b = (jax.tree_util.tree_flatten_with_path(x)[0] for x in (a, b))
        return [p for p, _ in a] == [p for p, _ in b] and all(
            np.array_equal(x, y) for (_, x), (_, y) in zip(a, b, strict=True)
        )

    return {name for name in before if not same(before[name], after[name])}
