"""Which runs a command means."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from audits.paper.errors import PaperError
from audits.paper.registry import Kind, RunSpec, find
from audits.paper.training import offered, require


def select(names: Sequence[str], seeds: Sequence[int], kind: Kind = "protocol") -> list[RunSpec]:
    """The runs that were named, with other seeds if they were given.

    Args:
        names: Of runs or agents; all that the core can train if there is none.
        seeds: In place of the protocol's.
        kind: Among which runs: the protocol's, or others.

    Raises:
        PaperError: No run is called that, the core can not train one that was named, or the
            seeds are none.
    """
    specs = find(names, kind)
    if names:
        for spec in specs:
            require(spec)
    left_out = [spec for spec in specs if not offered(spec.agent)]
    if left_out:
        agents = ", ".join(sorted({spec.agent for spec in left_out}))
        print(
            f"left out: {len(left_out)} runs of {agents}, whose training the core does not have",
            file=sys.stderr,
        )
    if seeds:
        if len(set(seeds)) < len(seeds) or not all(0 <= seed < 2**32 for seed in seeds):
            told = " ".join(map(str, seeds))
            raise PaperError(f"--seeds: different numbers from 0 to {2**32 - 1}, not {told}")
        specs = [spec.with_seeds(seeds) for spec in specs]
    return [spec for spec in specs if offered(spec.agent)]
