"""Keeps finished runs in this package, so that a comparison needs nothing that ran elsewhere."""

from __future__ import annotations

import io
import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

import core
from audits.cartpole import table
from audits.cartpole.errors import AuditError
from audits.cartpole.protocol import Plan
from audits.cartpole.reference import Configuration, configuration, recorded_folder
from audits.run_files import CONFIGS, FILES, Run, read_run
from reference_harness import home, installation
from reference_harness.dreamerv3.training.files import write_json
from reference_harness.dreamerv3.training.reference import PIN
from reference_harness.pins import find_pin
from reports.records import write_atomically

# Of the folders of a machine, these are no business of a reader.
_UNPUBLISHED = re.compile(r"(?:^|[\s'\"=])(/(?!dev/null)[\w.-]+/[^\s'\"]*)")
_LOCAL = ("JAX_COMPILATION_CACHE_DIR",)


def keep(plan: Plan, side: str, folder: Path, seed: int) -> Path:
    """Records one finished run, without the names of this machine's folders.

    Args:
        plan: That it is of.
        side: "ours" or "reference"; the reference must be installed, for its place and commit.
        folder: Of the run.
        seed: Of the run.

    Returns:
        Where it was put.

    Raises:
        AuditError: It is not finished, was not run with the installed reference, or would name a
            folder of this machine.
        RunFileError: A file is missing or damaged.
    """
    run = read_run(folder, side, seed)
    if run.finished is None:
        raise AuditError(f"{folder} holds no finished run; let it end, and record it then")
    places = _places(side, folder)
    target = recorded_folder(plan, side) / f"seed{seed}"
    new = target.with_name(f".{target.name}.new")
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(parents=True)
    try:
        for name in FILES:
            _copy(folder / name, new / name, places)
        if side == "reference":
            _keep_configuration(run, plan, new)
        else:
            _copy(folder / CONFIGS[side], new / CONFIGS[side], places)
        shutil.rmtree(target, ignore_errors=True)
        new.rename(target)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return target


def _keep_configuration(run: Run, plan: Plan, new: Path) -> None:
    """Keeps what the table names of a configuration, and what the rest of it came to.

    The rest is the reference's file of defaults, which is not ours to publish.
    """
    answer = configuration(plan.settings(run.seed))
    rest = Configuration({**run.config, "logdir": None}, {**answer.defaults, "logdir": None})
    marker = {
        **json.loads((new / "finished.json").read_text("utf-8")),
        "commit": find_pin(PIN).commit,
        "strangers": rest.strangers(),
    }
    write_json(new / "finished.json", marker)
    named = {key: value for key, value in run.config.items() if key in table.named_keys()}
    named["logdir"] = f"seed{run.seed}"
    stream = io.BytesIO()
    yaml = YAML(typ="safe", pure=True)
    yaml.default_flow_style = False
    yaml.dump(named, stream)
    write_atomically(new / CONFIGS["reference"], stream.getvalue())


def _places(side: str, folder: Path) -> dict[str, str]:
    """What to write in place of the folders of this machine."""
    places = {str(folder.resolve()): folder.name, str(folder): folder.name}
    if side == "ours":
        return {**places, f"{Path(core.__file__).parent.parent}/": ""}
    found = installation.find(find_pin(PIN))
    if found is None:
        raise installation.not_installed(find_pin(PIN))
    return {**places, str(found.import_path): PIN, str(home.data_folder()): "home"}


def _copy(source: Path, target: Path, places: Mapping[str, str]) -> None:
    if source.suffix == ".json":
        value = _without_local(json.loads(source.read_text("utf-8")))
        text = json.dumps(value, indent=1) + "\n"
    else:
        text = source.read_text("utf-8")
    for place, name in sorted(places.items(), key=lambda item: -len(item[0])):
        text = re.sub(rf"(?<![\w./-]){re.escape(place)}", name, text)
    if found := _UNPUBLISHED.search(text):
        raise AuditError(
            f"{source} names {found[1]}, a folder of this machine; was it run with the reference "
            f"that is installed now?"
        )
    write_atomically(target, text.encode())


def _without_local(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_local(item) for key, item in value.items() if key not in _LOCAL}
    return value
