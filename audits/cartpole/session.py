"""One audit from beginning to end: which runs are made, which are read, and the comparison."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from audits.cartpole import ours, reference
from audits.cartpole.comparison import Summary, compare
from audits.cartpole.errors import AuditError
from audits.cartpole.protocol import Plan
from audits.run_files import Run, read_run
from reference_harness.errors import HarnessError

Report = Callable[[str], object]


@dataclasses.dataclass(frozen=True)
class Choices:
    """What the user asked for.

    Attributes:
        plan: Which runs.
        out: The folder of the audit.
        reference: "recorded" or "live"; None for live where it is installed.
        core: "recorded" or "live".
        report_only: Make no run.
        cores: Of the reference's seeds, one each.
        devices: That the core's seeds are spread over.
    """

    plan: Plan
    out: Path
    reference: str | None
    core: str
    report_only: bool
    cores: tuple[int, ...] = ()
    devices: int = 1


def run(choices: Choices, report: Report) -> Summary:
    """Makes the runs that are missing, and compares.

    Our side comes first: it is the faster one, and what is wrong with it shows at once.

    Args:
        choices: What was asked for.
        report: Told what happens, one line each.

    Raises:
        AuditError: A seed was not recorded, or a run failed.
        RunFileError: A run is missing or damaged.
        HarnessError: The reference could not be started.
    """
    plan, out = choices.plan, choices.out
    source = choices.reference or _default_source(choices)
    folders = {
        "ours": _folder(choices, "ours", choices.core),
        "reference": _folder(choices, "reference", source),
    }
    if not choices.report_only:
        if choices.core == reference.LIVE:
            with _sole_user(out):
                _train_ours(choices, folders["ours"], report)
        if source == reference.LIVE:
            _train_reference(choices, folders["reference"], report)
    runs = {side: _read(plan, folder, side) for side, folder in folders.items()}
    configuration = None
    if reference.is_installed():
        configuration = reference.configuration(plan.settings(plan.seeds[0]))
    sources = {"ours": choices.core, "reference": source}
    return compare(plan, runs["ours"], runs["reference"], sources, configuration)


def _default_source(choices: Choices) -> str:
    if choices.report_only:
        there = (choices.out / reference.folder_name(choices.plan, "reference")).is_dir()
    else:
        there = reference.is_installed()
    return reference.LIVE if there else reference.RECORDED


def _folder(choices: Choices, side: str, source: str) -> Path:
    if source == reference.RECORDED:
        return reference.check_recorded(choices.plan, side)
    return choices.out / reference.folder_name(choices.plan, side)


def _read(plan: Plan, folder: Path, side: str) -> list[Run]:
    return [read_run(folder / f"seed{seed}", side, seed) for seed in plan.seeds]


def _train_ours(choices: Choices, folder: Path, report: Report) -> None:
    from core.compiled import keep_programs
    from core.dreamerv3.config import ConfigError
    from core.environments import EnvironmentSetupError
    from core.training.checkpoint import CheckpointError
    from core.training.errors import RunError, RunInterruptedError
    from core.training.logging import LoggingError

    keep_programs()
    seeds = ours.unfinished(folder, choices.plan)
    report(
        f"ours: training seeds {', '.join(map(str, seeds))}" if seeds else "ours: finished already"
    )
    try:
        ours.train_seeds(choices.plan, folder, devices=choices.devices)
    except RunInterruptedError as error:
        report(f"ours: {error}")
        raise KeyboardInterrupt from error
    except (CheckpointError, ConfigError, EnvironmentSetupError, LoggingError, RunError) as error:
        raise AuditError(f"ours: {error}") from error


def _train_reference(choices: Choices, folder: Path, report: Report) -> None:
    errors: Sequence[HarnessError] = reference.run_live(
        choices.plan, folder, cores=choices.cores, report=lambda line: report(f"reference: {line}")
    )
    if errors:
        raise AuditError("\n".join(f"reference: {error}" for error in errors))


@contextmanager
def _sole_user(out: Path) -> Iterator[None]:
    import filelock

    out.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(out / ".lock")
    try:
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise AuditError(
            f"another audit is running in {out}; wait for it, stop it, or choose another folder "
            "with --out"
        ) from None
    try:
        yield
    finally:
        lock.release()
