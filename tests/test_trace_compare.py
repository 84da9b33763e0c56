"""Step parity: the name map, the comparison of two arrays, and how it is told."""

import dataclasses

import numpy as np
import pytest

from core.dreamerv3.config import Config
from parity.trace import report
from parity.trace.compare import Comparator
from parity.trace.difference import difference, first_divergence
from parity.trace.dreamerv3.conditions import LaPropConditions
from parity.trace.dreamerv3.names import match, translate
from parity.trace.dreamerv3.problem import make_problem
from parity.trace.dreamerv3.quantities import INTERMEDIATES, quantities
from parity.trace.dreamerv3.subject import TracedCore, flatten
from parity.trace.dreamerv3.traced import TracedProblem
from parity.trace.quantity import Quantity
from parity.trace.run import Trace
from parity.trace.sides import NameMapError

CORE = {
    "enc/hidden0/linear/kernel": (4, 8),
    "enc/hidden0/scale": (8,),
    "dyn/core_0/linear/kernel": (4, 28, 4),
    "dyn/gates/bias": (48,),
    "critic/out/kernel": (8, 255),
    "critic/out/bias": (255,),
}


REFERENCE = {
    "agent/enc/mlp0/kernel": (4, 8),
    "agent/enc/mlp0/norm/scale": (8,),
    "agent/dyn/dyn0/kernel": (4, 28, 4),
    "agent/dyn/dyncore/bias": (48,),
    "agent/critic/dist/out/kernel": (8, 256),
    "agent/critic/dist/out/bias": (256,),
}


LEAF = "enc/hidden0/scale"


def comparator(first_update=0):
    return Comparator(LaPropConditions(Config(), first_update), "float32")


def test_the_name_map_is_one_to_one_and_drops_the_padding_alone():
    names = match(CORE, REFERENCE)
    assert names.dropped == 8 + 1
    assert set(names.names.values()) == set(REFERENCE)
    arrays = {name: np.zeros(shape) for name, shape in REFERENCE.items()}
    arrays["agent/critic/dist/out/bias"][-1] = 3
    carried = names.to_core(arrays)
    assert {name: array.shape for name, array in carried.items()} == CORE
    assert carried["critic/out/bias"].max() == 0
    assert names.padding(arrays).tolist() == [3] + [0] * 8


@pytest.mark.parametrize(
    ("core", "reference", "said"),
    [
        ({}, {"agent/enc/mlp0/bias": (8,)}, "nothing in the core is agent/enc/mlp0/bias"),
        ({"enc/hidden0/linear/bias": (8,)}, {}, "which the reference lacks"),
        ({LEAF: (9,)}, {}, "has the shape"),
        ({"dyn/gates/bias": (47,)}, {}, "has the shape"),  # no column of padding there
        ({"enc/hidden0/linear/scale": (8,)}, {}, "no rule says"),
    ],
)
def test_a_leaf_without_its_counterpart_is_named(core, reference, said):
    with pytest.raises(NameMapError, match=said):
        match({**CORE, **core}, {**REFERENCE, **reference})


@pytest.mark.parametrize("kind", ["discrete", "continuous"])
def test_every_parameter_of_the_agent_has_a_name_in_the_reference(kind):
    core = TracedCore(make_problem("1m", kind))
    leaves = flatten(core._shapes.params)
    assert len({translate(name) for name in leaves}) == len(leaves)


def compared(core, exact=1.0, reference=None, allowed=1e-6):
    arrays = [np.asarray(x, np.float64) for x in (core, exact if reference is None else reference)]
    exact = np.broadcast_to(np.asarray(exact, np.float64), arrays[0].shape)
    arrays[1] = np.broadcast_to(arrays[1], arrays[0].shape)
    return difference(Quantity("x"), 0, *arrays, exact, np.asarray(allowed))


def test_a_difference_is_found_where_it_is():
    core = np.ones((2, 3), np.float32)
    assert not compared(core).diverges
    core[1, 2] = np.nextafter(np.float32(1), np.float32(2))
    found = compared(core, allowed=1e-8)
    assert found.diverges
    assert found.place == (1, 2)
    assert (found.ulp, found.different, found.nearer) == (1, 1, "reference")
    assert found.subject_error == pytest.approx(2.0**-23)
    assert not compared(core, allowed=2e-7).diverges


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_diverges_whatever_is_allowed(bad):
    assert compared([1.0, bad], allowed=1e9).diverges
    assert compared([1.0, 1.0], exact=[1.0, bad], allowed=1e9).diverges


def test_a_reference_that_is_far_from_exact_diverges_too():
    names, ones = (Quantity("rewards"),), np.ones(3)
    far = np.array([1, 1.07, 1], np.float32)
    found = comparator().step(
        names, {"rewards": ones.astype(np.float32)}, {"rewards": far}, {"rewards": ones}
    )
    assert found[0].diverges
    assert (found[0].suspect, found[0].nearer, found[0].place) == ("reference", "subject", (1,))
    near = {"rewards": np.nextafter(np.float32(1), far)}
    found = comparator().step(names, near, near, {"rewards": ones})
    assert not found[0].diverges


def test_nothing_compared_is_no_agreement():
    assert compared(np.zeros((0, 3))).diverges


def test_an_exact_zero_must_be_zero():
    assert compared([0.0, 1e-30], exact=0.0, allowed=0.0).diverges
    assert not compared([0.0, 0.0], exact=0.0, allowed=0.0).diverges


def step_of(compared, changes=None, *, exact=None, gradient=0.5):
    """One step of one leaf whose gradient is `gradient`, with `changes` on the core's side."""
    names = [q for q in quantities([LEAF]) if q not in INTERMEDIATES]
    square = 1e-3 * gradient**2 * np.ones(2)
    truth = {
        f"gradient/{LEAF}": gradient * np.ones(2),
        f"second_moment/{LEAF}": square,
        f"momentum/{LEAF}": 0.1 * np.ones(2),
        f"parameter/{LEAF}": np.array([0.25, 0.0]),
        "updates": np.int32(1),
        **(exact or {}),
    }
    near = {name: np.asarray(value, np.float32) for name, value in truth.items()}
    near["updates"] = np.int32(1)
    core = {**near, **{name: np.asarray(value) for name, value in (changes or {}).items()}}
    return compared.step(names, core, near, truth)


def diverging(found):
    return [d.quantity.name for d in found if d.diverges]


def test_a_right_optimiser_step_passes_and_wrong_ones_are_seen():
    def run(changes):
        return diverging(step_of(comparator(first_update=500), changes))

    assert run({}) == []
    assert run({f"gradient/{LEAF}": [0.5, 0.5001]}) == [f"gradient/{LEAF}"]
    assert run({f"second_moment/{LEAF}": [2.5e-4, 2.6e-4]}) == [f"second_moment/{LEAF}"]
    assert run({f"momentum/{LEAF}": [0.1, 0.09]}) == [f"momentum/{LEAF}"]
    # One thousandth of a step of half the size: the parameter tells.
    assert run({f"parameter/{LEAF}": [0.25, 2e-8]}) == [f"parameter/{LEAF}"]
    assert run({"updates": 2}) == ["updates"]


def test_a_quotient_of_noise_by_noise_decides_nothing():
    exact = {f"gradient/{LEAF}": np.array([0.5, 1e-12])}
    exact[f"second_moment/{LEAF}"] = 1e-3 * exact[f"gradient/{LEAF}"] ** 2
    flipped = {f"momentum/{LEAF}": [0.1, -0.1]}
    assert diverging(step_of(comparator(), flipped, exact=exact)) == []
    clear = {f"momentum/{LEAF}": [-0.1, 0.1]}
    assert diverging(step_of(comparator(), clear, exact=exact))


class NoOptimiser:
    """Conditions that nothing is asked of."""

    def measure(self, *about):
        pass


@pytest.mark.parametrize(("off", "diverges"), [(1.2e-6, False), (2e-6, True)])
def test_what_others_are_off_by_is_granted_and_zeros_are_no_others(off, diverges):
    exact = {"gradient/exact": np.ones(1), "gradient/a": np.ones(1), "gradient/b": np.ones(1)}
    exact |= {f"gradient/unreached{i}": np.zeros(1) for i in range(4)}
    near = {name: value * (1 + 4e-7 * name.endswith(("a", "b"))) for name, value in exact.items()}
    subject = {**near, "gradient/exact": np.asarray([1 + off])}
    names = [Quantity(name, "gradient") for name in exact]
    found = Comparator(NoOptimiser(), "float32").step(names, subject, near, exact)
    assert diverging(found) == ["gradient/exact"] * diverges


@pytest.mark.parametrize(("factor", "summand"), [("kernel", "bias"), ("scale", "offset")])
@pytest.mark.parametrize(("off", "diverges"), [(1.5e-8, False), (1e-7, True)])
def test_a_summand_whose_terms_cancel_is_granted_the_error_of_its_factor(
    factor, summand, off, diverges
):
    factor, summand = f"gradient/out/{factor}", f"gradient/out/{summand}"
    exact = {factor: np.ones(3), summand: np.full(1, 1e-9)}
    near = {**exact, factor: np.asarray([1 - 1e-8, 1, 1])}
    subject = {**near, summand: exact[summand] + off}
    names = [Quantity(name, "gradient") for name in exact]
    found = Comparator(NoOptimiser(), "float32").step(names, subject, near, exact)
    assert diverging(found) == [summand] * diverges
    del near[factor], exact[factor]
    alone = Comparator(NoOptimiser(), "float32").step(names[1:], subject, near, exact)
    assert diverging(alone) == [summand]


@pytest.mark.parametrize(("off", "diverges"), [(1.9e-4, False), (2.1e-4, True)])
def test_a_norm_is_granted_the_errors_of_the_gradients_before_it(off, diverges):
    exact = {"gradient/a": np.ones(2), "one": np.sqrt(2), "gradient/b": np.ones(1), "two": 1.0}
    exact = {name: np.asarray(value, np.float64) for name, value in exact.items()}
    near = {**exact, "gradient/a": np.asarray([1 + 3e-5, 1 - 4e-5])}  # 5e-5 in all
    kinds = ("gradient", "norm", "gradient", "norm")
    names = [Quantity(name, kind) for name, kind in zip(exact, kinds, strict=True)]
    subject = {**near, "one": exact["one"] + off}
    found = Comparator(NoOptimiser(), "float32").step(names, subject, near, exact)
    assert diverging(found) == ["one"] * diverges
    subject = {**near, "two": exact["two"] + 1e-6}  # of b alone, which has no error
    found = Comparator(NoOptimiser(), "float32").step(names, subject, near, exact)
    assert diverging(found) == ["two"]


def test_a_missing_or_misshapen_array_diverges():
    found = step_of(comparator(), {f"gradient/{LEAF}": np.zeros((2, 1))})
    assert first_divergence(found).problem == "it has the shape (2, 1), the reference's (2,)"
    compared = comparator()
    names = [Quantity(f"gradient/{LEAF}", "gradient"), Quantity("updates", "count")]
    truth = {name: np.ones(2) for name in ("gradient", "second_moment", "momentum")}
    truth = {f"{name}/{LEAF}": value for name, value in truth.items()} | {"updates": np.int32(1)}
    (found, _) = compared.step(names, {"updates": np.int32(1)}, truth, truth)
    assert found.problem == "there is no such array; the reference's has the shape (2,)"


def made_up(*differences):
    problem = TracedProblem(make_problem("tiny", "discrete"))
    return Trace(problem, "initial", (), tuple(differences), 10, 2, 1, 0, 5)


def test_the_report_explains_its_columns_first_and_calls_a_port_by_its_name():
    one = np.ones(2, np.float32)
    found = difference(Quantity("embed"), 0, one, one, one, np.asarray(0.0))
    left_out = ("deter", "gradient/enc/mlp0/kernel", "gradient/enc/mlp0/bias")
    trace = dataclasses.replace(made_up(found), subject="theirs", not_offered=left_out)
    text = "\n".join(report.lines(trace, "a-pin"))
    assert text.index("largest distance from float64") < text.index("quantity")
    assert "quantity  theirs  reference" in text
    assert "not offered by theirs: deter, gradient (2 arrays)" in text
    assert "nearer to float64: theirs in 0" in text
    assert report.as_json(trace, "a-pin")["not_offered"] == list(left_out)


def test_a_trace_says_what_its_pin_is_known_to_do_otherwise():
    problem = make_problem("tiny", "discrete")
    (known,) = TracedProblem(problem, "dreamerv3-2411f7d").notes
    assert "D36" in known
    assert "previous_actions" in known
    assert not TracedProblem(problem).notes


def test_the_report_names_the_first_divergence_and_its_row():
    core = np.array([[0.0, 0.3]], np.float32)
    quiet = difference(Quantity("embed"), 0, core, core, core, np.asarray(0.0))
    wrong = difference(
        Quantity("rewards", row="D22"), 0, core, np.zeros((1, 2)), np.zeros((1, 2)), np.asarray(0.1)
    )
    later = dataclasses.replace(wrong, quantity=Quantity("values"), step=1)
    text = "\n".join(report.lines(made_up(quiet, wrong, later), "a-pin"))
    assert "FIRST DIVERGENCE: step 1, rewards [0, 1]" in text
    assert "the registered deviation D22 acts here" in text
    assert "nearer to it: the reference" in text
    assert "1 further arrays diverge" in text
    assert "no divergence in 4 numbers" in "\n".join(report.verdict(made_up(quiet, quiet)))
    written = report.as_json(made_up(quiet, wrong), "a-pin")
    assert written["first_divergence"]["quantity"] == "rewards"
