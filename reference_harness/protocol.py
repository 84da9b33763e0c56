"""The messages between this process and a worker: framed, typed, and free of pickle.

A frame is

    magic "WMPR" | version, uint16 | header length, uint32 | payload length, uint64 |
    header, JSON | payload, the bytes of the arrays one after another

with all numbers little-endian. The header holds the message's plain values, and for every
array its place in the message, its dtype and its shape. Both sides import this module, each
in its own environment: it needs numpy and nothing else, and runs on Python 3.10 and newer.
"""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

MAGIC = b"WMPR"
VERSION = 1
MAX_HEADER = 1 << 28
MAX_PAYLOAD = 1 << 34
DTYPES = (
    "bool",
    *("int8", "int16", "int32", "int64"),
    *("uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64"),
)

_PREFIX = struct.Struct("<4sHIQ")
_MAX_AXES = 32

Place = tuple[str | int, ...]
Fill = Callable[[memoryview], int]


class ProtocolError(Exception):
    """A message can not be sent, or what arrived is not a message; says what is wrong."""


class TruncatedError(ProtocolError):
    """The stream ended within a frame."""


def encode(message: Mapping[str, Any]) -> list[bytes | memoryview]:
    """The frame of one message, in pieces that are to be written in order.

    Numbers, strings, None, lists and dictionaries with string keys are plain values, at any
    depth; arrays and numpy scalars may stand wherever a plain value may. Tuples arrive as
    lists. Arrays that are contiguous and little-endian are not copied.

    Raises:
        ProtocolError: Names the value that is neither plain nor an array of `DTYPES`.
    """
    arrays: list[dict[str, Any]] = []
    pieces: list[bytes | memoryview] = []
    try:
        plain = _plain(message, (), arrays, pieces)
        header = json.dumps({"plain": plain, "arrays": arrays}, separators=(",", ":")).encode()
    except RecursionError:
        raise ProtocolError("the message is nested too deeply, or contains itself") from None
    except ValueError as error:  # an integer of more digits than Python turns into text
        raise ProtocolError(f"the message has no JSON form: {error}") from None
    payload = sum(len(piece) for piece in pieces)
    _check_lengths(len(header), payload)
    return [_PREFIX.pack(MAGIC, VERSION, len(header), payload) + header, *pieces]


def decode(fill: Fill) -> dict[str, Any] | None:
    """Reads one frame.

    Args:
        fill: Fills a buffer from the stream and returns how many bytes it wrote; fewer than
            the buffer holds only where the stream has ended.

    Returns:
        The message, its arrays writable and in memory of their own; None where the stream
        ended before a frame began.

    Raises:
        ProtocolError: Says what is wrong with the frame (`TruncatedError`: it ends too early).
            The stream is of no further use.
    """
    prefix = bytearray(_PREFIX.size)
    got = fill(memoryview(prefix))
    if got == 0:
        return None
    if prefix[: min(got, len(MAGIC))] != MAGIC[:got]:
        raise ProtocolError(f"the frame begins with {bytes(prefix[:got])!r}, not with {MAGIC!r}")
    if got < len(prefix):
        raise TruncatedError(f"the frame ends after {got} bytes, within its first fields")
    _, version, header_length, payload_length = _PREFIX.unpack(prefix)
    if version != VERSION:
        raise ProtocolError(f"the frame has version {version}, this side speaks {VERSION}")
    _check_lengths(header_length, payload_length)
    message, arrays = _read_header(fill, header_length)
    specified = [_read_array_header(array) for array in arrays]
    total = sum(math.prod(shape) * dtype.itemsize for _, dtype, shape, _ in specified)
    if total != payload_length:
        raise ProtocolError(
            f"the arrays' shapes need {total} bytes, the payload has {payload_length}"
        )
    for place, dtype, shape, scalar in specified:
        value = _read_array(fill, place, dtype, shape)
        _put(message, place, value[()] if scalar else value)
    return message


def _plain(value: Any, place: Place, arrays: list, pieces: list) -> Any:
    """The JSON value that stands for `value`; arrays are set aside."""
    if value is None or isinstance(value, str):
        return str(value) if isinstance(value, np.generic) else value
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.name not in DTYPES:
            raise ProtocolError(
                f"{_written(place)} has the dtype {array.dtype}; arrays are {', '.join(DTYPES)}"
            )
        if array.ndim > _MAX_AXES:
            raise ProtocolError(
                f"{_written(place)} has {array.ndim} axes; arrays have {_MAX_AXES} at most"
            )
        arrays.append(
            {
                "place": place,
                "dtype": array.dtype.name,
                "shape": array.shape,
                "scalar": isinstance(value, np.generic),
            }
        )
        little = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
        pieces.append(little.reshape(-1).view(np.uint8).data)
        return None
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [_plain(item, (*place, i), arrays, pieces) for i, item in enumerate(value)]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise ProtocolError(
                    f"{_written(place)} has the key {key!r}; keys of a message are strings"
                )
        return {key: _plain(value[key], (*place, key), arrays, pieces) for key in value}
    raise ProtocolError(
        f"{_written(place)} is of type {type(value).__name__}; a message holds numbers, "
        f"strings, None, lists, dictionaries and numpy arrays"
    )


def _written(place: Place) -> str:
    if not place:
        return "the message"
    steps = (f"[{step}]" if isinstance(step, int) else f".{step}" for step in place)
    return "".join(steps).lstrip(".")


def _check_lengths(header: int, payload: int) -> None:
    for name, length, limit in (("header", header, MAX_HEADER), ("payload", payload, MAX_PAYLOAD)):
        if length > limit:
            raise ProtocolError(
                f"the frame's {name} has {length} bytes; more than {limit} are not accepted"
            )


def _read_header(fill: Fill, length: int) -> tuple[dict[str, Any], list]:
    data = bytearray(length)
    got = fill(memoryview(data))
    if got < length:
        raise TruncatedError(f"the frame ends after {got} of the header's {length} bytes")
    try:
        header = json.loads(data.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"the frame's header is not JSON in UTF-8: {error}") from None
    if (
        not isinstance(header, dict)
        or not isinstance(header.get("plain"), dict)
        or not isinstance(header.get("arrays"), list)
    ):
        raise ProtocolError("the frame's header lacks its parts `plain` and `arrays`")
    return header["plain"], header["arrays"]


def _read_array_header(given: Any) -> tuple[Place, np.dtype, tuple[int, ...], bool]:
    try:
        place, dtype, shape = tuple(given["place"]), given["dtype"], tuple(given["shape"])
        scalar = given["scalar"] is True
    except (TypeError, KeyError):
        raise ProtocolError(f"the frame's header describes no array: {given!r}") from None
    if dtype not in DTYPES:
        raise ProtocolError(f"an array has the dtype {dtype!r}; known are {', '.join(DTYPES)}")
    if len(shape) > _MAX_AXES or not all(type(n) is int and 0 <= n < 1 << 63 for n in shape):
        raise ProtocolError(f"an array has the impossible shape {list(shape)}")
    return place, np.dtype(dtype).newbyteorder("<"), shape, scalar


def _read_array(fill: Fill, place: Place, dtype: np.dtype, shape: tuple[int, ...]) -> np.ndarray:
    try:
        array = np.empty(shape, dtype)
    except (ValueError, MemoryError) as error:
        raise ProtocolError(f"an array of shape {list(shape)} can not be held: {error}") from None
    got = fill(array.reshape(-1).view(np.uint8).data)
    if got < array.nbytes:
        raise TruncatedError(
            f"the frame ends after {got} of the {array.nbytes} bytes of {_written(place)}"
        )
    return array


def _put(message: dict[str, Any], place: Place, value: Any) -> None:
    """Sets one value within the message; the place must exist and be empty."""
    holder: Any = message
    try:
        for step in place[:-1]:
            holder = holder[step]
        if holder[place[-1]] is not None:
            raise ProtocolError(f"the frame's header has two values for {_written(place)}")
        holder[place[-1]] = value
    except (LookupError, TypeError):
        raise ProtocolError(f"the frame's header has no place for {place!r}") from None
