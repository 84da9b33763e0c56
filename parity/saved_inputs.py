"""The questions of broken claims as files, so that a function can be debugged alone.

A file is an `.npz` that numpy reads without this project: `operation` and `settings` (JSON) are
texts, `inputs/x` is the input x, `subject/y` and `reference/y` are the two answers.
"""

from __future__ import annotations

import dataclasses
import io
import json
from pathlib import Path

import numpy as np

from parity.outcome import Outcome
from parity.registry import Claim, Entry
from reports.lines import short_pin
from reports.records import write_atomically


@dataclasses.dataclass
class SavedInputs:
    """Writes the questions of every broken claim that it is told of.

    Attributes:
        folder: Where to.
        written: What was written, in order.
    """

    folder: Path
    written: list[Path] = dataclasses.field(default_factory=list)

    def __call__(self, entry: Entry, claim: Claim, pin: str | None, found: Outcome) -> None:
        """Writes the question on which the claim is worst; all of its questions, if none is."""
        parts = [entry.id, claim.id, *([short_pin(pin)] if pin else [])]
        questions = found.questions
        for place, question in enumerate(questions, 1):
            number = [str(place)] if len(questions) > 1 else []
            path = self.folder / f"{'.'.join((*parts, *number))}.npz"
            plain = {k: v for k, v in question.inputs.items() if not isinstance(v, np.ndarray)}
            arrays: dict[str, np.ndarray] = {
                "operation": np.asarray(question.operation),
                "settings": np.asarray(json.dumps(plain)),
            }
            arrays |= {
                f"inputs/{name}": value
                for name, value in question.inputs.items()
                if isinstance(value, np.ndarray)
            }
            for side, answer in question.answers.items():
                arrays |= {f"{side}/{name}": value for name, value in answer.items()}
            buffer = io.BytesIO()
            np.savez_compressed(buffer, **arrays)  # type: ignore[arg-type]
            write_atomically(path, buffer.getvalue())
            self.written.append(path)
