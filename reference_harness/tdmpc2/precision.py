"""How precisely float32 matrices are multiplied, answered by nicklashansen/tdmpc2.

Runs inside the side environment. The training program's file runs up to its function, which is
where it sets the library up.
"""

from __future__ import annotations

import numpy as np
import torch

from reference_harness.tdmpc2.stock import Quiet, load, module


def product_precision():
    before = torch.get_float32_matmul_precision()
    setter, calls = torch.set_float32_matmul_precision, []
    torch.set_float32_matmul_precision = lambda asked: calls.append(asked) or setter(asked)
    try:
        setter("highest")  # the library's default
        load("train.py", envs=module("envs", make_env=Quiet()))
        found = torch.get_float32_matmul_precision()
        tf32 = torch.backends.cuda.matmul.allow_tf32
    finally:
        torch.set_float32_matmul_precision = setter
        setter(before)
    full = found == "highest" and not tf32
    answer = {"products": 1, "asked": bool(calls), "full": full}
    return {name: np.asarray(value, np.int64) for name, value in answer.items()}


OPERATIONS = {"tdmpc2.product_precision": product_precision}
