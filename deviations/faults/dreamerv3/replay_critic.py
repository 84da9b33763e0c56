"""Faults of the critic's loss on replayed rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from deviations.faults.dreamerv3.learning import Change, around
from deviations.faults.dreamerv3.trajectories import REPLAY, fault


def _replayed(change: Callable[..., Any]) -> Callable[[], list[Change]]:
    """The loss on other replayed rows, or with another bootstrap."""

    def changes() -> list[Change]:
        from core.dreamerv3 import actor_critic

        def wrong(sound, networks, config, params, slow_critic, features, rows, bootstrap):
            rows, bootstrap = change(rows, bootstrap, networks, params, features)
            return sound(networks, config, params, slow_critic, features, rows, bootstrap)

        return around(actor_critic, "replay_losses", wrong)

    return changes


def _unmasked() -> list[Change]:
    from core.dreamerv3 import actor_critic, twohot

    def wrong(sound, networks, config, params, slow_critic, features, rows, bootstrap):
        args = (networks, config, params, slow_critic, features, rows, bootstrap)
        found = sound(*args)
        bins, logits = twohot.make_bins(config.bins), found.critic_logits[:, :-1]
        loss = twohot.loss(logits, found.returns, bins)
        loss += config.slowreg * twohot.loss(logits, found.slow_values[:, :-1], bins)
        return found._replace(critic=loss)

    return around(actor_critic, "replay_losses", wrong)


def _followed_past_the_end(rows, bootstrap, *rest):
    import jax.numpy as jnp

    return rows._replace(is_last=jnp.zeros_like(rows.is_last)), bootstrap


def _never_terminal(rows, bootstrap, *rest):
    import jax.numpy as jnp

    return rows._replace(is_terminal=jnp.zeros_like(rows.is_terminal)), bootstrap


def _own_values(rows, bootstrap, networks, params, features):
    from core.dreamerv3.networks import apply

    return rows, apply(networks.critic, params["critic"], *features, method="predict")


FAULTS = (
    fault(
        "X178",
        "critic's loss on replayed rows not masked where an episode ends",
        REPLAY,
        _unmasked,
        ("replay-critic-loss/loss", "replay-critic-loss/gradient"),
    ),
    fault(
        "X179",
        "replayed returns followed past the end of an episode",
        REPLAY,
        _replayed(_followed_past_the_end),
        ("replay-critic-loss/returns", "replay-critic-loss/loss"),
    ),
    fault(
        "X180",
        "terminal ignored in replayed returns",
        REPLAY,
        _replayed(_never_terminal),
        ("replay-critic-loss/returns",),
    ),
    fault(
        "X181",
        "replayed returns bootstrap with the critic's own predictions",
        REPLAY,
        _replayed(_own_values),
        ("replay-critic-loss/returns",),
    ),
)
