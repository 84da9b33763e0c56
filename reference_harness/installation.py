"""Installs references, finds them again, and proves that they are still what they were.

An installation is an exported tree, a side environment, and a record that both were whole and
that the reference's modules imported. The record is written last: without it there is none.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from reference_harness import checkout, home, packages, venv
from reference_harness.errors import HarnessError
from reference_harness.home import Report
from reference_harness.pins import PINS, Pin


@dataclass(frozen=True)
class Installation:
    """A reference that can be run.

    Attributes:
        pin: Which.
        tree: The exported files, read-only.
        python: The interpreter of its side environment.
        source: The folder or address that the files were obtained from.
    """

    pin: Pin
    tree: Path
    python: Path
    source: str

    @property
    def import_path(self) -> Path:
        """The folder that its modules are imported from."""
        return self.tree / self.pin.import_root


@dataclass(frozen=True)
class Problem:
    """Something about an installation that is not as it was installed."""

    pin: Pin
    what: str

    def __str__(self) -> str:
        return f"{self.pin.name}: {self.what}"


def find(pin: Pin) -> Installation | None:
    """The installation of a pin, if it is complete and its lock is still the pin's.

    Cheap: some small files are read, nothing is started.  `verify` looks at the contents.
    """
    name = _record(pin).get("environment")
    tree = checkout.read(pin)
    environment = venv.find(name) if name else None
    if tree is None or environment is None or environment.lock_digest != packages.lock_digest(pin):
        return None
    return Installation(pin, tree.tree, environment.python, tree.source)


def is_recorded(pin: Pin) -> bool:
    """Whether it was installed once, be it whole or not."""
    return bool(_record(pin))


def installed() -> list[Installation]:
    """Every complete installation, in the order of the pins."""
    return [found for pin in PINS if (found := find(pin)) is not None]


def install(
    pin: Pin,
    *,
    source: str | Path | None = None,
    python: str | Path | None = None,
    report: Report = print,
) -> Installation:
    """Installs a reference, finishes an interrupted installation, or repairs a broken one.

    Nothing happens to one that is complete and healthy.  Another process that works on the
    same reference is waited for.

    Args:
        pin: Which.
        source: A checkout, a bare git folder or an address; None for where it was obtained
            before, or else where it is published.
        python: The interpreter for the side environment, or its version; None for the one that
            it has, or else any that fits.
        report: Told, in one line each, what is being done.

    Raises:
        HarnessError: It can not be installed; the message says why and what to do.
    """
    if source is not None and not pin.commit:
        raise HarnessError(f"{pin.name} is packages alone, and has no files to take from {source}.")
    with home.explained(f"installing {pin.name}"), home.locked(pin.name, report):
        before = _record(pin)
        whole = find(pin) is not None
        kept = Path(before.get("python", "")).is_file()
        wanted = str(python) if python is not None else before["python"] if kept else None
        interpreter, version = venv.choose_python(pin, wanted)
        name = venv.name_for(pin, version)
        tree = _healthy_tree(pin, report)
        whole = whole and tree is not None and before.get("environment") == name
        tree = tree or _obtain(pin, source, report)
        # Held until the record is written, so that nobody removes an environment that the
        # record is about to name.
        with home.locked(name, report):
            environment = _healthy_environment(pin, name, report)
            whole = whole and environment is not None
            environment = environment or venv.build(pin, interpreter, version, report)
            found = Installation(pin, tree.tree, environment.python, tree.source)
            if not whole:
                _finish(found, {"environment": name, "python": interpreter}, report)
        if before.get("environment", name) != name:
            _remove_unused_environments()
    report(f"{pin.name}: {'already ' if whole else ''}installed in {found.tree}")
    return found


def verify(pin: Pin, report: Report = lambda _: None) -> list[Problem]:
    """Looks at everything that an installation consists of.

    The tree's hash is computed again from its files, the packages are listed by the side
    Python, and the reference's modules are imported there.

    Args:
        pin: Which.
        report: Told what takes long.

    Returns:
        What is wrong; nothing if it is whole.

    Raises:
        HarnessError: It is not installed.
    """
    if not is_recorded(pin):
        raise not_installed(pin)
    with home.explained(f"verifying {pin.name}"), home.locked(pin.name, report):
        name = str(_record(pin).get("environment"))
        tree, environment = checkout.read(pin), venv.find(name)
        problems = []
        report(f"{pin.name}: comparing every file with the commit, every package with the lock")
        if tree is None:
            problems.append("its files are gone")
        elif damage := checkout.damage(tree):
            problems.append(f"its files are not as committed ({damage})")
        if environment is None:
            problems.append(f"its environment, {name}, is gone or has lost its Python")
        elif environment.lock_digest != packages.lock_digest(pin):
            problems.append(f"its environment, {name}, was built from another lock")
        else:
            problems += venv.damage(pin, environment)
        if tree is not None and environment is not None:
            report(f"{pin.name}: importing its modules")
            failure = packages.import_failure(pin, environment.python, tree.tree / pin.import_root)
            if failure:
                problems.append(f"its modules do not import:\n{failure}")
        return [Problem(pin, problem) for problem in problems]


def remove(pin: Pin, report: Report = print) -> bool:
    """Removes an installation, and every environment that no other reference uses.

    Args:
        pin: Which.
        report: Told what is being done.

    Returns:
        Whether there was anything to remove.
    """
    folder = home.reference_folder(pin.name)
    with home.explained(f"removing {pin.name}"), home.locked(pin.name, report):
        if not folder.exists():
            return False
        report(f"{pin.name}: removing it")
        home.remove_folder(folder)
        home.sweep(folder)
        _remove_unused_environments()
    return True


def not_installed(pin: Pin) -> HarnessError:
    """The error for somebody who needs a reference that is not there."""
    return HarnessError(
        f"{pin.name} is not installed; install it with `parity reference install {pin.name}`."
    )


def _record_path(pin: Pin) -> Path:
    return home.reference_folder(pin.name) / "installation.json"


def _record(pin: Pin) -> dict[str, str]:
    return home.read_json(_record_path(pin)) or {}


def _healthy_tree(pin: Pin, report: Report) -> checkout.Checkout | None:
    tree = checkout.read(pin)
    damage = checkout.damage(tree) if tree else ""
    if damage:
        report(f"{pin.name}: its files are not as committed ({damage})")
    return None if damage else tree


def _healthy_environment(pin: Pin, name: str, report: Report) -> venv.Environment | None:
    home.sweep(home.environments_folder() / name)
    environment = venv.find(name)
    problems = venv.damage(pin, environment) if environment else []
    if problems:
        report(f"{pin.name}: its environment is not as it was built ({'; '.join(problems)})")
    return None if problems else environment


def _obtain(pin: Pin, source: str | Path | None, report: Report) -> checkout.Checkout:
    if not pin.commit:
        return checkout.nothing(pin)
    return checkout.obtain(pin, _choose_source(pin, source), report)


def _choose_source(pin: Pin, source: str | Path | None) -> str:
    """What the caller says, else where it came from before, else where it is published."""
    before = checkout.read(pin)
    if source is not None:
        return str(source)
    if before is not None and not checkout.is_missing_folder(before.source):
        return before.source
    return pin.url


def _finish(found: Installation, record: dict[str, str], report: Report) -> None:
    """Writes the record, after the proof that the modules import."""
    pin = found.pin
    report(f"{pin.name}: importing its modules")
    failure = packages.import_failure(pin, found.python, found.import_path)
    if failure:
        raise HarnessError(
            f"{pin.name} is complete, but its modules do not import with {found.python}, so it "
            f"does not count as installed:\n{failure}"
        )
    home.write_json(_record_path(pin), record)


def _remove_unused_environments() -> None:
    """Removes every environment that no record names, unless somebody is at work on it."""
    folder = home.environments_folder()
    names = {path.name.lstrip(".").partition(".")[0] for path in folder.glob("*")}
    for name in sorted(names):
        with home.locked_if_free(name) as free:
            if not free:
                continue
            records = home.reference_folder("").glob("*/installation.json")
            if name not in [(home.read_json(path) or {}).get("environment") for path in records]:
                home.remove_folder(folder / name)
            home.sweep(folder / name)
