"""How precisely float32 matrices are multiplied."""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

SETTING = Operation(
    "tdmpc2.product_precision",
    "What the training program asks of float32 matrix products, of which a library lets a GPU "
    "round the factors first, to TF32's 11 bits or to fewer, unless it is asked not to or does "
    "not by default. Counted are the products of the program, or one setting for all of them",
    (),
    (
        Array("products", "", "int64", "counted"),
        Array("asked", "", "int64", "those for which the program asks a precision"),
        Array("full", "", "int64", "those whose factors keep float32's 24 bits on every device"),
    ),
)

PRODUCT = Operation(
    "tdmpc2.layer_product",
    "A layer's matrix product as training computes it on a device, in a compiled program",
    (
        Array("x", "B F", "float32", "rows"),
        Array("kernel", "F U", "float32", "of the layer"),
        Setting("platform", str, "where it is computed", ("cpu", "gpu")),
    ),
    (Array("y", "B U", "float32", "x · kernel", noise=1e-5),),
)

OPERATIONS = (SETTING, PRODUCT)
