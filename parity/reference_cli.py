"""The commands `parity reference ...`: installing the pinned references, and checking them."""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator
from typing import Annotated

import cyclopts

from reference_harness import installation
from reference_harness.errors import HarnessError
from reference_harness.pins import PINS, Pin, find_pin

app = cyclopts.App(
    name="reference", help="Install the pinned references, and check that they are whole."
)

OK, BROKEN, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130

# Wide enough for any path: one that is cut in two is of no use to a program.
_PIPED_WIDTH = 1000


@app.command
def install(
    name: str,
    *,
    source: Annotated[str | None, cyclopts.Parameter(name="--from")] = None,
    python: str | None = None,
) -> int:
    """Install a reference: its files at the pinned commit, and an environment that runs them.

    An interrupted installation goes on where it stopped, a broken one is repaired, and one that
    is whole is left alone.

    Parameters
    ----------
    name
        A pin, its hash, `repository@hash`, or `all`.
    source
        Where to take it from: a checkout at that commit, a bare git folder, or an address. The
        default is where the reference is published.
    python
        The Python of its environment: a path, or a version that uv can find.
    """
    try:
        pins = PINS if name == "all" else (find_pin(name),)
        if source is not None and len(pins) > 1:
            raise HarnessError("`--from` names the source of one reference; give its name.")
    except HarnessError as error:
        return _fail(error)
    failed = False
    for pin in pins:
        # With `all`, one that fails does not keep the others from being installed.
        try:
            with _progress() as report:
                installation.install(pin, source=source, python=python, report=report)
        except HarnessError as error:
            failed = bool(_fail(error))
        except KeyboardInterrupt:
            print("interrupted; the same command goes on from here.", file=sys.stderr)
            return INTERRUPTED
    return COULD_NOT_RUN if failed else OK


@app.command(name="list")
def list_(*, as_json: Annotated[bool, cyclopts.Parameter(name="--json", negative="")] = False):
    """List the pinned references, and which are installed.

    Parameters
    ----------
    as_json
        Print JSON.
    """
    rows = [_describe(pin) for pin in PINS]
    if as_json:
        print(json.dumps(rows, indent=2))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console(width=None if sys.stdout.isatty() else _PIPED_WIDTH)
    table = Table("reference", "era", "installed", "license", "path", box=None, pad_edge=False)
    table.columns[-1].overflow = "fold"
    for row in rows:
        table.add_row(row["name"], row["era"], row["state"], row["license"], row["path"] or "")
    with console.capture() as text:
        console.print(table)
    print("\n".join(line.rstrip() for line in text.get().splitlines()))


@app.command
def verify(name: str | None = None) -> int:
    """Prove that a reference is still what was installed; without a name, all that are.

    Exits with 1 if something is not as it was installed.

    Parameters
    ----------
    name
        A pin, its hash, or `repository@hash`.
    """
    try:
        pins = [pin for pin in PINS if installation.is_recorded(pin)]
        if name is not None:
            pins = [find_pin(name)]
        elif not pins:
            raise HarnessError("no reference is installed; see `parity reference list`.")
        broken = False
        for pin in pins:
            with _progress(transient=True) as report:
                problems = installation.verify(pin, report)
            for problem in problems:
                print(problem)
            if problems:
                print(f"{pin.name}: repair it with `parity reference install {pin.name}`")
            else:
                print(f"{pin.name}: every file and package is as installed, and it imports")
            broken = broken or bool(problems)
    except HarnessError as error:
        return _fail(error)
    return BROKEN if broken else OK


@app.command
def remove(name: str) -> int:
    """Remove an installed reference, and its environment if no other reference uses it.

    Parameters
    ----------
    name
        A pin, its hash, or `repository@hash`.
    """
    try:
        pin = find_pin(name)
        with _progress(transient=True) as report:
            removed = installation.remove(pin, report)
        if not removed:
            raise installation.not_installed(pin)
    except HarnessError as error:
        return _fail(error)
    print(f"{pin.name}: removed")
    return OK


def _describe(pin: Pin) -> dict[str, str | None]:
    found = installation.find(pin)
    state = "yes" if found else "broken" if installation.is_recorded(pin) else "no"
    return {
        "name": pin.name,
        "era": pin.era,
        "note": pin.note,
        "date": pin.date,
        "commit": pin.commit,
        "url": pin.url,
        "license": pin.license,
        "state": state,
        "path": str(found.tree) if found else None,
        "python": str(found.python) if found else None,
        "source": found.source if found else None,
    }


def _fail(error: HarnessError) -> int:
    print(error, file=sys.stderr)
    return COULD_NOT_RUN


@contextlib.contextmanager
def _progress(transient: bool = False) -> Iterator[Callable[[str], None]]:
    """Shows what is being done on standard error: the last line spins while it lasts.

    Args:
        transient: Whether the lines vanish afterwards.
    """
    if not sys.stderr.isatty():
        yield lambda text: print(text, file=sys.stderr, flush=True)
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(stderr=True)
    status = console.status("")
    lines: list[str] = []

    def report(text: str) -> None:
        if lines and not transient:
            console.print(Text(lines[-1]), soft_wrap=True)
        lines.append(text)
        status.update(Text(text))
        status.start()

    try:
        yield report
    finally:
        status.stop()
    if lines and not transient:
        console.print(Text(lines[-1]), soft_wrap=True)


if __name__ == "__main__":
    app()
