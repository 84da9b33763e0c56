"""How faults of returns and of the losses of actor and critic are seeded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.dreamerv3.learning import Change, around, replaced, seeded
from parity.faults import Fault

NUMBERS = ("imagined_returns", "actor_loss")
HEADS = ("imagination_losses",)
REPLAY = ("replay_critic_loss",)
BOTH_RETURNS = ("imagination-losses/discrete-returns", "imagination-losses/continuous-returns")
_REPORTED = ("F02", "F04", "F07", "F08", "F09", "F12", "F14")


def on_trajectories(change: Callable[..., dict[str, Any]]) -> Callable[[], list[Change]]:
    """The losses on trajectories of which some fields are replaced.

    Args:
        change: From (trajectories, the starts' rewards, configuration) to the replacements.
    """

    def changes() -> list[Change]:
        from core.dreamerv3 import actor_critic

        def wrong(sound, networks, config, policy, params, retnorm, imagined, reward, cont):
            imagined = imagined._replace(**change(imagined, reward, config))
            return sound(networks, config, policy, params, retnorm, imagined, reward, cont)

        return around(actor_critic, "imagination_losses", wrong)

    return changes


def on_losses(change: Callable[..., dict[str, Any]]) -> Callable[[], list[Change]]:
    """The losses on trajectories, of which some are replaced afterwards.

    Args:
        change: From (losses, configuration) to the replacements.
    """

    def changes() -> list[Change]:
        from core.dreamerv3 import actor_critic

        def wrong(sound, networks, config, *rest):
            found = sound(networks, config, *rest)
            return found._replace(**change(found, config))

        return around(actor_critic, "imagination_losses", wrong)

    return changes


def without_stops(module: Any) -> Callable:
    """Runs a function of a module in which no gradient is stopped."""
    import jax

    class Unstopped:
        """A library whose `lax.stop_gradient` lets gradients through."""

        def __init__(self, inner: Any):
            self._inner = inner

        def __getattr__(self, name: str) -> Any:
            if name == "stop_gradient":
                return lambda x: x
            found = getattr(self._inner, name)
            return Unstopped(found) if name == "lax" else found

    def run(sound, *args):
        with replaced((module, "jax", Unstopped(jax))):
            return sound(*args)

    return run


def fault(
    name: str,
    title: str,
    operations: tuple[str, ...],
    changes: Callable[[], list[Change]],
    caught_by: tuple[str, ...],
    **settings: Any,
) -> Fault:
    """A fault of returns or of the losses of actor and critic; see `Fault` and `seeded`."""
    kind = "returns and actor-critic losses"
    source = "reported in re-implementations" if name in _REPORTED else ""
    overrides = seeded(name, operations, changes, **settings)
    return Fault(name, title, kind, overrides, caught_by, source)
