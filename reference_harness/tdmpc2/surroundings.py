"""What the reference finds around it: a CPU where it expects a GPU, and given draws.

Runs inside the side environment. No source is changed: while a call lasts, the name `torch` in
the reference's own modules is a facade that forwards to torch, but for the devices and for what
draws random numbers.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import tdmpc2 as stock
import torch
from common import math, scale, world_model

MODULES = (stock, world_model, math, scale)


class Facade:
    """A module, with some of its attributes replaced."""

    def __init__(self, module: Any, **replaced: Any):
        self._module = module
        self.__dict__.update(replaced)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._module, name)


@contextlib.contextmanager
def replaced(*changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Sets attributes, (object, name, value) each, and puts the old ones back."""
    with contextlib.ExitStack() as undo:
        for holder, name, value in changes:
            undo.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, value)
        yield


class Draws:
    """Random numbers in the order in which the reference asks for them, by kind.

    A call that asks for more, or for another shape, fails; so does one that leaves some over.

    Args:
        normal: What `randn` and `randn_like` give.
        members: What two Q networks are drawn.
        masks: What dropout keeps, for all networks of the ensemble.
        gumbel: Of the draw of an elite.
    """

    def __init__(
        self,
        normal: Sequence[Any] = (),
        members: Sequence[Any] = (),
        masks: Sequence[Any] = (),
        gumbel: Sequence[Any] = (),
    ):
        kinds = {"normal": normal, "members": members, "masks": masks, "gumbel": gumbel}
        self._left = {kind: list(values) for kind, values in kinds.items()}

    def take(self, kind: str) -> Any:
        """The next draw of a kind."""
        if not self._left[kind]:
            raise RuntimeError(f"the reference draws more {kind} than it was given")
        return self._left[kind].pop(0)

    def check_used_up(self) -> None:
        """Raises `RuntimeError` if something was not asked for."""
        if left := {kind: len(values) for kind, values in self._left.items() if values}:
            raise RuntimeError(f"the reference leaves draws over: {left}")

    def normal(self, shape: Sequence[int]) -> Any:
        """Standard normal numbers of a shape."""
        drawn = self.take("normal")
        drawn = drawn if isinstance(drawn, torch.Tensor) else tensor(drawn)
        if tuple(drawn.shape) != tuple(shape):
            raise RuntimeError(f"the reference draws {list(shape)}, given is {list(drawn.shape)}")
        return drawn

    def dropout(self, x, p=0.5, training=True, inplace=False):
        """Dropout with the next mask; within `vmap`, whose axis of networks the mask has too."""
        del inplace
        if not training or not p:
            return x
        factor = tensor(self.take("masks")).float() / (1 - p)
        level = torch._C._functorch.maybe_get_level(x)
        if level is not None and level >= 0:
            factor = torch._C._functorch._add_batch_dim(factor, 0, level)
        return x * factor

    def choice(self, a, size=None, replace=True, p=None):
        """`numpy.random.choice`: of two networks, or of an elite with probabilities."""
        del a, size, replace
        if p is None:
            return np.asarray(self.take("members"))
        with np.errstate(divide="ignore"):
            return int(np.argmax(np.log(np.asarray(p, np.float32)) + self.take("gumbel")))

    def facade(self) -> Facade:
        """What the reference's modules take for torch."""
        return Facade(
            torch,
            device=_cpu,
            tensor=_tensor,
            randn_like=lambda x: self.normal(x.shape),
            randn=lambda *shape, device=None: self.normal(shape),
            randperm=lambda n, device=None: _permutation(self.take("members"), n),
            empty_like=lambda x, memory_format=None: _Exponential(self, x),
        )


class _Exponential:
    """An empty tensor that can only be filled with exponential draws, whose −ln are Gumbel."""

    def __init__(self, draws: Draws, like):
        self._draws, self._like = draws, like

    def exponential_(self):
        return torch.exp(-tensor(self._draws.take("gumbel"))).to(self._like)


def _permutation(first: Sequence[int], n: int) -> Any:
    """All numbers below n, the given ones first."""
    rest = [i for i in range(n) if i not in list(first)]
    return torch.tensor([*map(int, first), *rest])


def _tensor(data: Any, dtype: Any = None, device: Any = None) -> Any:
    """A tensor on the CPU, wherever it is wanted."""
    del device
    return torch.tensor(data, dtype=dtype)


def _cpu(*wanted: Any) -> Any:
    del wanted
    return torch.device("cpu")


@contextlib.contextmanager
def given(draws: Draws | None = None, *changes: tuple[Any, str, Any]) -> Iterator[None]:
    """Calls of the reference within it run on the CPU and draw what is given.

    Args:
        draws: What is drawn; None draws at random.
        *changes: Further attributes that are replaced, as in `replaced`.
    """
    if draws is None:
        facade = Facade(torch, device=_cpu, tensor=_tensor)
        with replaced(*((module, "torch", facade) for module in MODULES), *changes):
            yield
        return
    facade = draws.facade()
    with replaced(
        *((module, "torch", facade) for module in MODULES),
        (torch.nn.functional, "dropout", draws.dropout),
        (np.random, "choice", draws.choice),
        *changes,
    ):
        yield
    draws.check_used_up()


def tensor(array: Any) -> Any:
    """A tensor of its own, which the reference may write to."""
    return torch.from_numpy(np.array(array))


def array(value: Any) -> np.ndarray:
    """As a numpy array of its own."""
    return np.array(value.detach().numpy())
