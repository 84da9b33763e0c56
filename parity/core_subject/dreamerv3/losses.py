"""The world model's losses, as the core computes them."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from core.dreamerv3 import world_model
from core.dreamerv3.distributions import CategoricalPolicy
from core.dreamerv3.types import Rows
from parity.core_subject.dreamerv3 import stage
from parity.core_subject.dreamerv3.stage import answers, compiled
from parity.operations import Answer


def _losses(
    shape: tuple[int, int],
    *,
    decoded: Array | None = None,
    continue_logits: Array | None = None,
    posterior: Array | None = None,
    prior: Array | None = None,
    observation: Array | None = None,
    is_terminal: Array | None = None,
    is_last: Array | None = None,
    free_nats: float = 1.0,
) -> world_model.ModelLosses:
    """`world_model.losses`, which training calls, on given outputs; the rest is 0."""
    batch, length = shape
    count, never = batch * length, jnp.zeros(shape, bool)
    decoded = jnp.zeros((*shape, 1)) if decoded is None else decoded
    size = decoded.shape[-1]
    config = stage.headless(bins=3, free_nats=free_nats)
    networks = stage.networks(config, size, CategoricalPolicy(2, config.actor_unimix))
    continue_logits = jnp.zeros(shape) if continue_logits is None else continue_logits
    posterior = jnp.zeros((*shape, 1, 1)) if posterior is None else posterior
    params = {
        "dec": stage.head(decoded.reshape(-1, size)),
        "con": stage.head(continue_logits.reshape(-1, 1)),
        "rew": stage.head(jnp.zeros((count, 3))),
    }
    states = stage.unit_states(count, 0, *shape)
    observed = world_model.Observed(
        jnp.zeros((*shape, 1)), states, posterior, posterior if prior is None else prior
    )
    rows = Rows(
        jnp.zeros((*shape, size)) if observation is None else observation,
        jnp.zeros(shape, jnp.int32),
        jnp.zeros(shape),
        never,
        never if is_last is None else is_last,
        never if is_terminal is None else is_terminal,
    )
    return world_model.losses(networks, config, params, observed, rows)


def _kl(shape: tuple[int, int], free_nats: float, *logits: Array) -> dict[str, Array]:
    def losses(posterior: Array, prior: Array) -> world_model.ModelLosses:
        return _losses(shape, posterior=posterior, prior=prior, free_nats=free_nats)

    found = losses(*logits)
    dyn = jax.grad(lambda *x: losses(*x).dyn.mean(), (0, 1))(*logits)
    rep = jax.grad(lambda *x: losses(*x).rep.mean(), (0, 1))(*logits)
    return {
        "dyn": found.dyn,
        "rep": found.rep,
        "dyn_to_posterior": dyn[0],
        "dyn_to_prior": dyn[1],
        "rep_to_posterior": rep[0],
        "rep_to_prior": rep[1],
    }


def kl_losses(posterior: np.ndarray, prior: np.ndarray, free_nats: float) -> Answer:
    """See `dreamerv3.kl_losses`."""
    batch, length = posterior.shape[:2]
    return answers(compiled(_kl, (batch, length), free_nats)(posterior, prior))


def _with_gradient(loss: Callable[[Array], Array], outputs: Array) -> dict[str, Array]:
    return {"loss": loss(outputs), "gradient": jax.grad(lambda x: loss(x).mean())(outputs)}


def _decoder(decoded: Array, observation: Array) -> dict[str, Array]:
    batch, length, _ = decoded.shape

    def loss(decoded: Array) -> Array:
        return _losses((batch, length), decoded=decoded, observation=observation).rec

    return _with_gradient(loss, decoded)


def decoder_loss(decoded: np.ndarray, observation: np.ndarray) -> Answer:
    """See `dreamerv3.decoder_loss`."""
    return answers(compiled(_decoder)(decoded, observation))


def _continue(logits: Array, is_terminal: Array, is_last: Array) -> dict[str, Array]:
    batch, length = logits.shape

    def loss(logits: Array) -> Array:
        found = _losses(
            (batch, length), continue_logits=logits, is_terminal=is_terminal, is_last=is_last
        )
        return found.con

    return _with_gradient(loss, logits)


def continue_loss(logits: np.ndarray, is_terminal: np.ndarray, is_last: np.ndarray) -> Answer:
    """See `dreamerv3.continue_loss`."""
    return answers(compiled(_continue)(logits, is_terminal, is_last))


TABLE = {
    "dreamerv3.kl_losses": kl_losses,
    "dreamerv3.decoder_loss": decoder_loss,
    "dreamerv3.continue_loss": continue_loss,
}
