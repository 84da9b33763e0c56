"""How faults of TD-MPC2 are seeded: a function of the core is replaced, or a setting.

The rest of the core, and the adapter that asks it, stay as they are.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any

from deviations.faults.replacing import Change, around, replaced
from parity.faults import Fault
from parity.implementations import OperationTable

REPORTED = "reported in re-implementations"


def seeded(
    name: str,
    operations: str,
    changes: Callable[[], list[Change]] = list,
    **settings: Any,
) -> Callable[[], OperationTable]:
    """Makes the overrides of a fault.

    Args:
        name: Of the fault.
        operations: Without their prefix, separated by spaces; the changed core answers them.
        changes: Makes the replacements: (module or class, attribute, value). It runs when the
            fault is seeded.
        **settings: Values of the configuration that the changed core has, whatever is asked.
    """

    def overrides() -> OperationTable:
        from parity.core_subject.tdmpc2 import TABLE, stage

        variant = stage.Variant(name, tuple(settings.items()))
        made = changes()

        def wrong(operation: str) -> Callable[..., Mapping]:
            def call(**inputs: object) -> Mapping:
                with stage.variant(variant), replaced(*made):
                    return TABLE[operation](**inputs)

            return call

        names = [f"tdmpc2.{operation}" for operation in operations.split()]
        return {operation: wrong(operation) for operation in names}

    return overrides


def fault(
    id: str,
    title: str,
    kind: str,
    operations: str,
    changes: Callable[[], list[Change]] | Mapping[str, Any],
    *caught: str,
) -> Fault:
    """A fault of some operations.

    Args:
        id: `F…` where it was reported of a re-implementation, else `X…`.
        title: The mistake, in a few words.
        kind: What sort of mistake it is.
        operations: As for `seeded`.
        changes: Replacements, or values of the configuration.
        *caught: The claims that must notice it.
    """
    if isinstance(changes, Mapping):
        overrides = seeded(id, operations, **changes)
    else:
        overrides = seeded(id, operations, changes)
    return Fault(id, title, kind, overrides, caught, REPORTED if id.startswith("F") else "")


def within(module: str, name: str, wrong: Callable[..., Any]) -> Callable[[], list[Change]]:
    """Replaces a function by one that is given the sound one as its first argument.

    Args:
        module: Dotted name; `module:Class` for a method.
        name: Of the function.
        wrong: Takes its place.
    """

    def changes() -> list[Change]:
        path, _, owner = module.partition(":")
        holder = importlib.import_module(path)
        return around(getattr(holder, owner) if owner else holder, name, wrong)

    return changes
