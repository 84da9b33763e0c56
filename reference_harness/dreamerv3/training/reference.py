"""The pinned reference as the program that runs train in, and where it keeps what it compiled."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from pathlib import Path

from reference_harness import home, installation
from reference_harness.dreamerv3.training.attempts import Program
from reference_harness.pins import find_pin

PIN = "dreamerv3-29eb964"

_OPERATIONS = "reference_harness.dreamerv3.training.run"


def reference_program() -> Program:
    """The installed reference.

    Raises:
        HarnessError: It is not installed.
    """
    pin = find_pin(PIN)
    found = installation.find(pin)
    if found is None:
        raise installation.not_installed(pin)
    return Program(
        name=pin.name,
        python=found.python,
        operations=_OPERATIONS,
        import_paths=(found.import_path,),
        environment=environment,
        way_out=f"repair it with `parity reference install {pin.name}`",
    )


def environment(pinned: int) -> Mapping[str, str]:
    """Variables of a process that is pinned to so many cores; 0 if it is not pinned.

    One that has a core to itself runs on one thread: XLA takes the number of its threads from
    the cores that it may use, the others are told.
    """
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS") if pinned else ()
    return {
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(compiled_folder(pinned or _usable_cores())),
        **dict.fromkeys(names, "1"),
    }


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def compiled_folder(cores: int) -> Path:
    """Where compiled programs are kept.

    They suit processors with the same features only; and how a program is divided depends on
    the number of cores, which is not among what JAX tells programs apart by.
    """
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    features = next((line for line in lines if line.startswith(("flags", "Features"))), "")
    digest = hashlib.sha256(features.encode()).hexdigest()[:12]
    return home.data_folder() / "compiled" / digest / f"{cores}-cores"
