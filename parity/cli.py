"""The `parity` command: what there is to run, and what its exit status means.

0: all that was measured holds. 1: something is broken. 2: the command could not run.
130: interrupted. Every subcommand is imported only when it is run.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import cyclopts

HOLDS, BROKEN, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130

# Where each subcommand is, and what the overview says of it.
_COMMANDS = {
    "run": ("parity.commands.run:run", "Measure claims, and say which hold."),
    "list": ("parity.commands.list:list_entries", "List every entry of the registry."),
    "show": ("parity.commands.show:show", "Show an entry: its prose, sources and claims."),
    "fuzz": ("parity.commands.fuzz:fuzz", "Search for the input on which a claim is worst."),
    "sensitivity": (
        "parity.commands.sensitivity:sensitivity",
        "Seed faults, and see which claims notice.",
    ),
    "trace": (
        "parity.commands.trace:app",
        "Take training steps on both sides, and compare every number.",
    ),
    "record": ("parity.commands.record:record", "Keep the installed references' answers."),
    "report": ("parity.commands.report:report", "Write deviations.md again from the records."),
    "schema": ("parity.commands.schema:schema", "Print the JSON schema of a record."),
    "reference": ("parity.reference_cli:app", "Install the references, and check them."),
}


def _app(words: Sequence[str]) -> cyclopts.App:
    app = cyclopts.App(
        name="parity",
        help="Measure how far a re-implementation of DreamerV3 or TD-MPC2 is from the "
        "authors' code.",
        help_epilogue="Exit status: 0 all that was measured holds, 1 something is broken, "
        "2 the command could not run, 130 interrupted.",
        version=_version,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    overview = not words or words[0].startswith("-")
    for name, (path, summary) in _COMMANDS.items():
        # A summary would stand in place of the subcommand's own, longer help.
        app.command(path, name=name, **({"help": summary} if overview else {}))
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: The words after `parity`; by default those of this process.

    Returns:
        The exit status.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if arguments is None:
        _keep_compiled_programs()
    try:
        result = _app(words)(words, exit_on_error=False)
        sys.stdout.flush()
        return result if isinstance(result, int) else HOLDS
    except cyclopts.CycloptsError:
        return COULD_NOT_RUN  # it has said why
    except KeyboardInterrupt as interrupt:
        print(f"parity: {str(interrupt) or 'interrupted'}", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough; Python must not complain of it at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT_RUN
    except Exception as error:
        return _explain(error)


def _keep_compiled_programs() -> None:
    """Lets later runs find what this one compiles: most of a run's time is compilation.

    Said in the environment, because jax must not be imported for commands without it.
    """
    from core.compiled import default_folder

    os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(default_folder()))
    os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def _explain(error: Exception) -> int:
    """One line for what a user can mend, a traceback for what we must."""
    from parity.commands.options import UsageError
    from parity.implementations import AnswerError
    from parity.outcome import RunError
    from parity.registry import RegistrationError, UnknownIdError
    from parity.subjects import SubjectError
    from reference_harness.errors import HarnessError
    from reports.records import RecordError

    known = (
        UsageError,
        UnknownIdError,
        RegistrationError,
        SubjectError,
        HarnessError,
        RecordError,
        RunError,
        OSError,
    )
    if not isinstance(error, known):
        traceback.print_exception(error)
    elif isinstance(error, RunError) and not isinstance(error.__cause__, AnswerError):
        traceback.print_exception(error.__cause__)
    said = str(error)
    if isinstance(error, OSError) and error.filename:
        said = f"{error.filename}: {error.strerror}"
    print(f"parity: {said}", file=sys.stderr)
    return COULD_NOT_RUN


def _version() -> str:
    import importlib.metadata

    return importlib.metadata.version("world-model-parity")
