"""In which order a training loop does what: notes of one run, whatever the reference's era.

Runs inside the side environments. What the notes are taken of, a loop around an agent that
counts its updates, differs from era to era; what is noted and answered does not.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

_PATIENCE = 0.5  # seconds without a draw, after which the prefetcher counts as waiting
_GIVE_UP = 30.0


class LoopOrder:
    """Notes what happens, and makes each step wait until nothing more happens by itself.

    Attributes:
        rows: Rows that have been added.
    """

    def __init__(self, ahead: int):
        """Begins.

        Args:
            ahead: Batches that the prefetcher has drawn and nobody taken, when it is at rest.
        """
        self.rows = 0
        self._ahead = ahead
        self._updates = self._taken = 0
        self._acted_with: list[int] = []
        self._updates_before: list[int] = []
        self._trained_rows: list[int] = []
        self._written: list[int] = []
        self._measured: list[int] = []
        self._draws: list[tuple[int, int, tuple[np.ndarray, ...]]] = []
        self._open = threading.Event()

    def wait(self) -> None:
        """Holds a source of batches back until there is something to draw."""
        self._open.wait()

    def drawn(self, place: tuple[np.ndarray, ...]) -> None:
        """A batch is drawn; environment, tick of the context, and origin of its sequences."""
        self._draws.append((self.rows, self._updates, place))

    def settle(self, items: int) -> None:
        """Waits until the prefetcher has drawn all that it can, of so many sequences."""
        if not items:
            return
        self._open.set()
        started = moved = time.perf_counter()
        seen = len(self._draws)
        while time.perf_counter() - moved < _PATIENCE:
            if len(self._draws) == self._taken + self._ahead:
                return
            if time.perf_counter() - started > _GIVE_UP:
                raise RuntimeError("the prefetcher does not come to rest")
            time.sleep(0.0005)
            if len(self._draws) != seen:
                seen, moved = len(self._draws), time.perf_counter()

    def acted(self, outs: Mapping[str, Any]) -> None:
        """The policy has acted."""
        self._acted_with.append(int(outs["latent"][0]))
        self._updates_before.append(self._updates)

    def taking(self) -> None:
        """An update takes its batch."""
        self._taken += 1
        self.settle(1)
        self._trained_rows.append(self.rows)

    def trained(self, outs: Mapping[str, Any], metrics: Mapping[str, Any]) -> None:
        """An update has run."""
        latent = outs["replay"]["latent"][0, 0] if "replay" in outs else -1
        self._written.append(int(latent))
        self._measured.append(int(metrics.get("update", -1)))
        self._updates += 1

    def answer(self, ticks: int, envs: int) -> dict[str, np.ndarray]:
        """All notes up to a tick, as `dreamerv3.run_events` answers with them."""
        rows = np.asarray(self._trained_rows, np.int64)
        ran = int((rows <= ticks * envs).sum())  # the loop may end a few ticks later
        drawn_rows, drawn_after, places = zip(*self._draws[:ran], strict=True)
        environment, start, online = (np.stack(part) for part in zip(*places, strict=True))
        return {
            "acted_with": np.asarray(self._acted_with[:ticks], np.int64),
            "updates": np.asarray(self._updates_before[:ticks], np.int64),
            "rows": rows[:ran],
            "drawn_rows": np.asarray(drawn_rows, np.int64),
            "drawn_after": np.asarray(drawn_after, np.int64),
            "environment": environment.astype(np.int64),
            "start": start.astype(np.int64),
            "online": online,
            "written": np.asarray(self._written[:ran], np.int64),
            "measured": np.asarray(self._measured[:ran], np.int64),
        }
