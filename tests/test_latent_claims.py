"""What the claims about networks, latent dynamics and acting rest on."""

import numpy as np
import numpy_port_latent
import pytest

from deviations.faults.dreamerv3 import (
    acting,
    imagination,
    latent,
    networks,
    parameters,
    recurrence,
)
from parity.agreements.dreamerv3 import (
    acting as dreamerv3_acting,
)
from parity.agreements.dreamerv3 import (
    imagination as dreamerv3_imagination,
)
from parity.agreements.dreamerv3 import (
    latent as dreamerv3_latent,
)
from parity.agreements.dreamerv3 import (
    latent_cases as dreamerv3_latent_cases,
)
from parity.agreements.dreamerv3 import (
    networks as dreamerv3_networks,
)
from parity.agreements.dreamerv3 import (
    parameters as dreamerv3_parameters,
)
from parity.agreements.dreamerv3.latent_measures import (
    changed,
    count,
    least_probability,
    of_both,
    onehot,
    untouched,
)
from parity.claims import Measurement
from parity.core_subject.dreamerv3 import given
from parity.implementations import InProcess
from parity.operations import catalogue
from parity.references import References
from reference_harness.recordings import FOLDER

ENTRIES = [
    entry
    for module in (
        dreamerv3_networks,
        dreamerv3_parameters,
        dreamerv3_latent,
        dreamerv3_imagination,
        dreamerv3_acting,
    )
    for entry in module.AGREEMENTS
]
FAULTY = (networks, parameters, recurrence, latent, imagination, acting)
DRAWN = {"dreamerv3.observe", "dreamerv3.imagine", "dreamerv3.act", "dreamerv3.straight_through"}
DRAWING = [
    (entry, claim) for entry in ENTRIES for claim in entry.claims if DRAWN & {*claim.operations}
]
IDS = [f"{entry.id}/{claim.id}" for entry, claim in DRAWING]


@pytest.mark.parametrize(("entry", "claim"), DRAWING, ids=IDS)
def test_no_draw_that_a_claim_asks_for_is_decided_by_less_than_its_margin(entry, claim):
    """Each question is asked again with noise that is off by up to half a margin."""
    rng = np.random.default_rng(0)

    class Shaken(InProcess):
        asked = 0

        def answer(self, operation, inputs):
            sound = super().answer(operation, inputs)
            wide = [name for name in inputs if name.endswith("noise")]
            shaken = {
                name: inputs[name]
                + (rng.choice([-0.5, 0.5], inputs[name].shape) * dreamerv3_latent_cases.MARGIN)
                for name in wide
            }
            other = super().answer(operation, {**inputs, **shaken})
            for name in ("classes", "actions", "action", "draw"):
                if name in sound:
                    np.testing.assert_array_equal(other[name], sound[name])
                    Shaken.asked += 1
            return sound

    port = Shaken("shaken", numpy_port_latent.OPERATIONS)
    claim.measure(port, port, claim.cases(entry.rng(claim)))
    assert Shaken.asked


def test_every_claim_about_the_subject_is_broken_by_a_fault_that_names_it():
    named = {name for module in FAULTY for f in module.FAULTS for name in f.caught_by}
    claims = {f"{e.id}/{c.id}" for e in ENTRIES for c in e.claims if c.about != "reference"}
    assert claims <= named


def test_parameters_of_every_operation_are_drawn_and_understood():
    rng = np.random.default_rng(0)
    drawn = dreamerv3_latent_cases.parameters(rng, "dreamerv3.observe")
    assert all(np.all(value != 0) and np.all(value != 1) for value in drawn.values())
    tree = given.parameters(drawn)
    assert sorted(tree) == ["dyn", "enc"]
    config = given.config({**drawn, "stoch": dreamerv3_latent_cases.onehot(rng, 2)})
    assert (config.units, config.hidden, config.deter, config.blocks) == (12, 10, 16, 4)
    assert (config.stoch, config.classes) == (3, 4)


def test_the_recorded_reference_holds_the_padding_column_and_nothing_else_beside_ours():
    with References("recorded", FOLDER) as references:
        for pin in ENTRIES[0].pins:
            sizes = dreamerv3_parameters.CARTPOLE
            theirs = references(pin)("dreamerv3.parameter_counts", **sizes)["numbers"].sum(axis=1)
            assert dict(zip(dreamerv3_parameters.NETWORKS, map(int, theirs), strict=True)) == {
                **{"enc": 8_832, "dyn": 364_160, "dec": 49_796, "rew": 57_728, "con": 41_153},
                **{"actor": 49_666, "critic": 66_176},
            }


def test_changed_sees_one_bit_of_one_value_and_the_sign_of_a_zero():
    before = {"x": np.zeros((3, 2, 2), np.float32), "y": np.zeros((3, 2), np.int64)}
    after = {name: value.copy() for name, value in before.items()}
    after["x"][1, 0, 1] = -0.0
    after["y"][2, 1] = 1
    expected = [[False, False], [True, False], [False, True]]
    np.testing.assert_array_equal(changed(before, after, 2, "x", "y"), expected)


def test_rows_that_must_change_and_rows_that_must_not_are_both_counted():
    def answer(**inputs):
        return {"y": inputs["x"][:, None]}

    def perturb(inputs):
        moved = np.asarray([True, True, False, False])
        other = {"x": np.where(moved, inputs["x"] + 1, inputs["x"])}
        # The first row moves and may not, the third does not and has to.
        return other, np.asarray([True, False, False, True]), np.asarray([False, True, True, False])

    measure = untouched("echo", 1, perturb, "y")
    found = measure(lambda operation, **inputs: answer(**inputs), {"x": np.arange(4.0)})
    assert (found.high, found.compared) == (2, 4)
    assert "1 rows that must not change do" in found.note


def test_figures_of_both_sides_are_kept():
    sides = {"low": Measurement(0.5, 0.6, 3), "high": Measurement(1.0, 1.5, 4)}
    found = of_both(lambda side, inputs: sides[side])("low", "high", {})
    assert (found.low, found.high, found.compared) == (0.5, 1.5, 7)
    sides["low"] = Measurement(np.nan, np.nan, 3)
    assert np.isnan(of_both(lambda side, inputs: sides[side])("low", "high", {}).high)


def test_a_probability_is_measured_against_its_share():
    log_probs = np.log([[0.97, 0.01, 0.02]]).astype(np.float32)
    found = least_probability("any", {"p": 0.01})(lambda operation, **_: {"p": log_probs}, {})
    assert found.low == pytest.approx(1, rel=1e-5)
    assert found.high == pytest.approx(2, rel=1e-5)


def test_a_class_that_is_none_is_all_zeros():
    np.testing.assert_array_equal(onehot(np.asarray([1, 7, -1]), 3), [[0, 1, 0], [0] * 3, [0] * 3])


def test_what_is_wrong_is_named():
    found = count({"apples": [True, False, True], "pears": False}, {"bias": 1, "x": 2}, 4)
    assert (found.low, found.high, found.note) == (2, 2, "2 apples")
    assert found.worst_input == {"x": 2}


def test_every_array_of_the_new_operations_is_documented():
    for name in {
        operation for entry in ENTRIES for c in entry.claims for operation in c.operations
    }:
        signature = catalogue()[name]
        assert all(field.doc for field in (*signature.inputs, *signature.outputs)), name
