"""What the agreements of DreamerV3 have in common: their pins, and a claim per mode."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from parity.claims import Tolerance
from parity.comparisons import Measure
from parity.operations import Inputs
from parity.registry import Claim, Entry, Source

PINS = ("dreamerv3-29eb964", "dreamerv3-2411f7d")


def in_both_modes(
    operation: str,
    statement: str,
    tolerance: Tolerance,
    reason: str,
    measure: Measure,
    make_cases: Callable[[np.random.Generator], Inputs],
    search: Callable[[], Any] | None = None,
) -> tuple[Claim, ...]:
    """One claim per mode: eagerly, and as one compiled program."""

    def in_mode(mode: str) -> Claim:
        def draw(rng: np.random.Generator) -> Inputs:
            drawn = make_cases(rng)
            variants = drawn.get("variants", [drawn])
            return {"variants": [{**variant, "mode": mode} for variant in variants]}

        def strategy() -> Any:
            assert search is not None
            return search().map(lambda inputs: {**inputs, "mode": mode})

        how = "Eagerly" if mode == "eager" else "Compiled"
        return Claim(
            mode,
            f"{how}, {statement}",
            tolerance,
            reason,
            (operation,),
            draw,
            measure,
            search=strategy if search else None,
        )

    return (in_mode("eager"), in_mode("compiled"))


def agreement(
    name: str,
    title: str,
    equation: str,
    sources: tuple[tuple[str, str, str], ...],
    claims: tuple[Claim, ...],
    consequence: str,
) -> Entry:
    """An agreement that holds at both pins of the paper's era.

    Args:
        name: Its id.
        title: In a few words.
        equation: What the reference does.
        sources: Its files, and the lines at each of `PINS`.
        claims: What is measured.
        consequence: What follows from agreeing.
    """
    return Entry(
        id=name,
        agent="DreamerV3",
        kind="agreement",
        title=title,
        reference=equation,
        subject="The same.",
        consequence=consequence,
        sources=tuple(
            Source(pin, file, lines)
            for file, paper, earlier in sources
            for pin, lines in zip(PINS, (paper, earlier), strict=True)
        ),
        pins=PINS,
        claims=claims,
    )


def prefixed(prefix: str, claims: tuple[Claim, ...]) -> tuple[Claim, ...]:
    """The claims with a prefix to their ids."""
    return tuple(dataclasses.replace(claim, id=f"{prefix}-{claim.id}") for claim in claims)
