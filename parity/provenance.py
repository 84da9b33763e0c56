"""Where and with what a measurement was made."""

from __future__ import annotations

import datetime
import importlib.metadata
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path

from parity.implementations import Implementation
from reports.records import Provenance

PROJECT = "world-model-parity"
PACKAGES = ("jax", "jaxlib", "numpy", "flax", "optax", "torch")


def of(subject: Implementation) -> Provenance:
    """The provenance of a measurement of `subject`, made now.

    A subject in an environment of its own is described by that environment.
    """
    identity = getattr(subject, "identity", None)
    packages = identity.packages if identity else installed(PACKAGES)
    return Provenance(
        tool=f"parity {version(PROJECT)}",
        created=now(),
        subject=subject.name,
        python=identity.python if identity else platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}, {processor()}",
        packages={**chosen(packages), PROJECT: version(PROJECT)},
    )


def chosen(packages: Mapping[str, str]) -> dict[str, str]:
    """Of many packages, those that decide what is measured."""
    return {name: packages[name] for name in PACKAGES if name in packages}


def now() -> str:
    """The time in UTC, to the second, as ISO 8601 writes it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def installed(packages: Iterable[str]) -> dict[str, str]:
    """The versions of those packages that are installed here."""
    versions = {name: version(name) for name in packages}
    return {name: found for name, found in versions.items() if found}


def version(package: str) -> str:
    """The installed version of a distribution; "" if it is not installed."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


def processor() -> str:
    """The processor's model: the last digits of a float32 depend on it."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8", "replace").splitlines()
    except OSError:
        lines = []
    models = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(models, "") or platform.processor() or platform.machine()
