"""The parts of an agent that operations belong to: the modules of the catalogue."""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Mapping

from parity import operations
from parity.registry import Entry

OTHER = "other"


@functools.cache
def parts() -> Mapping[str, str]:
    """The part of every operation by the operation's name, in the order of the catalogue."""
    module_of: dict[str, str] = {}
    for agent in pkgutil.iter_modules(operations.__path__):
        package = importlib.import_module(f"{operations.__name__}.{agent.name}")
        for part in pkgutil.iter_modules(getattr(package, "__path__", [])):
            module = importlib.import_module(f"{package.__name__}.{part.name}")
            for operation in getattr(module, "OPERATIONS", ()):
                module_of[operation.name] = part.name
    return {name: module_of.get(name, OTHER) for name in operations.catalogue()}


def part_of(entry: Entry) -> str:
    """The part that an agreement is about: that of the first operation which it asks for."""
    asked = [name for claim in entry.claims for name in claim.operations]
    return parts().get(asked[0], OTHER) if asked else OTHER
