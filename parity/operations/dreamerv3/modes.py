"""How an operation is run."""

from __future__ import annotations

from parity.operations import Setting

MODE = Setting("mode", str, "how the computation is run", ("eager", "compiled"))
