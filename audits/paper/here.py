"""Runs in this process, one after another."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from audits.paper.errors import PaperError
from audits.paper.kinds import AnySpec, Kind
from audits.paper.session import PAPER, work
from audits.paper.training import InterruptedRunError

_INTERRUPTED, _FAILED = 130, 2


def prepare() -> None:
    """What a process does before it trains: quiet XLA, and keep its compiled programs."""
    # XLA calls every compilation of more than two minutes a bug; physics takes longer.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from core.compiled import keep_programs

    keep_programs()


def run_here(specs: Sequence[AnySpec], out: Path, save_every: float, kind: Kind = PAPER) -> int:
    """Makes the runs, and says what became of each.

    A run that fails does not keep the others from being made.

    Args:
        specs: The runs.
        out: Their folder.
        save_every: Seconds between checkpoints.
        kind: Of the runs.

    Returns:
        The exit status: 0, 2 if a run failed. An interruption leaves the process with 130.
    """
    from core.training.interruption import leave

    prepare()
    failed = []
    for spec in specs:
        print(f"{spec.name}: {out / spec.name}", file=sys.stderr)
        try:
            worked = work(spec, out, save_every=save_every, kind=kind)
        except InterruptedRunError as error:
            print(f"audit: {error}", file=sys.stderr)
            leave(_INTERRUPTED)
        except PaperError as error:
            print(f"audit: {error}", file=sys.stderr)
            failed.append(spec.name)
            continue
        print(f"{spec.name}: {'finished' if worked else 'finished before'}", file=sys.stderr)
    if failed:
        print(f"audit: {len(failed)} of {len(specs)} runs failed: {', '.join(failed)}")
    return _FAILED if failed else 0
