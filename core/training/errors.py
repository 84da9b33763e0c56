"""How a run can end before its end."""

from __future__ import annotations


class RunError(Exception):
    """A run can not start or can not go on."""


class RunInterruptedError(RunError):
    """A run was asked to stop.

    Attributes:
        number: The signal that asked.
    """

    def __init__(self, message: str, number: int):
        super().__init__(message)
        self.number = number
