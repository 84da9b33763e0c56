"""The `audit` command: whole runs of both sides, and what its exit status means.

0: all checks passed, and nothing was found to differ. 1: a check failed, or the sides differ.
2: the command could not run. 130: interrupted; the same command goes on.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence

import cyclopts

SAME, DIFFERS, COULD_NOT_RUN, INTERRUPTED = 0, 1, 2, 130

_COMMANDS = {
    "cartpole": (
        "audits.cartpole.command:cartpole",
        "Train both sides on CartPole-v1, and compare how they learn.",
    ),
    "config": (
        "audits.cartpole.config_command:config",
        "Compare the configurations of both sides, in seconds.",
    ),
    "record": (
        "audits.cartpole.record_command:record",
        "Keep finished runs, for comparisons that need no reference.",
    ),
    "schema": (
        "audits.cartpole.schema_command:schema",
        "Print the JSON schema of a comparison's summary.json.",
    ),
    "paper": (
        "audits.paper.command:app",
        "Validate the core against the published curves of both papers.",
    ),
    "multitask": (
        "audits.multitask.command:app",
        "Validate TD-MPC2's training on several tasks, on data of its own.",
    ),
    "references": (
        "audits.references.command:app",
        "The published curves, and what is kept of them.",
    ),
}


def _app(words: Sequence[str]) -> cyclopts.App:
    app = cyclopts.App(
        name="audit",
        help="Compare whole training runs of the core with runs of the authors' code.",
        help_epilogue="Exit status: 0 nothing differs, 1 a check failed or the sides differ, "
        "2 the command could not run, 130 interrupted (the same command goes on).",
        version=_version,
        result_action="return_value",
        suppress_keyboard_interrupt=False,
    )
    overview = not words or words[0].startswith("-")
    for name, (path, summary) in _COMMANDS.items():
        app.command(path, name=name, **({"help": summary} if overview else {}))
    return app


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
        arguments: Words after the command's name; those of the process by default.

    Returns:
        The exit status.
    """
    words = sys.argv[1:] if arguments is None else list(arguments)
    try:
        status = _app(words)(words, exit_on_error=False, print_error=True)
        sys.stdout.flush()
        return status if isinstance(status, int) else SAME
    except cyclopts.CycloptsError:
        return COULD_NOT_RUN
    except KeyboardInterrupt:
        print("audit: interrupted; the same command goes on", file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:
        # Whoever read the output has enough. The interpreter flushes again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return COULD_NOT_RUN
    except Exception as error:
        return _explain(error)


def _explain(error: Exception) -> int:
    """One line for what a user can mend, a traceback for what we must."""
    if not isinstance(error, _mendable()):
        traceback.print_exception(error)
    said = str(error)
    if isinstance(error, OSError) and error.filename:
        said = f"{error.filename}: {error.strerror}"
    print(f"audit: {said}", file=sys.stderr)
    return COULD_NOT_RUN


def _mendable() -> tuple[type[Exception], ...]:
    from audits.cartpole.errors import AuditError
    from audits.paper.errors import PaperError
    from audits.references.errors import ReferenceDataError
    from audits.run_files import RunFileError
    from core.environments import EnvironmentSetupError
    from reference_harness.dreamerv3.training.settings import SettingsError
    from reference_harness.errors import HarnessError

    ours = (AuditError, PaperError, ReferenceDataError, RunFileError)
    return (*ours, EnvironmentSetupError, SettingsError, HarnessError, OSError)


def _version() -> str:
    import importlib.metadata

    return importlib.metadata.version("world-model-parity")
