"""Where XLA's compiled programs are kept from one process to the next."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs


def default_folder() -> Path:
    """The user's cache folder, apart for each number of cores that a process may use.

    XLA compiles for that number, but its cache does not tell two of them apart: a program
    compiled on one core would run on one for ever.
    """
    folder = Path(platformdirs.user_cache_dir("world-model-parity")) / "compiled"
    return folder / f"{usable_cores()}-cores"


def usable_cores() -> int:
    """How many cores this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)  # only Linux has it
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def keep_programs(folder: Path | None = None) -> None:
    """Has jax keep programs that took half a second to compile, and find those that were kept.

    Args:
        folder: Where; by default `default_folder`.
    """
    import jax

    jax.config.update("jax_compilation_cache_dir", str(folder or default_folder()))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.5)
