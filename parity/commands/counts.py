"""Whole numbers as options: what is not whole is a mistake, and is not cut off."""

from __future__ import annotations

from typing import Annotated

from cyclopts import Parameter, validators

from core.typed import whole

Count = Annotated[int, Parameter(converter=whole, validator=validators.Number(gte=1))]
OptionalCount = Annotated[
    int | None,
    Parameter(converter=whole, validator=validators.Number(gte=1), show_default=False),
]
Seed = Annotated[int, Parameter(converter=whole, validator=validators.Number(gte=0))]
