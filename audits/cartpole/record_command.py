"""`audit record`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter


def record(
    run: Path,
    /,
    *,
    side: Literal["ours", "reference"],
    seeds: Annotated[tuple[int, ...], Parameter(consume_multiple=True, negative=())] = (0, 1, 2),
    smoke: Annotated[bool, Parameter(negative=())] = False,
    neutralise: Annotated[
        tuple[Literal["D22"], ...], Parameter(consume_multiple=True, negative=())
    ] = (),
) -> int:
    """Keep finished runs of the CartPole audit in the package, for --reference recorded.

    Example: audit record audit-results/cartpole/reference --side reference

    Parameters
    ----------
    run
        The folder of a side, which holds seed0 and so on.
    side
        Whose runs they are.
    seeds
        Which of them.
    smoke
        They are runs of `audit cartpole --smoke`.
    neutralise
        Or of `audit cartpole --neutralise` with these rows.
    """
    from audits.cartpole.protocol import plan as make_plan
    from audits.cartpole.recordings import keep

    plan = make_plan(seeds, smoke=smoke, neutralised=neutralise)
    for seed in seeds:
        print(keep(plan, side, run / f"seed{seed}", seed))
    return 0
