"""What the agreements of TD-MPC2 have in common: their pins and sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parity.registry import Claim, Entry, Source

# What is the same in both eras is measured at one pin of each; the sources name all four.
PAPER, FIRST = "tdmpc2-5f6fade", "tdmpc2-b67b21c"
HEAD, BETWEEN = "tdmpc2-e9f5932", "tdmpc2-eece801"
ALL = (FIRST, PAPER, BETWEEN, HEAD)
PINS = (PAPER, HEAD)

# Lines of one file at each of `ALL`; None where it does not hold.
Lines = Sequence[str | None]


def sources(lines: Mapping[str, Lines]) -> tuple[Source, ...]:
    """Sources from lines by file, the file's path within the reference's own package."""
    return tuple(
        Source(pin, f"tdmpc2/{file}", at)
        for file, found in lines.items()
        for pin, at in zip(ALL, found, strict=True)
        if at is not None
    )


def agreement(
    name: str,
    title: str,
    equation: str,
    lines: Mapping[str, Lines],
    claims: tuple[Claim, ...],
    consequence: str,
    pins: tuple[str, ...] = PINS,
) -> Entry:
    """An agreement with the reference.

    Args:
        name: Its id, without the agent.
        title: In a few words.
        equation: What the reference does.
        lines: Where, for `sources`.
        claims: What is measured.
        consequence: What follows from agreeing.
        pins: Where it is measured.
    """
    return Entry(
        id=f"tdmpc2-{name}",
        agent="TD-MPC2",
        kind="agreement",
        title=title,
        reference=equation,
        subject="The same.",
        consequence=consequence,
        sources=sources(lines),
        pins=pins,
        claims=claims,
    )
