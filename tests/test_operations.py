"""The catalogue: what fits an operation, and what each refusal says."""

import importlib
import pkgutil

import numpy as np
import pytest

import parity.operations
from parity.operations import Array, Operation, OperationMismatchError, Setting, catalogue

MIX = Operation(
    "test.mix",
    "out = mix · left + (1 − mix) · right",
    inputs=(
        Array("left", "B N", "float32", "one side"),
        Array("square", "N N", "float32", "a matrix"),
        Array("pair", "2", "int64", "exactly two"),
        Array("scale", "", "float32", "a scalar"),
        Setting("mix", float, "share of the left side"),
        Setting("count", int, "how often"),
        Setting("mode", str, "how it is run", ("eager", "compiled")),
        Setting("flag", bool, "whether"),
    ),
    outputs=(
        Array("out", "B N", "float32", "the mixture"),
        Array("first", "K", "float32", "of a length that the inputs do not say"),
        Array("second", "K", "float32", "as long as the first"),
    ),
)
AXES = {"B": 4, "N": 3}


def make_inputs(**changes):
    return {
        "left": np.zeros((4, 3), np.float32),
        "square": np.zeros((3, 3), np.float32),
        "pair": np.zeros(2, np.int64),
        "scale": np.ones((), np.float32),
        "mix": 0.5,
        "count": 2,
        "mode": "eager",
        "flag": True,
        **changes,
    }


def make_outputs(**changes):
    return {
        "out": np.zeros((4, 3), np.float32),
        "first": np.zeros(7, np.float32),
        "second": np.zeros(7, np.float32),
        **changes,
    }


def refusal(check, *arguments):
    with pytest.raises(OperationMismatchError) as error:
        check(*arguments)
    return str(error.value)


def test_fitting_inputs_give_the_axis_lengths():
    axes = MIX.check_inputs(make_inputs())
    assert axes == AXES
    MIX.check_outputs(make_outputs(), axes)
    assert axes == AXES


def test_names_must_be_those_of_the_catalogue():
    missing = make_inputs()
    del missing["mode"]
    names = "left, square, pair, scale, mix, count, mode, flag"
    got = "left, square, pair, scale, mix, count, flag"
    expected = f"test.mix: expected the inputs {names}, got {got}"
    assert refusal(MIX.check_inputs, missing) == expected
    assert refusal(MIX.check_inputs, make_inputs(extra=1)).endswith("flag, extra")
    assert refusal(MIX.check_outputs, {}, AXES) == (
        "test.mix: expected the outputs out, first, second, got none"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"left": [[1.0]]}, "'left' must be a numpy array, got list"),
        ({"left": np.zeros((4, 3))}, "'left' must be float32, got float64"),
        ({"pair": np.zeros(2, np.int32)}, "'pair' must be int64, got int32"),
        ({"left": np.zeros(3, np.float32)}, "'left' must have the shape [B, N], got [3]"),
        ({"pair": np.zeros(3, np.int64)}, "'pair' must have the shape [2], got [3]"),
        ({"scale": np.zeros(1, np.float32)}, "'scale' must have the shape [], got [1]"),
        (
            {"square": np.zeros((3, 4), np.float32)},
            "'square' must have the shape [N=3, N=3], got [3, 4]",
        ),
    ],
)
def test_arrays_that_do_not_fit_are_refused(changes, message):
    inputs = make_inputs(**changes)
    assert refusal(MIX.check_inputs, inputs) == f"test.mix: input {message}"


def test_an_axis_named_twice_in_one_shape_is_one_length():
    square = Operation("test.square", "x", (Array("x", "N N", "float32", "a matrix"),), ())
    assert square.check_inputs({"x": np.zeros((2, 2), np.float32)}) == {"N": 2}
    assert refusal(square.check_inputs, {"x": np.zeros((2, 3), np.float32)}) == (
        "test.square: input 'x' must have the shape [N, N], got [2, 3]"
    )


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"out": np.zeros((5, 3), np.float32)},
            "'out' must have the shape [B=4, N=3], got [5, 3]",
        ),
        ({"out": np.zeros((4, 3))}, "'out' must be float32, got float64"),
        ({"out": 0.0}, "'out' must be a numpy array, got float"),
        ({"second": np.zeros(6, np.float32)}, "'second' must have the shape [K=7], got [6]"),
    ],
)
def test_outputs_share_the_axes_of_the_inputs(changes, message):
    axes = dict(AXES)
    outputs = make_outputs(**changes)
    assert refusal(MIX.check_outputs, outputs, axes) == f"test.mix: output {message}"
    assert axes == AXES


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"mode": "fast"}, "setting 'mode' must be 'eager' or 'compiled', got 'fast'"),
        ({"mix": 1}, "setting 'mix' must be float, got 1"),
        ({"mix": "0.5"}, "setting 'mix' must be float, got '0.5'"),
        ({"count": 2.0}, "setting 'count' must be int, got 2.0"),
        ({"count": True}, "setting 'count' must be int, got True"),
        ({"flag": 1}, "setting 'flag' must be bool, got 1"),
    ],
)
def test_settings_that_do_not_fit_are_refused(changes, message):
    assert refusal(MIX.check_inputs, make_inputs(**changes)) == f"test.mix: {message}"


def modules():
    for info in pkgutil.walk_packages(parity.operations.__path__, "parity.operations."):
        yield importlib.import_module(info.name)


def test_the_catalogue_holds_every_operation_of_every_module_once():
    agents = [module for module in modules() if hasattr(module, "__path__")]
    listed = [operation.name for agent in agents for operation in agent.OPERATIONS]
    defined = [
        value.name
        for module in modules()
        for value in vars(module).values()
        if isinstance(value, Operation)
    ]
    assert listed
    assert list(catalogue()) == listed
    assert sorted(set(defined)) == sorted(listed)


@pytest.mark.parametrize("operation", catalogue().values(), ids=lambda o: o.name)
def test_every_operation_is_documented(operation):
    agent, _, computation = operation.name.partition(".")
    assert agent in {"dreamerv3", "tdmpc2", "environments"}
    assert computation.isidentifier()
    assert operation.summary
    assert operation.outputs
    for fields in (operation.inputs, operation.outputs):
        names = [field.name for field in fields]
        assert len(set(names)) == len(names)
        assert all(field.doc and field.name.isidentifier() for field in fields)
    for setting in operation.inputs:
        if isinstance(setting, Setting):
            assert all(isinstance(choice, setting.type) for choice in setting.choices)
    for array in (*operation.inputs, *operation.outputs):
        if isinstance(array, Array):
            assert np.dtype(array.dtype).name == array.dtype
            assert array.noise >= 0
            assert array.floor >= 0
