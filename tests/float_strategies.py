"""Hypothesis strategies for float32 inputs: extremes, subnormals, both signs, B of 1."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

# Fixed batch sizes, so that a compiled function is compiled a handful of times.
BATCHES = (1, 7, 64)
TINY = float(np.finfo(np.float32).tiny)
EPSILON = float(np.finfo(np.float32).eps)


def _within(limit: float):
    exact = float(np.float32(limit))
    return st.floats(-exact, exact, width=32, allow_subnormal=True)


def batches(limit: float = 3.4e38, *, infinities: bool = False):
    numbers = _within(limit)
    if infinities:
        numbers |= st.sampled_from([np.inf, -np.inf])
    sizes = st.sampled_from(BATCHES)
    return sizes.flatmap(lambda n: hnp.arrays(np.float32, n, elements=numbers))


def matrices(columns: int, limit: float):
    numbers = _within(limit)
    sizes = st.sampled_from(BATCHES)
    return sizes.flatmap(lambda n: hnp.arrays(np.float32, (n, columns), elements=numbers))


def assert_within_ulp(answer: np.ndarray, exact: np.ndarray, ulp: float) -> None:
    """Fails unless every answer is within `ulp` float32 spacings of the float64 truth.

    A subnormal result may be flushed to zero. Equal infinities agree, and a truth beyond
    float32 is infinite.
    """
    with np.errstate(over="ignore"):
        rounded = exact.astype(np.float32)
    spacing = np.maximum(np.spacing(np.abs(rounded)).astype(np.float64), TINY * EPSILON)
    with np.errstate(invalid="ignore"):
        error = np.abs(answer.astype(np.float64) - exact)
    allowed = np.where(np.abs(exact) < TINY, TINY, ulp * spacing)
    good = (error <= allowed) | (answer == rounded)
    bad = np.flatnonzero(~good)
    assert good.all(), f"at {bad[:3]}: got {answer[bad[:3]]}, exactly {exact[bad[:3]]}"
