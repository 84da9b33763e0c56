"""Trees of arrays as orbax takes them, and back: plain data, with names and checksums."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def _is_typed_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def storable(tree: Any) -> Any:
    """The tree as orbax stores it: the data of typed keys, and nothing for empty arrays."""

    def plain(leaf: Any) -> Any:
        if leaf.size == 0:
            return None
        if not _is_typed_key(leaf):
            return leaf
        if isinstance(leaf, jax.ShapeDtypeStruct):
            data = jax.eval_shape(jax.random.key_data, leaf)
            return jax.ShapeDtypeStruct(data.shape, data.dtype, sharding=leaf.sharding)
        return jax.random.key_data(leaf)

    return jax.tree.map(plain, tree)


def as_before(stored: Any, like: Any) -> Any:
    """The inverse of `storable`, for a tree of the shapes and dtypes of `like`."""

    def whole(pattern: Any, leaf: Any) -> Any:
        if pattern.size == 0:
            return jnp.zeros(pattern.shape, pattern.dtype)
        return jax.random.wrap_key_data(leaf) if _is_typed_key(pattern) else leaf

    return jax.tree.map(whole, like, stored)


def in_shapes(tree: Any, shapes: Mapping[str, list[int]]) -> Any:
    """The shapes, dtypes and shardings of a tree, with other shapes by path."""

    def shaped(path: Any, leaf: Any) -> Any:
        shape = tuple(shapes[_name(path)])
        if shape == leaf.shape:
            return leaf
        return jax.ShapeDtypeStruct(shape, leaf.dtype, sharding=leaf.sharding)

    return jax.tree_util.tree_map_with_path(shaped, tree)


def placed(there: Any, tree: Any) -> Any:
    """The leaves of a tree in the places of another one's that have the same names.

    Where neither has a leaf, they may differ: in a field that is None, or that an earlier version
    did not have.

    Raises:
        KeyError: A leaf is named by one of them alone.
    """
    leaves = dict(named(tree))
    return jax.tree_util.tree_map_with_path(lambda path, _: leaves[_name(path)], there)


def _name(path: Any) -> str:
    return jax.tree_util.keystr(path, simple=True, separator="/")


def named(tree: Any) -> list[tuple[str, Any]]:
    """Leaves with their paths."""
    leaves, _ = jax.tree_util.tree_flatten_with_path(tree)
    return [(_name(path), leaf) for path, leaf in leaves]


def checksum(leaf: Any) -> int:
    """CRC-32 of shape, dtype and bytes."""
    array = np.atleast_1d(np.ascontiguousarray(leaf))
    start = zlib.crc32(f"{leaf.shape} {leaf.dtype}".encode())
    return zlib.crc32(array.view(np.uint8).data, start)
