"""The references: exactly which commit of which repository, and what it takes to run it."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reference_harness.errors import HarnessError

LOCKS = Path(__file__).parent / "locks"

SHORT_HASH = 7  # digits; git's own abbreviation, and the least that `find_pin` accepts


@dataclass(frozen=True)
class Pin:
    """One commit of a reference, with the environment that runs it; or packages alone.

    Packages are a reference where what is compared with is published as a package, and has
    no code of its own beside that.

    Attributes:
        name: `repository-shorthash`, or `package-version`; what commands, records and reports
            call it.
        repository: The repository's short name.
        url: Where the repository is published.
        commit: The full hash; "" for packages alone.
        era: Which version of the algorithm it is: the paper's, the newest, or one between.
        note: What the commit is, in a few words.
        date: The author's date of the commit; "" for packages alone.
        lock: The file in `locks/` with the exact packages of its environment.
        imports: Modules of the reference that must import for it to count as installed.
        license: The reference's license.
        python: The Python versions it was run with.
        import_root: The folder inside the tree that its modules are imported from.
        operations: The module that answers operations inside the side environment, if one does.
    """

    name: str
    repository: str
    url: str
    commit: str
    era: Literal["paper", "head", "between", "packages"]
    note: str
    date: str
    lock: str
    imports: tuple[str, ...]
    license: str = "MIT"
    python: str = ">=3.11,<3.13"
    import_root: str = ""
    operations: str | None = None

    @property
    def short(self) -> str:
        """The abbreviated hash; the version of packages alone."""
        return self.commit[:SHORT_HASH] or self.name.rpartition("-")[2]

    @property
    def lock_path(self) -> Path:
        """Where the lock is."""
        return LOCKS / self.lock


def _dreamerv3(commit: str, lock: str, imports: str, **fields) -> Pin:
    return Pin(
        name=f"dreamerv3-{commit[:SHORT_HASH]}",
        repository="dreamerv3",
        url="https://github.com/danijar/dreamerv3",
        commit=commit,
        lock=lock,
        imports=tuple(imports.split()),
        **fields,
    )


def _tdmpc2(commit: str, lock: str, imports: str, **fields) -> Pin:
    return Pin(
        name=f"tdmpc2-{commit[:SHORT_HASH]}",
        repository="tdmpc2",
        url="https://github.com/nicklashansen/tdmpc2",
        commit=commit,
        lock=lock,
        imports=tuple(imports.split()),
        import_root="tdmpc2",
        operations="reference_harness.tdmpc2.operations",
        # No CPU build of torch 2.13 for another version has been tried.
        python=">=3.11,<3.12",
        **fields,
    )


def _packages(package: str, version: str, imports: str, **fields) -> Pin:
    return Pin(
        name=f"{package}-{version}",
        repository=package,
        commit="",
        era="packages",
        lock=f"{package.replace('_', '-')}.txt",
        imports=tuple(imports.split()),
        python=">=3.11,<3.12",
        **fields,
    )


_TDMPC2_MODULES = (
    "tdmpc2 common.buffer common.layers common.logger common.math common.parser common.scale "
    "common.world_model trainer.online_trainer trainer.offline_trainer"
)

PINS: tuple[Pin, ...] = (
    _dreamerv3(
        "29eb964e2918a3f4db04086f7f51b60388e97f3d",
        lock="dreamerv3-paper.txt",
        imports="dreamerv3.main dreamerv3.agent embodied",
        era="paper",
        note="the paper's code; the previous action in a replay context is right",
        date="2024-05-15",
        operations="reference_harness.dreamerv3.operations",
    ),
    _dreamerv3(
        "2411f7d136832378c0291c587cdbf2fca6506873",
        lock="dreamerv3-paper.txt",
        imports="dreamerv3.main dreamerv3.agent embodied",
        era="paper",
        note="the paper's code; the previous action in a replay context is the carry's",
        date="2024-04-15",
        operations="reference_harness.dreamerv3.operations",
    ),
    _dreamerv3(
        "e3f02248693a79dc8b0ebd62c93683888ddaccfe",
        lock="dreamerv3-head.txt",
        imports="dreamerv3.main dreamerv3.agent embodied embodied.jax",
        era="head",
        note="the rewrite on ninjax, elements and portal",
        date="2026-05-24",
        operations="reference_harness.dreamerv3_head.operations",
    ),
    _tdmpc2(
        "b67b21c5c638b48b1351864572ee834127717e98",
        lock="tdmpc2-paper.txt",
        # Its `envs` imports ManiSkill2 unconditionally, which no current Python can install.
        imports=_TDMPC2_MODULES,
        era="paper",
        note="the first release",
        date="2023-10-25",
    ),
    _tdmpc2(
        "5f6fadec0fec78304b4b53e8171d348b58cac486",
        lock="tdmpc2-paper.txt",
        imports=f"{_TDMPC2_MODULES} envs",
        era="paper",
        note="the paper's algorithm on TorchRL's slice sampler",
        date="2024-03-27",
    ),
    _tdmpc2(
        "eece80123d0f5068f9aa4460b91833242a63ab54",
        lock="tdmpc2-head.txt",
        imports=f"{_TDMPC2_MODULES} envs",
        era="between",
        note="episodic tasks, with the Q ensemble's initialisation still wrong",
        date="2025-04-15",
    ),
    _tdmpc2(
        "e9f59321933cbc8e11a002b842adc7d4ffae8ff1",
        lock="tdmpc2-head.txt",
        imports=f"{_TDMPC2_MODULES} envs",
        era="head",
        note="episodic tasks, with the Q ensemble's initialisation fixed",
        date="2026-07-13",
    ),
    _packages(
        "dm_control",
        "1.0.31",
        url="https://github.com/google-deepmind/dm_control",
        imports="dm_control.suite mujoco",
        note="the control suite, on MuJoCo 3.3.3",
        date="",
        license="Apache-2.0",
        operations="reference_harness.suite.dm_control",
    ),
    _packages(
        "playground",
        "0.2.0",
        url="https://github.com/google-deepmind/mujoco_playground",
        imports="mujoco_playground brax.envs.wrappers.training",
        note="mujoco_playground's control suite on MJX 3.17, with brax 0.14.2",
        date="",
        license="Apache-2.0",
        operations="reference_harness.suite.playground",
    ),
)


def find_pin(text: str) -> Pin:
    """The pin that somebody means.

    Args:
        text: The name, the hash (in full, or at least its first 7 digits), or
            `repository@hash`.

    Raises:
        HarnessError: No pin is called that; the message names the nearest and lists all.
    """
    wanted = text.strip().lower()
    for pin in PINS:
        if wanted == pin.name:
            return pin
        head, _, digits = wanted.replace("@", "-").rpartition("-")
        same_repository = head in ("", pin.repository)
        if same_repository and len(digits) >= SHORT_HASH and pin.commit.startswith(digits):
            return pin
    names = [pin.name for pin in PINS]
    near = difflib.get_close_matches(wanted.replace("@", "-"), names, n=2, cutoff=0.5)
    hint = f"; did you mean {' or '.join(near)}?" if near else "."
    raise HarnessError(f"no reference is called {text!r}{hint} The pins are {', '.join(names)}.")
