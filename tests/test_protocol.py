import contextlib
import io
import json
import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from reference_harness import protocol

PREFIX = struct.Struct("<4sHIQ")


def decode(data):
    return protocol.decode(io.BytesIO(data).readinto)


def encode(message):
    return b"".join(protocol.encode(message))


def frame(header, payload=b"", /, **changed):
    fields = {"magic": b"WMPR", "version": 1, "header": len(header), "payload": len(payload)}
    return PREFIX.pack(*{**fields, **changed}.values()) + header + payload


def array_header(**changed):
    array = {"place": ["x"], "dtype": "float32", "shape": [2], "scalar": False, **changed}
    return json.dumps({"plain": {"x": None}, "arrays": [array]}).encode()


def same(left, right):
    """Equal in type, dtype, shape and every bit."""
    if isinstance(left, np.ndarray | np.generic):
        return (
            type(left) is type(right)
            and left.shape == right.shape
            and left.dtype == right.dtype
            and left.tobytes() == right.tobytes()
        )
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, float):
        return type(right) is float and repr(left) == repr(right)
    return type(left) is type(right) and left == right


def bits(dtype, shape):
    """Arrays of any bits at all: every NaN payload, subnormals, both zeros."""
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    if dtype == "bool":
        return hnp.arrays(bool, shape)
    return st.binary(min_size=size, max_size=size).map(
        lambda data: np.frombuffer(data, dtype).reshape(shape)
    )


shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4)
arrays = st.tuples(st.sampled_from(protocol.DTYPES), shapes).flatmap(lambda pair: bits(*pair))
scalars = arrays.filter(lambda array: array.size).map(lambda array: array.reshape(-1)[0])
plain = st.none() | st.booleans() | st.integers() | st.floats() | st.text()
values = st.recursive(
    plain | arrays | scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
messages = st.dictionaries(st.text(), values, max_size=4)


@given(messages)
def test_a_message_arrives_as_it_was_sent(message):
    assert same(decode(encode(message)), message)


@given(arrays, st.data())
def test_layout_and_byte_order_do_not_matter(array, data):
    permuted = array.transpose(data.draw(st.permutations(range(array.ndim))))
    strided = np.repeat(permuted, 2, axis=-1)[..., ::2] if array.ndim else permuted
    swapped = array.astype(array.dtype.newbyteorder(">"))
    arrived = decode(encode({"strided": strided, "reversed": permuted[::-1] if array.ndim else 0}))
    assert arrived["strided"].tobytes() == permuted.tobytes()
    if array.ndim:
        assert arrived["reversed"].tobytes() == permuted[::-1].tobytes()
    # A byte swap may not touch the payload of a NaN either.
    assert decode(encode({"x": swapped}))["x"].tobytes() == swapped.byteswap().tobytes()


def test_messages_follow_each_other_and_end():
    stream = io.BytesIO(encode({"first": np.arange(3)}) + encode({"second": [1, (2, 3)]}))
    assert same(protocol.decode(stream.readinto), {"first": np.arange(3)})
    assert protocol.decode(stream.readinto) == {"second": [1, [2, 3]]}
    assert protocol.decode(stream.readinto) is None


def test_what_arrives_can_be_written_to_and_is_not_shared():
    sent = np.arange(4.0)
    arrived = decode(encode({"x": sent, "y": sent}))
    arrived["x"][:] = 7
    assert arrived["y"].tolist() == sent.tolist() == [0, 1, 2, 3]


def test_a_contiguous_array_is_not_copied():
    sent = np.zeros(1000)
    _, piece = protocol.encode({"x": sent})
    assert np.shares_memory(np.asarray(piece), sent)


circular = {}
circular["again"] = circular


def named_by_complaint(value):
    return value if isinstance(value, str) else "_"


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (np.array([None]), "x has the dtype object"),
        (np.array(["text"]), "x has the dtype <U4"),
        (np.zeros(1, complex), "x has the dtype complex128"),
        (np.zeros(1, "f4,i4"), "x has the dtype"),
        (np.datetime64("2026-01-01"), "x has the dtype datetime64"),
        (np.zeros((1,) * 33), "x has 33 axes"),
        ([0, {"deep": {1, 2}}], r"x\[1\].deep is of type set"),
        (b"bytes", "x is of type bytes"),
        ({1: 2}, "x has the key 1"),
        (10**5000, "no JSON form"),
        (circular, "nested too deeply"),
    ],
    ids=named_by_complaint,
)
def test_what_can_not_be_sent_is_named(value, complaint):
    with pytest.raises(protocol.ProtocolError, match=complaint):
        protocol.encode({"x": value})


@pytest.mark.parametrize(
    ("data", "complaint"),
    [
        (b"HTTP/1.1 200 OK, and so on", "begins with b'HTTP"),
        (b"Hi", "begins with b'Hi'"),
        (frame(b"{}", version=2), "version 2"),
        (frame(b"{}", header=1 << 31), "header has 2147483648 bytes"),
        (frame(b"{}", payload=1 << 60), "payload has 1152921504606846976 bytes"),
        (frame(b'{"plain": "\xff"}'), "not JSON in UTF-8"),
        (frame(b'{"plain": '), "not JSON in UTF-8"),
        (frame(b"[" * 100_000), "not JSON in UTF-8"),
        (frame(b"[]"), "lacks its parts"),
        (frame(b'{"plain": {}, "arrays": [3]}'), "describes no array: 3"),
        (frame(array_header(dtype="object"), bytes(8)), "dtype 'object'"),
        (frame(array_header(dtype=["f4"]), bytes(8)), "dtype \\['f4'\\]"),
        (frame(array_header(shape=[3]), bytes(8)), "need 12 bytes, the payload has 8"),
        (frame(array_header(shape=[-1]), bytes(8)), r"impossible shape \[-1\]"),
        (frame(array_header(shape=[2.0]), bytes(8)), r"impossible shape \[2.0\]"),
        (frame(array_header(shape=[1] * 33), bytes(4)), "impossible shape"),
        (frame(array_header(shape=[0, 1 << 62, 1 << 62])), "can not be held"),
        (frame(array_header(place=["y"]), bytes(8)), r"no place for \('y',\)"),
        (frame(array_header(place=[{}]), bytes(8)), "no place for"),
        (frame(array_header(place=[]), bytes(8)), "no place for"),
    ],
    ids=named_by_complaint,
)
def test_what_is_no_frame_is_named(data, complaint):
    with pytest.raises(protocol.ProtocolError, match=complaint):
        decode(data)


def test_two_values_for_one_place_are_refused():
    header = json.loads(array_header())
    header["arrays"] *= 2
    with pytest.raises(protocol.ProtocolError, match="two values for x"):
        decode(frame(json.dumps(header).encode(), bytes(16)))


@given(st.data())
def test_a_frame_that_is_cut_short_is_called_truncated(data):
    whole = encode({"x": np.arange(5), "setting": "eager"})
    cut = data.draw(st.integers(1, len(whole) - 1))
    with pytest.raises(protocol.TruncatedError):
        decode(whole[:cut])


@settings(max_examples=300)
@given(st.data())
def test_a_damaged_frame_is_a_message_or_a_protocol_error(data):
    damaged = bytearray(encode({"x": np.arange(3, dtype=np.int16), "y": {"z": [1.5, True]}}))
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(damaged) - 1))
        damaged[position] = data.draw(st.integers(0, 255))
    # Any other exception would end the test.
    with contextlib.suppress(protocol.ProtocolError):
        assert isinstance(decode(bytes(damaged)), dict)
