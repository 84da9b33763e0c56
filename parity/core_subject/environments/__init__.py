"""The core's answers to the operations of environments."""

from __future__ import annotations

from parity.core_subject.environments import episodes, physics

TABLE = {**episodes.TABLE, **physics.TABLE}
