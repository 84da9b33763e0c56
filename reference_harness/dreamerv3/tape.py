"""Reads the stock agent's intermediates and answers its draws, from around its source.

Runs inside the side environment. A `Tape` stands around one agent while its training step is
traced: it wraps the objects that the step calls (networks, distributions, the optimiser's
chain) and the functions that it looks up in its modules (`jaxutils.scan`,
`jaxutils.tensorstats`). What it reads inside the loss leaves through the metrics, which the
step hands through; what it reads inside a scan leaves as one more output of the scan.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import optax
from dreamerv3 import jaxutils, nets

from reference_harness.dreamerv3.agent import replaced

_METRIC = "the tape"


class Tape:
    """What was read, and which draws come next.

    Args:
        agent: The stock agent; changed in place.
        margin: By how much the winner of each categorical draw must lead. The noise of a draw
            that is closer is raised at its winner, which does not change the draw, so that
            rounding can not decide it elsewhere.
    """

    def __init__(self, agent: Any, margin: float):
        self._margin = margin
        self._frames: list[tuple[dict, list]] = []
        self._calls: dict[str, int] = {}
        self._scans: list[Sequence] = []
        self._noise: dict[str, Any] = {}
        self._wrap(agent)

    def reading(self, step: Callable) -> Callable:
        """The step, with (what was read, what it returned) for its value.

        The new function's first argument is the noise: "posterior" [T, B, stoch, classes],
        "prior" [H, N, stoch, classes] and "action" [H + 1, N, actions].
        """

        def read(noise: dict[str, Any], *args: Any) -> tuple[dict[str, Any], Any]:
            self._noise = noise
            with self._surroundings(), self._frame([]) as entries:
                returned = step(*args)
                _, (_, _, metrics) = returned
                entries.update(metrics.pop(_METRIC))
            return entries, returned

        return read

    def record(self, name: str, value: Any) -> None:
        """Keeps a value; a second one of that name in a frame is a mistake of ours."""
        entries, _ = self._frames[-1]
        if name in entries:
            raise RuntimeError(f"{name} was read twice")
        entries[name] = value

    def draw(self, logits: jax.Array) -> jax.Array:
        """The class of every draw: argmax(logits + noise), one-hot."""
        noise = self._next(logits.shape).astype(logits.dtype)
        score = logits + noise
        first, second = jnp.moveaxis(jax.lax.top_k(score, 2)[0], -1, 0)
        winner = jax.nn.one_hot(jnp.argmax(score, -1), logits.shape[-1], dtype=logits.dtype)
        raised = jnp.where((first - second < self._margin)[..., None], self._margin * winner, 0)
        self._keep_noise(noise + raised)
        return winner

    def normal(self, shape: tuple[int, ...], dtype: Any) -> jax.Array:
        """Standard normal numbers."""
        noise = self._next(shape).astype(dtype)
        self._keep_noise(noise)
        return noise

    def _next(self, shape: tuple[int, ...]) -> jax.Array:
        _, draws = self._frames[-1]
        if not draws:
            raise RuntimeError("the agent draws more often than it was expected to")
        noise = draws.pop(0)
        if noise.shape != shape:
            raise RuntimeError(f"noise of the shape {noise.shape} for a draw of {shape}")
        return noise

    def _keep_noise(self, noise: jax.Array) -> None:
        entries, _ = self._frames[-1]
        entries[f"noise{sum(name.startswith('noise') for name in entries)}"] = noise

    @contextlib.contextmanager
    def _frame(self, draws: list) -> Iterator[dict[str, Any]]:
        """What is read and drawn in one traced function."""
        self._frames.append(({}, draws))
        try:
            yield self._frames[-1][0]
            if draws:
                raise RuntimeError(f"{len(draws)} draws that were expected were not made")
        finally:
            self._frames.pop()

    # What the agent is surrounded with while its step is traced.

    def _surroundings(self) -> contextlib.AbstractContextManager:
        def sample_class(dist, n, seed=None, **kwargs):
            del n, seed, kwargs  # one draw, whose axis the caller reshapes away
            return self.draw(dist.logits_parameter())[None]

        def sample_normal(dist, n, seed=None, **kwargs):
            del n, seed, kwargs
            loc, scale = dist.loc, dist.scale
            return (loc + scale * self.normal(loc.shape, loc.dtype))[None]

        return replaced(
            (jaxutils, "scan", functools.partial(self._scan, jaxutils.scan)),
            (jaxutils, "tensorstats", functools.partial(self._tensorstats, jaxutils.tensorstats)),
            (jaxutils.OneHotDist, "_sample_n", sample_class),
            (nets.tfd.Normal, "_sample_n", sample_normal),
        )

    def _scan(self, stock, fun, carry, xs, unroll=False, axis=0):
        draws = tuple(noise.swapaxes(0, axis) for noise in self._scans.pop(0))

        def body(carry, inputs):
            x, now = inputs
            with self._frame(list(now)) as entries:
                carry, y = fun(carry, x)
            return carry, (y, entries)

        carry, (ys, entries) = stock(body, carry, (xs, draws), unroll, axis)
        name = "observe" if axis else "imagine"
        for key, value in entries.items():
            self.record(f"{name}/{key}", value)
        return carry, ys

    def _tensorstats(self, stock, tensor, prefix=None):
        self.record(f"stats/{prefix}", tensor)
        return stock(tensor, prefix)

    # The objects that the step calls.

    def _wrap(self, agent: Any) -> None:
        stock_loss, stock_observe = agent.loss, agent.dyn.observe
        stock_prior, stock_kl, stock_chain = agent.dyn._prior, agent.dyn.loss, agent.opt.chain

        def loss(data, carry, **kwargs):
            self._calls.clear()
            noise = self._noise
            self._scans = [(noise["posterior"],), (noise["prior"], noise["action"][1:])]
            with self._frame([noise["action"][0]]) as entries:
                total, (outs, carry, metrics) = stock_loss(data, carry, **kwargs)
                self.record("loss/total", total)
                for key, value in outs.items():
                    if key.endswith("_loss"):
                        self.record(f"loss/{key}", value)
                return total, (outs, carry, {**metrics, _METRIC: entries})

        def observe(carry, action, embed, reset, bdims=2):
            if bdims == 2:
                self.record("observe/action", jaxutils.concat_dict(action))
            final, outs = stock_observe(carry, action, embed, reset, bdims)
            if bdims == 2:
                for key, value in outs.items():
                    self.record(f"observe/{key}", value)
            return final, outs

        def prior(feat):
            logits = stock_prior(feat)
            if len(self._frames) == 2:  # in the loss itself, not in a step of imagination
                self.record("observe/prior", logits)
            return logits

        def divergences(outs, **kwargs):
            losses, metrics = stock_kl(outs, **kwargs)
            for key, value in losses.items():
                self.record(f"kl/{key}", value)
            return losses, metrics

        def update(gradients, state, params=None):
            for key, value in gradients.items():
                self.record(f"gradient/{key}", value)
            return stock_chain.update(gradients, state, params)

        agent.loss, agent.dyn.observe = loss, observe
        agent.dyn._prior, agent.dyn.loss = prior, divergences
        agent.opt.chain = optax.GradientTransformation(stock_chain.init, update)
        agent.enc = self._reading_call(agent.enc)
        for head, calls in (
            ("dec", ("replay",)),
            ("rew", ("replay", "imagined")),
            ("con", ("replay", "imagined")),
            ("actor", ("start", "imagined")),
            ("critic", ("imagined", "replay")),
            ("slowcritic", ("imagined", "replay")),
        ):
            setattr(agent, head, self._head(getattr(agent, head), head, calls))
        agent.retnorm = _Called(agent.retnorm, self._normaliser(agent.retnorm))

    def _reading_call(self, encoder: Any) -> Any:
        def call(*args, **kwargs):
            out = encoder(*args, **kwargs)
            self.record("embed", out)
            return out

        return _Called(encoder, call)

    def _head(self, head: Any, name: str, calls: Sequence[str]) -> Any:
        def call(inputs, *args, **kwargs):
            dists = head(inputs, *args, **kwargs)
            if len(self._frames) != 2:
                return dists  # within a scan: the same network is read again outside of it
            place = self._calls[name] = self._calls.get(name, -1) + 1
            where = f"{name}/{calls[place]}"
            if name == "rew" and place:
                self.record("imagine/deter", inputs["deter"])
                self.record("imagine/stoch", inputs["stoch"])
            if isinstance(dists, dict):
                return {key: _Watched(self, where, dist) for key, dist in dists.items()}
            return _Watched(self, where, dists)

        return _Called(head, call)

    def _normaliser(self, normaliser: Any) -> Callable:
        def call(*args, **kwargs):
            offset, scale = normaliser(*args, **kwargs)
            self.record("retnorm/offset", offset)
            self.record("retnorm/scale", scale)
            return offset, scale

        return call


class _Called:
    """A stock object whose call is answered by another function."""

    def __init__(self, inner: Any, call: Callable):
        self._inner = inner
        self._call = call

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)


class _Watched:
    """A distribution whose parameters are read at once, and whose answers as they are asked.

    Of several answers of one kind the first is read.
    """

    _PARAMETERS = ("logits", "_mode", "loc", "scale")

    def __init__(self, tape: Tape, name: str, dist: Any):
        self._tape, self._name, self._dist = tape, name, dist
        self._seen: set[str] = set()
        # A normal distribution stands inside one that sums over its axes.
        inner = getattr(dist, "distribution", dist)
        for parameter in self._PARAMETERS:
            value = getattr(inner, parameter, None)
            if value is not None and not callable(value):
                tape.record(f"{name}/{parameter.strip('_')}", value)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._dist, name)
        if name not in ("mean", "log_prob", "entropy"):
            return value

        def call(*args):
            answer = value(*args)
            if name not in self._seen:
                self._seen.add(name)
                self._tape.record(f"{self._name}/{name}", answer)
                for argument in args:
                    self._tape.record(f"{self._name}/{name}_of", argument)
            return answer

        return call
