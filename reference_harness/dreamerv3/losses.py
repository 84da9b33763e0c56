"""The world model's losses, answered by danijar/dreamerv3 at 29eb964 and 2411f7d.

Runs inside the side environment. See `stage.py` for how the stock loss is asked.
"""

from __future__ import annotations

import functools

import jax

from reference_harness.dreamerv3.stage import OBSERVATION, Stage, as_numpy, compiled

_stage = functools.cache(Stage)


def _kl(shape, free_nats, posterior, prior):
    stage = _stage(batch=shape[0], length=shape[1])

    def terms(posterior, prior):
        read = stage.read({}, posterior=posterior, prior=prior, free_nats=free_nats)
        return read["loss/dyn"], read["loss/rep"]

    def mean(term):
        return lambda *logits: terms(*logits)[term].mean()

    dyn, rep = terms(posterior, prior)
    to_posterior, to_prior = jax.grad(mean(0), (0, 1))(posterior, prior)
    from_posterior, from_prior = jax.grad(mean(1), (0, 1))(posterior, prior)
    return {
        "dyn": dyn,
        "rep": rep,
        "dyn_to_posterior": to_posterior,
        "dyn_to_prior": to_prior,
        "rep_to_posterior": from_posterior,
        "rep_to_prior": from_prior,
    }


def kl_losses(posterior, prior, free_nats):
    call = compiled(_kl, posterior.shape[:2], free_nats)
    return as_numpy(call(posterior, prior))


def _decoder(shape, decoded, observation):
    batch, length, size = shape
    stage = _stage(batch=batch, length=length, observation=size)

    def loss(decoded):
        outputs = decoded.reshape(-1, size)
        state = stage.parameters(**{f"dec__out_{OBSERVATION}__out": outputs})
        return stage.read({OBSERVATION: observation}, state=state)[f"loss/{OBSERVATION}"]

    return {"loss": loss(decoded), "gradient": jax.grad(lambda x: loss(x).mean())(decoded)}


def decoder_loss(decoded, observation):
    return as_numpy(compiled(_decoder, decoded.shape)(decoded, observation))


def _continue(shape, logits, is_terminal, is_last):
    stage = _stage(batch=shape[0], length=shape[1])
    data = {"is_terminal": is_terminal, "is_last": is_last}

    def loss(logits):
        state = stage.parameters(con__dist__out=logits.reshape(-1, 1))
        return stage.read(data, state=state)["loss/cont"]

    return {"loss": loss(logits), "gradient": jax.grad(lambda x: loss(x).mean())(logits)}


def continue_loss(logits, is_terminal, is_last):
    return as_numpy(compiled(_continue, logits.shape)(logits, is_terminal, is_last))


OPERATIONS = {
    "dreamerv3.kl_losses": kl_losses,
    "dreamerv3.decoder_loss": decoder_loss,
    "dreamerv3.continue_loss": continue_loss,
}
