"""`parity fuzz`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from parity import fuzz as search
from parity import progress, registry, subjects
from parity.claims import Verdict
from parity.commands import counts, options
from parity.references import References


def fuzz(
    *entry: str,
    claim: str | None = None,
    examples: counts.Count = 200,
    seed: counts.Seed = 0,
    live: options.Flag = False,
    subject: str = subjects.CORE,
    subject_python: Annotated[Path | None, Parameter(show_default=False)] = None,
) -> int:
    """Search for the input on which a claim is worst.

    A recording can not answer new questions, so claims that need a reference ask the
    installed one; where there is none they are NOT MEASURED. The exit status is 0 if no
    input breaks a claim, 1 if one does, 2 if nothing could be searched.

    Example: parity fuzz D22 --claim decode --examples 1000

    Args:
        entry: Ids of deviations or agreements.
        claim: Search for this claim only.
        examples: How many inputs to try for each claim and pin.
        seed: The same seed tries the same inputs.
        live: Fail with 2 where a reference is not installed, instead of going on without.
        subject: What is audited: core, a module, or a .py file with a dictionary OPERATIONS.
        subject_python: The interpreter of the environment that the subject needs.
    """
    if not entry:
        raise options.UsageError("name at least one entry, e.g. `parity fuzz D22`")
    chosen = registry.load_registry().select(entry)
    plan = search.searches(chosen, claim)
    if not plan:
        names = f"{entry[0]}/{claim}" if claim else ", ".join(e.id for e in chosen)
        raise options.UsageError(f"{names} has no claim with a search; `parity show` tells")
    running = None
    try:
        with (
            subjects.opened(subject, subject_python) as implementation,
            # Hardly any question is asked twice, so keeping the answers would only fill memory.
            References("live", folder=None, remember=False) as references,
            progress.shown() as told,
        ):
            for place, running in enumerate(plan):
                before = place * examples
                search.fuzz(
                    running,
                    implementation,
                    references,
                    examples=examples,
                    seed=seed,
                    progress=lambda now, before=before: told(
                        before + now.examples, len(plan) * examples, _name(now)
                    ),
                )
    except KeyboardInterrupt:
        for found in plan[: plan.index(running) + 1] if running else ():
            _print(found)
        raise KeyboardInterrupt("interrupted; this is the worst so far") from None
    for found in plan:
        _print(found)
    verdicts = [found.verdict for found in plan]
    if Verdict.BROKEN in verdicts:
        return 1
    if set(verdicts) == {Verdict.NOT_MEASURED}:
        print("parity: nothing was searched, for the reasons above", file=sys.stderr)
        return 2
    if live and Verdict.NOT_MEASURED in verdicts:
        print("parity: not everything was measured, and --live asks for it", file=sys.stderr)
        return 2
    return 0


def _name(found: search.Search) -> str:
    name = f"{found.entry.id}/{found.claim.id}"
    return f"{name} at {found.pin}" if found.pin else name


def _print(found: search.Search) -> None:
    print("\n".join(_lines(found)))


def _lines(found: search.Search) -> Iterator[str]:
    yield f"{_name(found)}: {found.verdict} after {found.examples} examples"
    if found.worst is None:
        return
    fields = found.worst.fields(found.claim)
    if "measured" in fields:
        unit = found.claim.tolerance.unit
        yield f"  worst figure: {fields['measured']} {unit}".rstrip()
        yield f"  tolerance: {found.claim.tolerance.stated()}"
        yield f"  least tolerance that would pass: {fields['least']}"
    if found.worst.element:
        yield f"  worst element: {found.worst.element}"
    elif fields["why"]:
        yield f"  why: {fields['why']}"
    if fields["worst_input"]:
        yield "  worst input:"
    for name, text in fields["worst_input"].items():
        yield f"    {name} = {text}"
