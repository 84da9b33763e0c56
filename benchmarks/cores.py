"""Which cores a measurement may use; imports nothing that starts threads."""

from __future__ import annotations

import os


def use_cores(count: int | None) -> int:
    """Confines this process and those that it starts; returns how many cores it may use.

    Must be called before numpy and jax are imported: their threads stay where they are.
    """
    if not hasattr(os, "sched_setaffinity"):  # only Linux has it
        return os.cpu_count() or 1
    cores = sorted(os.sched_getaffinity(0))
    if count is not None:
        os.sched_setaffinity(0, cores[:count])
    return len(os.sched_getaffinity(0))
