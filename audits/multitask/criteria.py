"""The criterion of training on several tasks: the only place where it is, with its reasons."""

from __future__ import annotations

import functools
from pathlib import Path

import msgspec
from ruamel.yaml import YAML

from audits.paper.acceptance import share_of

_FILE = Path(__file__).with_name("criteria.yaml")


class Criteria(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is judged by; the meaning of each field is in `criteria.yaml`."""

    fraction: float
    floor: float
    judged_share: float
    share: float
    rules: dict[str, str]
    reasons: dict[str, str]

    def judged_needed(self, tasks: int) -> int:
        """How many of so many tasks must be judged: 16 of 19."""
        return share_of(self.judged_share, tasks)

    def passing_needed(self, judged: int) -> int:
        """How many of so many judged tasks must pass."""
        return share_of(self.share, judged)


@functools.cache
def criteria() -> Criteria:
    """The criteria of the protocol."""
    return msgspec.convert(YAML(typ="safe", pure=True).load(_FILE.read_text("utf-8")), Criteria)
