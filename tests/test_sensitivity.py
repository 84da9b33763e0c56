"""Whether seeded faults are noticed, and by whom."""

import numpy as np
import pytest
from small_registry import (
    OTHER_PIN,
    REGISTRY,
    SMALL,
    SOUND,
    SYMEXP,
    SYMLOG,
    TABLE,
    claim,
    entry,
    symlog,
)

from parity.claims import AtMost
from parity.faults import Fault, load_faults, select
from parity.implementations import InProcess
from parity.registry import Registry, UnknownIdError
from parity.sensitivity import problems, sensitivity


def reference(pin):
    return InProcess(pin, TABLE)


def fault(function=None, *, caught_by=(), operation=SYMLOG, id="F01"):
    function = function or (lambda x, mode: {"y": symlog(x, mode)["y"] * np.float32(1.01)})
    return Fault(id, "a percent too much", "formula", lambda: {operation: function}, caught_by)


def seeded(*faults, registry=REGISTRY, subject=SOUND):
    return sensitivity(faults, registry, subject, reference)


def test_a_caught_fault_shows_who_noticed_and_who_did_not():
    (found,) = seeded(fault(caught_by=("d1/equal",)))
    assert found.cells == {"D1/equal": "caught", "D1/small": "held", "symlog/also": "caught"}
    assert found.caught
    assert problems([found]) == []


def test_a_fault_that_nothing_notices_is_a_problem():
    quiet = fault(operation=SYMEXP)
    unseen = fault(symlog, id="F02")
    found = seeded(quiet, unseen)
    assert [f.caught for f in found] == [False, False]
    first, second = problems(found)
    assert "F01" in first
    assert "none asks" in first
    assert "F02 (a percent too much) is caught by nothing; tried: D1/equal" in second


def test_a_fault_must_be_noticed_by_every_claim_that_it_names():
    (found,) = seeded(fault(caught_by=("D1/equal", "D1/small")))
    assert not found.caught
    assert found.missed == ("D1/small",)
    (problem,) = problems([found])
    assert "must be caught by D1/small, which says: held" in problem


def test_code_that_crashes_is_not_a_fault_that_was_noticed():
    def crashes(x, mode):
        raise NameError("a typing mistake")

    (found,) = seeded(fault(crashes, caught_by=("D1/equal",)))
    assert not found.caught
    (problem,) = problems([found])
    assert "its own code fails" in problem
    assert "a typing mistake" in problem


def test_a_wrong_shape_is_a_fault_that_was_noticed():
    (found,) = seeded(fault(lambda x, mode: {"y": np.zeros(3, np.float32)}))
    assert found.caught


def test_what_is_broken_or_not_measured_already_notices_nothing():
    strict = claim("strict", SMALL.measure, tolerance=AtMost(0.0), about="subject")
    unsound = Registry([entry(strict, claim("equal", operations=(SYMLOG, SYMEXP)))])
    (found,) = seeded(fault(caught_by=("D1/strict",)), registry=unsound)
    assert found.cells == {"D1/strict": "broken anyway", "D1/equal": "caught"}
    assert found.missed == ("D1/strict",)
    (found,) = seeded(fault(), subject=InProcess("nobody", {}))
    assert set(found.cells.values()) == {"not measured"}
    assert not found.caught


def test_noticing_at_one_pin_is_enough():
    def only_one(pin):
        return reference(pin) if pin == OTHER_PIN else InProcess(pin, {})

    (found,) = sensitivity([fault()], REGISTRY, SOUND, only_one)
    assert found.cells["D1/equal"] == "caught"


def test_claims_about_the_reference_alone_are_not_tried():
    theirs = claim("theirs", about="reference")
    (found,) = seeded(fault(), registry=Registry([entry(theirs, claim())]))
    assert list(found.cells) == ["D1/equal"]


def test_a_fault_that_names_an_unknown_claim_is_refused():
    with pytest.raises(UnknownIdError, match=r"F01 .* D1/equl.* did you mean equal"):
        seeded(fault(caught_by=("D1/equl",)))


def test_faults_are_selected_by_id_and_the_nearest_is_suggested():
    faults = [fault(), fault(id="F02")]
    assert [f.id for f in select(faults, ["f02"])] == ["F02"]
    assert len(select(faults, [])) == 2
    with pytest.raises(UnknownIdError, match="F02"):
        select(faults, ["F03"])


def test_registered_faults_name_claims_that_exist():
    from parity.registry import load_registry

    registry = load_registry()
    for found in load_faults():
        assert found.caught_by, f"{found.id} names no claim that must catch it"
        for name in found.caught_by:
            entry_id, _, claim_id = name.partition("/")
            assert registry[entry_id].claim(claim_id)
