"""Files of nicklashansen/tdmpc2 that can not be imported by name, and what its trainers ask for.

Runs inside the side environment. `envs` imports simulators that are not there, and the programs
`train.py` and `evaluate.py` import `envs`: such files are run as they are, with stubs for what
is missing.
"""

from __future__ import annotations

import importlib.util
import sys
import types
from pathlib import Path
from typing import Any

import tdmpc2 as stock

ROOT = Path(stock.__file__).parent


def load(file: str, **absent: Any) -> Any:
    """A file of the reference as a module of its own.

    Args:
        file: Its path below the reference's root.
        **absent: Modules that it imports and that are not there, by name (with `_` for a dot),
            which it is given instead.
    """
    given = {name.replace("_", "."): module for name, module in absent.items()}
    kept = {name: sys.modules.get(name) for name in given}
    name = f"stock_{Path(file).stem}"
    spec = importlib.util.spec_from_file_location(name, ROOT / file)
    module = importlib.util.module_from_spec(spec)
    sys.modules.update(given)
    try:
        spec.loader.exec_module(module)
    finally:
        for missing, before in kept.items():
            if before is None:
                sys.modules.pop(missing, None)
            else:
                sys.modules[missing] = before
    return module


class Quiet:
    """Whoever may be called, by any name, and answers nothing."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *arguments, **options: {}


def module(name: str, **attributes: Any) -> types.ModuleType:
    """A module with nothing but these."""
    made = types.ModuleType(name)
    made.__dict__.update(attributes)
    return made
