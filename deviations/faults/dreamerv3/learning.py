"""How faults of what the agent learns with are seeded: one function of the core is replaced.

The rest of the core, and the adapter that asks it, stay as they are; its programs are compiled
anew with the replacement.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from deviations.faults.replacing import Change, around, replaced
from parity.implementations import OperationTable

__all__ = ["Change", "around", "replaced", "seeded"]


def seeded(
    name: str,
    operations: tuple[str, ...],
    changes: Callable[[], list[Change]] = list,
    **settings: Any,
) -> Callable[[], OperationTable]:
    """Makes the overrides of a fault.

    Args:
        name: Of the fault.
        operations: Without their prefix; these are answered by the changed core.
        changes: Makes the replacements: (module or class, attribute, value). It runs when the
            fault is seeded.
        **settings: Values of the configuration that the changed core has as its default.
    """

    def overrides() -> OperationTable:
        from parity.core_subject import TABLE
        from parity.core_subject.dreamerv3 import stage

        variant = stage.Variant(name, tuple(settings.items()))
        made = changes()

        def wrong(operation: str) -> Callable[..., Mapping]:
            def call(**inputs: object) -> Mapping:
                with stage.variant(variant), replaced(*made):
                    return TABLE[operation](**inputs)

            return call

        return {f"dreamerv3.{name}": wrong(f"dreamerv3.{name}") for name in operations}

    return overrides
