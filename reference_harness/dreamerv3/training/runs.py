"""The folders of runs: which are finished, and whether what is in one is whole.

`OUT/seed0` is the folder of seed 0, `OUT/seed0.log` all that was printed. A folder counts from
the moment in which `finished.json` stands in it, which is written last; without it, whatever is
there is what an interrupted run left.
"""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from reference_harness import home
from reference_harness.dreamerv3.training.files import read_lines, write_json
from reference_harness.dreamerv3.training.settings import Settings
from reference_harness.errors import HarnessError

MARKER = "finished.json"


@dataclasses.dataclass(frozen=True)
class RunFolder:
    """Where one seed's run lies."""

    out: Path
    settings: Settings

    @property
    def name(self) -> str:
        """What messages call it."""
        return f"seed {self.settings.seed}"

    @property
    def path(self) -> Path:
        """The folder."""
        return self.out / f"seed{self.settings.seed}"

    @property
    def log(self) -> Path:
        """All that was printed, by every attempt."""
        return self.out / f"seed{self.settings.seed}.log"

    def is_finished(self) -> bool:
        """Whether this run was brought to its end.

        Raises:
            HarnessError: A run with other settings was.
        """
        marker = home.read_json(self.path / MARKER)
        if marker is None:
            return False
        wanted = dataclasses.asdict(self.settings)
        found = marker.get("settings", {})
        if found != wanted:
            names = [key for key in wanted if found.get(key) != wanted[key]]
            differences = ", ".join(f"{n} {found.get(n)} instead of {wanted[n]}" for n in names)
            raise HarnessError(
                f"{self.path} holds a finished run with other settings ({differences}); choose "
                "another folder with --out, or remove it."
            )
        return True

    def clear(self) -> None:
        """Removes what an interrupted run left."""
        home.remove_folder(self.path)
        home.sweep(self.path)

    def missing(self) -> list[str]:
        """What a run that ended well would have written, and this one has not."""
        args = home.read_json(self.path / "run_args.json") or {}
        timing = home.read_json(self.path / "timing.json") or {}
        wanted = dataclasses.asdict(self.settings)
        problems = []
        if {key: args.get(key) for key in wanted} != wanted:
            problems.append("run_args.json with these settings")
        rows = [record.get("rows") for record in self.records()]
        if rows != self.settings.records:
            problems.append(f"{len(self.settings.records)} records (there are {len(rows)})")
        if timing.get("rows") != self.settings.steps or "flush_episodes" not in timing:
            problems.append(f"timing.json of {self.settings.steps:,} rows and the flush step")
        names = ("episodes.jsonl", "config.yaml", "metrics.jsonl")
        return problems + [name for name in names if not (self.path / name).is_file()]

    def mark_finished(self, **facts: Any) -> None:
        """Lets the run count.

        Raises:
            HarnessError: Something is missing that belongs to a run.
        """
        if problems := self.missing():
            raise HarnessError(
                f"{self.name} ended without an error, but lacks {', '.join(problems)}; see "
                f"{self.log}."
            )
        marker = {"settings": dataclasses.asdict(self.settings), **facts}
        write_json(self.path / MARKER, marker)

    def records(self) -> list[dict[str, Any]]:
        """The records so far."""
        return read_lines(self.path / "records.jsonl")

    def last_sign(self) -> float:
        """When the run last wrote how far it is; 0 before the first time."""
        try:
            return (self.path / "progress.jsonl").stat().st_mtime
        except FileNotFoundError:
            return 0.0

    def log_tail(self, lines: int = 20) -> str:
        """The end of the log."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, self.log.stat().st_size - (1 << 14)))
                text = file.read().decode("utf-8", "replace")
        except FileNotFoundError:
            return ""
        return "\n".join(text.splitlines()[-lines:])
