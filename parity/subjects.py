"""Finds the implementation under audit: the core, or somebody's port.

A port is a Python module with a dictionary `OPERATIONS` from names of the catalogue to
functions, and, if it likes, a `NAME`. It is imported here, or asked in an environment of
its own.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from parity import printing
from parity.implementations import Implementation, InProcess
from parity.operations import catalogue

CORE = "core"

# In no catalogue, because what they answer with is up to the subject: see `parity.trace.port`.
TRAINING_STEPS = ("dreamerv3.training_step", "tdmpc2.training_step")


class SubjectError(Exception):
    """There is no such subject, or it is no table of operations; says what to change."""


@contextlib.contextmanager
def opened(spec: str = CORE, python: Path | None = None) -> Iterator[Implementation]:
    """The subject that `spec` names, for as long as the context lasts.

    What a port prints goes to the standard error stream.

    Args:
        spec: "core", a dotted module name, or the path of a .py file.
        python: The interpreter of the environment that the module lives in; None for this one.

    Raises:
        SubjectError: See there.
        HarnessError: The worker in the other environment does not start.
    """
    if python is not None:
        with _in_environment(spec, python) as subject:
            yield subject
    elif spec == CORE:
        from parity.core_subject import TABLE

        yield InProcess(CORE, TABLE, is_core=True)
    else:
        with printing.to_stderr():
            module = _module(spec)
        table = getattr(module, "OPERATIONS", None)
        check_operations(spec, table)
        name = str(getattr(module, "NAME", _name(spec)))
        yield printing.Hushed(InProcess(name, table))  # type: ignore[arg-type]


def check_operations(spec: str, table: Any) -> None:
    """Raises `SubjectError` unless `table` is a table of functions of the catalogue."""
    if table is None:
        raise SubjectError(
            f"{spec} has no OPERATIONS; give it a dictionary of that name, from operations "
            f"such as 'dreamerv3.symlog' to functions"
        )
    if not isinstance(table, Mapping):
        raise SubjectError(
            f"OPERATIONS of {spec} must be a dictionary from names to functions, "
            f"got {type(table).__name__}"
        )
    check_names(spec, table)
    for name, function in table.items():
        if not callable(function):
            raise SubjectError(
                f"{name} in OPERATIONS of {spec} must be a function, got {function!r}"
            )


def check_names(spec: str, names: Any) -> None:
    """Raises `SubjectError` unless there is a name, and all are operations of the catalogue."""
    if not names:
        raise SubjectError(f"OPERATIONS of {spec} is empty; name at least one operation")
    known = (*catalogue(), *TRAINING_STEPS)
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(str(name), known, n=1)
            hint = f"did you mean {near[0]}?" if near else "`parity list --operations` has all"
            raise SubjectError(
                f"OPERATIONS of {spec} has {name!r}, which no operation is called; {hint}"
            )


@contextlib.contextmanager
def _in_environment(spec: str, python: Path) -> Iterator[Implementation]:
    from parity.workers import SubjectWorker
    from reference_harness.worker import Worker

    if spec == CORE:
        raise SubjectError(
            "--subject-python needs a --subject that lives in that environment: "
            "a module's name or a .py file"
        )
    if not os.access(python, os.X_OK):
        raise SubjectError(f"--subject-python {python} is no program that can be run")
    path = Path(spec) if spec.endswith(".py") else None
    if path and not path.is_file():
        raise SubjectError(f"there is no file {spec}")
    # As `python FILE` does it, the file's folder comes first; a module is looked for here too.
    paths = [path.resolve().parent if path else Path.cwd()]
    with contextlib.closing(
        Worker(_name(spec), python, path or spec, import_paths=paths)
    ) as worker:
        check_names(spec, worker.identity.operations)
        yield SubjectWorker(_name(spec), worker)


def _module(spec: str) -> ModuleType:
    path = Path(spec) if spec.endswith(".py") else None
    if path and not path.is_file():
        raise SubjectError(f"there is no file {spec}")
    folder = str(path.resolve().parent if path else Path.cwd())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        if path is None:
            return importlib.import_module(spec)
        # Not under its bare name, which may be that of a package it imports.
        found = importlib.util.spec_from_file_location(f"_subject_{path.stem}", path)
        assert found is not None
        assert found.loader is not None
        module = importlib.util.module_from_spec(found)
        sys.modules[found.name] = module
        found.loader.exec_module(module)
        return module
    except ModuleNotFoundError as error:
        # Only where it is this module that is missing, not one that it imports.
        if path is None and f"{spec}.".startswith(f"{error.name}."):
            raise SubjectError(
                f"there is no module {error.name}; --subject takes 'core', a module that can be "
                f"imported here, or a .py file (for another environment add --subject-python)"
            ) from None
        raise _broken(spec, error) from error
    except (Exception, SystemExit) as error:
        raise _broken(spec, error) from error


def _broken(spec: str, error: BaseException) -> SubjectError:
    what = f"{spec} can not be imported: {type(error).__name__}: {error}"
    if isinstance(error, SyntaxError):  # says itself where
        return SubjectError(what)
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return SubjectError(f"{what} ({frame.filename}, line {frame.lineno})")


def _name(spec: str) -> str:
    return Path(spec).stem if spec.endswith(".py") else spec
