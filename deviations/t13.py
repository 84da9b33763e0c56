"""T13: the precision of the matrix products."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from parity.claims import AtMost, Equals, Measurement, Stated, Within
from parity.comparisons import EPSILON, Measure
from parity.implementations import Implementation
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

SETTING = "tdmpc2.product_precision"
PRODUCT = "tdmpc2.layer_product"

PAPER = ("tdmpc2-b67b21c", "tdmpc2-5f6fade")
LATEST = ("tdmpc2-eece801", "tdmpc2-e9f5932")

TERMS = 64
FLOAT32 = TERMS / 2 + 1  # in ε: see `core-cpu`
TF32 = 4096 + FLOAT32
FEWEST = 20  # products of an update and a plan, of which there are five networks


def _nothing(rng: np.random.Generator) -> Inputs:
    del rng
    return {}


def _positive(platform: str) -> Callable[[np.random.Generator], Inputs]:
    """Factors of 24 bits and of one sign, so that nothing cancels."""

    def draw(rng: np.random.Generator) -> Inputs:
        x, kernel = ((rng.integers(2**23, 2**24, (TERMS, 8)) / 2**24) for _ in range(2))
        rows, layer = np.ascontiguousarray(x.T, np.float32), kernel.astype(np.float32)
        return {"x": rows, "kernel": layer, "platform": platform}

    return draw


def _promised(asked: int) -> Measure:
    """Whether the reference's products keep float32's bits, if it asks for that so often."""

    def measure(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
        del subject
        answer = reference(SETTING, **inputs)
        known = answer["products"] == 1 and answer["asked"] == asked
        full = float(answer["full"]) if known else np.nan
        return Measurement(full, full, 1, inputs)

    return measure


def _asked(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """Products for which the core asks a precision, of as many as two parts must have."""
    del reference
    answer = subject(SETTING, **inputs)
    products = int(answer["products"])
    asked = float(answer["asked"]) if products >= FEWEST else np.nan
    return Measurement(asked, asked, products, inputs, f"of {products} products")


def _error(subject: Implementation, reference: Implementation, inputs: Inputs) -> Measurement:
    """The largest relative error of a product, in ε."""
    del reference
    x, kernel = (inputs[name].astype(np.float64) for name in ("x", "kernel"))
    exact = x @ kernel
    errors = np.abs(subject(PRODUCT, **inputs)["y"].astype(np.float64) / exact - 1) / EPSILON
    worst = float(errors.max())  # NaN, if one is
    return Measurement(worst, worst, errors.size, inputs)


_READ = "A setting of the library, as the program's file leaves it."

CLAIMS = (
    Claim(
        "reference-paper",
        "In the paper's era the training program sets nothing, and its library's default keeps all "
        "24 bits of float32.",
        Equals(1, "of 1 setting"),
        _READ,
        (SETTING,),
        _nothing,
        _promised(0),
        about="reference",
        pins=PAPER,
        stated=Stated("full fp32 (paper era)", 1, 1),
    ),
    Claim(
        "reference-latest",
        "From eece801 on the training program asks for less: TF32 where a GPU has it.",
        Equals(0, "of 1 setting"),
        _READ,
        (SETTING,),
        _nothing,
        _promised(1),
        about="reference",
        pins=LATEST,
        stated=Stated("TF32 (latest)", 0, 0),
    ),
    Claim(
        "core",
        "The core asks no precision for any product of its training program: JAX's default holds.",
        Equals(0, "products"),
        f"The program is traced and its products counted, which are {FEWEST} at least.",
        (SETTING,),
        _nothing,
        _asked,
        about="subject",
        core_only=True,
        stated=Stated("JAX's default elsewhere (not yet set for GPU runs)", 0, 0),
    ),
    Claim(
        "core-cpu",
        "On a CPU, where all agreements are measured, that default is float32 as well: asking for "
        "the highest would change nothing.",
        AtMost(FLOAT32, "ε"),
        f"Products and sums are rounded by ε/2 each, and nothing cancels: ({TERMS} + 1) ε/2 at "
        "most. Factors of 11 bits would be off by 2^-12, 2,048 ε, each.",
        (PRODUCT,),
        _positive("cpu"),
        _error,
        about="subject",
        stated=Stated("highest in the parity tests", 0, FLOAT32),
    ),
    Claim(
        "core-gpu",
        "On a GPU the default rounds the factors to fewer bits.",
        Within(4 * FLOAT32, TF32, "ε"),
        "Nothing is known of the core there. More than four times what products in float32 can be "
        "off by would show it; two factors of 11 bits are off by 2^-12, 2,048 ε, each.",
        (PRODUCT,),
        _positive("gpu"),
        _error,
        about="subject",
        core_only=True,
        stated=Stated("not yet set for GPU runs", 4 * FLOAT32, TF32),
    ),
)

ROW = Entry(
    id="T13",
    agent="TD-MPC2",
    kind="deviation",
    title="Matmul precision",
    reference="Matmul precision: TF32 (latest) or full fp32 (paper era).",
    subject="highest in the parity tests; JAX's default elsewhere (not yet set for GPU runs).",
    consequence="Numerics.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/train.py", "19"),
        Source("tdmpc2-5f6fade", "tdmpc2/train.py", "20"),
        Source("tdmpc2-eece801", "tdmpc2/train.py", "22-23"),
        Source("tdmpc2-e9f5932", "tdmpc2/train.py", "22-23"),
    ),
    pins=(*PAPER, *LATEST),
    claims=CLAIMS,
)
