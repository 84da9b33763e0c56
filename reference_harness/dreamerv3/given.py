"""The stock agent with given widths, given parameters and given draws.

Runs inside the side environment. Everything that is not a width is the reference's own
default; the widths are read off the arrays that an operation was asked with.
"""

from __future__ import annotations

import contextlib
import functools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from dreamerv3 import jaxutils, nets
from dreamerv3 import ninjax as nj

from reference_harness.dreamerv3.agent import SEED, Spaces, build, precision, replaced

# The catalogue's layers under the reference's names; heads are called by what they are.
_LAYERS = {
    **{f"{net}_hidden{i}": f"{net}/mlp{i}" for net in ("enc", "dec") for i in range(3)},
    **{
        f"{net}_hidden{i}": f"{net}/h{i}"
        for net in ("rew", "con", "actor", "critic")
        for i in range(3)
    },
    **{f"{net}_out": f"{net}/dist/out" for net in ("rew", "con", "critic")},
    "dec_out": "dec/out_vector/out",
    "actor_out": "actor/action/out",
    "actor_std": "actor/action/std",
    "dyn_deter_in": "dyn/dynin0",
    "dyn_stoch_in": "dyn/dynin1",
    "dyn_action_in": "dyn/dynin2",
    "dyn_core": "dyn/dyn0",
    "dyn_gates": "dyn/dyncore",
    "dyn_prior_hidden0": "dyn/img0",
    "dyn_prior_hidden1": "dyn/img1",
    "dyn_prior_out": "dyn/imglogit",
    "dyn_posterior_hidden0": "dyn/obs0",
    "dyn_posterior_out": "dyn/obslogit",
}
_LEAVES = {"kernel": "kernel", "bias": "bias", "scale": "norm/scale"}


def split_parameters(
    arrays: Mapping[str, np.ndarray],
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The reference's state that holds the parameters among `arrays`, and the other arrays."""
    state, rest = {}, {}
    for name, value in arrays.items():
        layer, _, leaf = name.rpartition("_")
        if layer in _LAYERS and leaf in _LEAVES:
            state[f"agent/{_LAYERS[layer]}/{_LEAVES[leaf]}"] = jnp.asarray(value)
        else:
            rest[name] = value
    return state, rest


def padded(state: dict[str, Any], *heads: str) -> dict[str, Any]:
    """The state with the column of zeros that an odd number of bins gets and that is dropped."""
    odd = [f"agent/{head}/dist/out/{leaf}" for head in heads for leaf in ("kernel", "bias")]
    return {
        name: jnp.pad(value, [*[(0, 0)] * (value.ndim - 1), (0, value.shape[-1] % 2)])
        if name in odd
        else value
        for name, value in state.items()
    }


def widths(arrays: Mapping[str, np.ndarray]) -> dict[str, Any]:
    """Overrides of the configuration that give the agent the widths of these parameters."""
    overrides: dict[str, Any] = {}
    if "dyn_core_kernel" in arrays:
        overrides["dyn.rssm.deter"] = len(arrays["dyn_core_bias"])
        overrides["dyn.rssm.blocks"] = len(arrays["dyn_core_kernel"])
        overrides["dyn.rssm.hidden"] = len(arrays["dyn_deter_in_bias"])
    if "stoch" in arrays:
        overrides["dyn.rssm.stoch"], overrides["dyn.rssm.classes"] = arrays["stoch"].shape[-2:]
    firsts = [n for n in arrays if n.endswith("_hidden0_bias") and not n.startswith("dyn_")]
    if firsts:
        overrides[r".*\.units"] = len(arrays[firsts[0]])
    return overrides


def agent(overrides: Mapping[str, Any], observations: int, actions: int, kind: str = "discrete"):
    """The stock agent of these widths in float32; the same object for the same question."""
    text = json.dumps({"jax.platform": "cpu", **overrides}, sort_keys=True)
    return _agent(text, Spaces(observations, kind, actions))


@functools.lru_cache(maxsize=16)
def _agent(overrides: str, spaces: Spaces):
    with precision("float32"):
        return build(json.loads(overrides), spaces)


def call(
    function: Callable, state: Mapping[str, Any], *args: Any, draws: Draws | None = None
) -> Any:
    """What a function of the agent's modules returns, compiled, with these parameters.

    Args:
        function: Called with `args` as traced arrays; may return a tree of them.
        state: The parameters; none but these may be asked for.
        args: Trees of arrays.
        draws: Answers the draws.
    """

    def program(state, noise, *args):
        around = draws.answering(noise) if draws else contextlib.nullcontext()
        with around:
            return nj.pure(function)(state, *args, seed=SEED)[1]

    noise = jax.tree.map(jnp.asarray, draws.noise if draws else ())
    with precision("float32"):
        answer = jax.jit(program)(dict(state), noise, *jax.tree.map(jnp.asarray, args))
    return jax.tree.map(np.asarray, answer)


class Draws:
    """Answers the agent's draws with given noise, in the order in which they are made.

    Args:
        now: Noise of the draws outside of scans.
        scans: For each scan, the noise of the draws of its body, with the scan's axis.
    """

    def __init__(self, now: Sequence[np.ndarray] = (), scans: Sequence[tuple] = ()):
        self.noise = (tuple(now), tuple(tuple(scan) for scan in scans))
        self._pending: list[list] = []
        self._scans: list = []

    @contextlib.contextmanager
    def answering(self, noise: Any) -> Iterator[None]:
        """Replaces what the agent draws with; every draw must be made, and none beside them."""
        now, scans = noise
        self._scans = list(scans)

        def sample_class(dist, n, seed=None, **kwargs):
            del n, seed, kwargs  # one draw, whose axis the caller reshapes away
            logits = dist.logits_parameter()
            index = jnp.argmax(logits + self._next(logits.shape), -1)
            return jax.nn.one_hot(index, logits.shape[-1], dtype=logits.dtype)[None]

        def sample_normal(dist, n, seed=None, **kwargs):
            del n, seed, kwargs
            return (dist.loc + dist.scale * self._next(dist.loc.shape))[None]

        changes = (
            (jaxutils, "scan", functools.partial(self._scan, jaxutils.scan)),
            (jaxutils.OneHotDist, "_sample_n", sample_class),
            (nets.tfd.Normal, "_sample_n", sample_normal),
        )
        with replaced(*changes), self._drawing(now):
            yield
        if self._scans:
            raise RuntimeError(f"{len(self._scans)} scans that were expected were not run")

    def _scan(self, stock, fun, carry, xs, unroll=False, axis=0):
        def body(carry, inputs):
            x, now = inputs
            with self._drawing(now):
                return fun(carry, x)

        return stock(body, carry, (xs, self._scans.pop(0)), unroll, axis)

    @contextlib.contextmanager
    def _drawing(self, noise: Sequence) -> Iterator[None]:
        self._pending.append(list(noise))
        yield
        if self._pending.pop():
            raise RuntimeError("fewer draws were made than there is noise for")

    def _next(self, shape: tuple[int, ...]) -> jax.Array:
        noise = self._pending[-1].pop(0)
        if noise.shape != shape:
            raise RuntimeError(f"noise of the shape {noise.shape} for a draw of {shape}")
        return noise


class Reading:
    """A network, with a function that is told its inputs and may change what it returns."""

    def __init__(self, inner, told):
        self._inner, self._told = inner, told

    def __getattr__(self, name):
        return getattr(self._inner, name)

    def __call__(self, inputs, *args, **kwargs):
        """What the function makes of the network's answer."""
        return self._told(inputs, self._inner(inputs, *args, **kwargs))
