"""The reference's side of the comparison: recorded runs, or live ones, and its configuration."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from audits.cartpole import table
from audits.cartpole.errors import NotRecordedError
from audits.cartpole.protocol import Plan
from audits.run_files import flat
from reference_harness import installation
from reference_harness.dreamerv3.training.attempts import Limits
from reference_harness.dreamerv3.training.launcher import run_seeds
from reference_harness.dreamerv3.training.reference import PIN, environment, reference_program
from reference_harness.dreamerv3.training.settings import Settings
from reference_harness.errors import HarnessError
from reference_harness.pins import find_pin
from reference_harness.worker import Worker

RECORDED, LIVE = "recorded", "live"

_RECORDINGS = Path(__file__).with_name("recorded")


def recorded_folder(plan: Plan, side: str) -> Path:
    """Where the recorded runs of a plan are, one folder per seed."""
    return _RECORDINGS / plan.name / folder_name(plan, side)


def folder_name(plan: Plan, side: str) -> str:
    """Of a side's runs: those of a reference that answers rows as the core does lie apart."""
    return "-".join((side, *plan.neutralised)) if side == "reference" else side


def recorded_seeds(plan: Plan, side: str) -> list[int]:
    """The seeds that were recorded."""
    folder = recorded_folder(plan, side)
    return sorted(int(path.name.removeprefix("seed")) for path in folder.glob("seed*"))


def check_recorded(plan: Plan, side: str) -> Path:
    """The folder of the recorded runs of a plan.

    Raises:
        NotRecordedError: A seed of the plan was not recorded.
    """
    there = recorded_seeds(plan, side)
    missing = [seed for seed in plan.seeds if seed not in there]
    if missing:
        told = " ".join(map(str, there)) or "none"
        raise NotRecordedError(
            f"seed {', '.join(map(str, missing))} of {side} was not recorded (recorded: {told}); "
            "choose among those with --seeds"
            + (f", or run it with --reference {LIVE}" if side == "reference" else "")
        )
    return recorded_folder(plan, side)


def is_installed() -> bool:
    """Whether the pinned reference can be run here."""
    return installation.find(find_pin(PIN)) is not None


def run_live(
    plan: Plan, out: Path, *, cores: Sequence[int], report: Callable[[str], object]
) -> list[HarnessError]:
    """Runs the stock reference; finished seeds are kept.

    Args:
        plan: What to run.
        out: The folder of the reference's side.
        cores: As of `run_seeds`.
        report: Told what happens, one line each.

    Returns:
        What went wrong, one error for each seed that did not finish.

    Raises:
        HarnessError: Nothing could be started.
    """
    runs = [plan.settings(seed) for seed in plan.seeds]
    program = reference_program()
    if plan.neutralised:
        import numpy as np

        from core.dreamerv3 import twohot
        from core.dreamerv3.config import Config

        bins = np.asarray(twohot.make_bins(Config().bins))
        program = dataclasses.replace(program, inputs={"bins": bins})
    return run_seeds(out, runs, program, cores=cores, limits=Limits(), report=report)


@dataclasses.dataclass(frozen=True)
class Configuration:
    """What the installed reference makes of a run's overrides.

    Attributes:
        resolved: Every key, dotted, with its value in the run.
        defaults: Likewise without any override.
    """

    resolved: dict[str, Any]
    defaults: dict[str, Any]

    def strangers(self) -> str:
        """Keys that no row of the table names and that are not at their defaults; "" for none."""
        named = table.named_keys()
        # The entry point derives this one as it does replay_length, which row 41 names.
        derived = {"replay_length_eval": self.defaults.get("batch_length_eval")}
        return "; ".join(
            f"{key} is {value!r}, its default {self.defaults.get(key)!r}"
            for key, value in self.resolved.items()
            if key not in named and not table.same(value, {**self.defaults, **derived}.get(key))
        )

    def wrong_defaults(self, row: table.Row) -> list[str]:
        """What the table says of defaults that the reference's own file does not."""
        stated = {key: value for key, value in row.reference.items() if key not in row.default}
        stated |= row.default
        return [
            f"the default of {key} is {self.defaults.get(key)!r}, the table says {value!r}"
            for key, value in stated.items()
            if not table.same(self.defaults.get(key), value)
        ]


def configuration(settings: Settings) -> Configuration:
    """Asks the installed reference, which takes some seconds.

    Raises:
        HarnessError: It is not installed, or does not answer.
    """
    pin = find_pin(PIN)
    found = installation.find(pin)
    if found is None:
        raise installation.not_installed(pin)
    worker = Worker(
        pin.name,
        found.python,
        "reference_harness.dreamerv3.training.resolve",
        import_paths=(found.import_path,),
        environment=environment(0),
        way_out=f"repair it with `parity reference install {pin.name}`",
    )
    with worker:
        answer = worker.ask("dreamerv3.training_config", {"settings": dataclasses.asdict(settings)})
    resolved = YAML(typ="safe", pure=True).load(bytes(answer["resolved"]).decode())
    return Configuration(flat(resolved), flat(json.loads(bytes(answer["defaults"]))))
