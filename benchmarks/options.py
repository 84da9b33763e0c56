"""Options of every agent's benchmark; imports nothing that starts threads."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter

Section = Literal["peak", "steps", "program"]


@Parameter(name="*")
@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Options of every agent's benchmark.

    Parameters
    ----------
    only
        peak: the machine's sgemm peak; steps: updates and actions, side by side; program: the
        whole training program, its compilation and its memory.
    rounds
        How often each side has its turn.
    seeds
        Seeds of the smallest case's program with several; 1 for none.
    cores
        How many cores everything is confined to; all by default.
    reference
        Time the reference too, which must be installed (`parity reference install`). That of
        DreamerV3 compiles for several minutes the first time.
    output
        The folder to write to; benchmarks/results by default.
    """

    only: Annotated[tuple[Section, ...], Parameter(consume_multiple=True, negative="")] = (
        "peak",
        "steps",
        "program",
    )
    rounds: int = 9
    seeds: int = 3
    cores: int | None = None
    reference: bool = True
    output: Path | None = None
