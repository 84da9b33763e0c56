"""`parity record`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from parity import progress, recorder, registry, subjects
from parity.commands import options
from parity.references import References


def record(
    *,
    deviation: options.Ids = None,
    agreement: options.Ids = None,
    pin: options.Ids = None,
    recordings: Annotated[Path | None, Parameter(show_default=False)] = None,
) -> int:
    """Ask the installed references what the claims ask, and keep the answers.

    `parity run` then needs no reference. A selection is merged into what was recorded
    before; without one, everything that was recorded of the installed pins is replaced.
    The exit status is 0 if all was recorded, 2 if something was left out.

    Example: parity record --deviation D22

    Args:
        deviation: The rows of the deviation table to record, e.g. D22 D23.
        agreement: The agreements to record.
        pin: Record these pins of the references only.
        recordings: The folder to write to instead of the embedded one.
    """
    listed = registry.load_registry()
    entries = options.entries(listed, deviation, agreement)
    pins = options.pins(listed, pin)
    if recordings is not None:
        recordings.mkdir(parents=True, exist_ok=True)
    selection = {
        "--deviation": [e.id for e in entries if e.kind == "deviation"] if deviation else [],
        "--agreement": [e.id for e in entries if e.kind == "agreement"] if agreement else [],
        "--pin": pins,
    }
    words = [word for option, ids in selection.items() if ids for word in (option, *ids)]
    with (
        subjects.opened() as core,
        # Compared with nothing: recording again is the way out of a damaged recording.
        References("live", folder=None) as references,
        progress.shown() as told,
    ):
        done = recorder.record(
            entries,
            core,
            references,
            command=" ".join(("parity record", *words)),
            pins=pins,
            prune=not words,
            folder=options.recordings_folder(recordings),
            progress=told,
        )
    for pin_done in done.written:
        print(
            f"{pin_done.pin}: {pin_done.answers} answers in {pin_done.size / 1e6:.2f} MB "
            f"({pin_done.added} new, {pin_done.changed} changed, {pin_done.dropped} dropped)"
        )
    for why in done.left_out:
        print(f"not recorded: {why}", file=sys.stderr)
    if not done.written and not done.left_out:
        print("parity: no claim of the chosen entries asks a reference", file=sys.stderr)
        return 2
    return 2 if done.left_out else 0
