"""`parity report`."""

from __future__ import annotations

import difflib
import itertools
import sys
from pathlib import Path

from parity import faults, registry
from parity.commands import options
from parity.kill_matrix import KillMatrix
from parity.results import Results

_DIFF_LINES = 20


def report(*, results: Path = options.RESULTS, check: options.Flag = False) -> int:
    """Write deviations.md, its picture and kill_matrix.md again, from the records and the prose.

    Example: parity report --results parity-results --check

    Args:
        results: The folder of the results.
        check: Write nothing; exit with 1 if the files are not what would be written.
    """
    kept = Results(results, registry.load_registry())
    if not kept.records.is_dir():
        raise options.UsageError(f"{kept.records} does not exist; `parity run` writes it")
    wanted = kept.rendered()
    matrix = KillMatrix(results, registry.load_registry(), faults.load_faults())
    if not check:
        kept.render()
        written = [kept.document, kept.figure]
        if not matrix.empty:
            matrix.render()
            written.append(matrix.document)
        print(f"Wrote {', '.join(map(str, written))}")
        return 0
    if not (matrix.empty or matrix.is_current):
        print(
            f"{matrix.document} is not what its records say; write it again with "
            f"`parity report --results {results}`",
            file=sys.stderr,
        )
        return 1
    found = kept.document.read_text("utf-8") if kept.document.exists() else ""
    if found == wanted and kept.figure_is_current:
        print(f"{kept.document} and {kept.figure} are up to date")
        return 0
    if found == wanted:
        print(
            f"{kept.figure} does not show what its records say; draw it again with "
            f"`parity report --results {results}`",
            file=sys.stderr,
        )
        return 1
    print(
        f"{kept.document} is not what its records say; write it again with "
        f"`parity report --results {results}`",
        file=sys.stderr,
    )
    diff = difflib.unified_diff(
        found.splitlines(), wanted.splitlines(), "found", "expected", n=0, lineterm=""
    )
    for line in itertools.islice(diff, _DIFF_LINES):
        print(line[:160])
    if next(diff, None) is not None:
        print("…")
    return 1
