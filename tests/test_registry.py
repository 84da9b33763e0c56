"""The registry: finding entries and claims by name, and always drawing the same cases."""

import dataclasses
import importlib.metadata
import types

import numpy as np
import pytest

from parity.claims import AtMost, Measurement
from parity.registry import (
    ENTRY_GROUP,
    Claim,
    Entry,
    Registry,
    Source,
    UnknownIdError,
    load_registry,
)


def make_claim(claim_id):
    return Claim(
        id=claim_id,
        statement="Nothing differs.",
        tolerance=AtMost(0),
        reason="Nothing may differ.",
        operations=(),
        cases=lambda rng: {"x": rng.random(3)},
        measure=lambda subject, reference, inputs: Measurement(0, 0, 1),
    )


def make_entry(entry_id, kind="deviation", claims=()):
    return Entry(
        id=entry_id,
        agent="DreamerV3",
        kind=kind,
        title="A title",
        reference="One thing.",
        subject="Another.",
        consequence="None.",
        claims=tuple(map(make_claim, claims)),
    )


D22 = make_entry("D22", claims=("bins", "decode"))
T24 = make_entry("T24")
SYMLOG = make_entry("symlog", kind="agreement")
REGISTRY = Registry([D22, T24, SYMLOG])


def test_entries_are_found_in_any_case_and_kept_in_order():
    assert REGISTRY["d22"] is REGISTRY["D22"] is D22
    assert list(REGISTRY) == [D22, T24, SYMLOG]
    assert len(REGISTRY) == 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ("D2", "no entry is called 'D2'; did you mean D22?"),
        ("simlog", "no entry is called 'simlog'; did you mean symlog?"),
        ("QQQ", "no entry is called 'QQQ'; `parity list` has all"),
    ],
)
def test_an_unknown_entry_suggests_the_nearest(wrong, message):
    with pytest.raises(UnknownIdError) as error:
        REGISTRY[wrong]
    assert str(error.value) == message


def test_an_unknown_claim_suggests_the_nearest_of_its_entry():
    assert D22.claim("decode").id == "decode"
    with pytest.raises(UnknownIdError, match=r"no claim of D22 is called 'decod'; .* decode\?$"):
        D22.claim("decod")
    with pytest.raises(UnknownIdError, match=r"no claim of T24 is called 'decode'$"):
        T24.claim("decode")


def test_two_entries_of_one_id_are_refused():
    with pytest.raises(ValueError, match="two entries are called d22"):
        Registry([D22, dataclasses.replace(D22, id="d22")])


def test_two_claims_of_one_id_are_refused():
    with pytest.raises(ValueError, match="two claims of D22 have the same id"):
        Registry([make_entry("D22", claims=("bins", "bins"))])


def test_select_by_kind_and_id():
    assert REGISTRY.select() == (D22, T24, SYMLOG)
    assert REGISTRY.select(kind="agreement") == (SYMLOG,)
    assert REGISTRY.select(["t24", "D22", "T24"]) == (T24, D22)
    assert REGISTRY.select(["T24"], kind="deviation") == (T24,)
    assert Registry([]).select() == ()


def test_select_says_what_is_wrong_with_an_id():
    with pytest.raises(UnknownIdError, match=r"^symlog is of the kind agreement, not deviation$"):
        REGISTRY.select(["T24", "symlog"], kind="deviation")
    with pytest.raises(UnknownIdError, match="no entry is called 'T25'; did you mean T24"):
        REGISTRY.select(["D22", "T25"])


def test_a_claim_always_draws_the_same_cases():
    # The recordings answer the questions of this stream: if it moves, all of them are void.
    # python -c "import numpy, zlib;
    #   print(numpy.random.default_rng(zlib.crc32(b'D22/decode')).random(2).tolist())"
    golden = [0.707663305029035, 0.45946677508460787]
    claim = D22.claim("decode")
    np.testing.assert_array_equal(D22.rng(claim).random(2), golden)
    np.testing.assert_array_equal(claim.cases(D22.rng(claim))["x"][:2], golden)


def test_claims_draw_apart_from_each_other():
    draws = [D22.rng(claim).random() for claim in D22.claims]
    renamed = dataclasses.replace(D22, id="D23")
    draws += [renamed.rng(claim).random() for claim in renamed.claims]
    assert len(set(draws)) == 4


@dataclasses.dataclass
class Point:
    """An entry point that needs no installed distribution."""

    name: str
    entries: tuple
    dist: types.SimpleNamespace | None = None

    def load(self):
        return self.entries


@pytest.fixture
def install(monkeypatch):
    def entry_points(*points):
        def find(*, group):
            return points if group == ENTRY_GROUP else ()

        monkeypatch.setattr(importlib.metadata, "entry_points", find)

    return entry_points


def test_every_distribution_adds_its_entries_after_the_deviations(install):
    port = make_entry("mine")
    install(Point("port", (port,)), Point("agreements", (SYMLOG,)), Point("deviations", (D22,)))
    assert list(load_registry()) == [D22, SYMLOG, port]


def test_what_another_distribution_registers_is_known_as_a_guest(install):
    ours, theirs = (types.SimpleNamespace(name=n) for n in ("world-model-parity", "theirs"))
    points = Point("deviations", (D22,), ours), Point("port", (make_entry("mine"),), theirs)
    install(*points)
    assert load_registry().guests == {"mine"}


def test_a_source_is_an_address_at_its_commit():
    source = Source("dreamerv3-29eb964", "dreamerv3/nets.py", "467-476")
    assert source.url == (
        "https://github.com/danijar/dreamerv3/blob/29eb964e2918a3f4db04086f7f51b60388e97f3d/"
        "dreamerv3/nets.py#L467-L476"
    )
    assert dataclasses.replace(source, lines="85-97, 191-194").url.endswith("nets.py#L85-L97")
    assert dataclasses.replace(source, lines="12").url.endswith("nets.py#L12")
    assert dataclasses.replace(source, pin="theirs-1234567").url == ""


def test_a_distribution_cannot_take_an_id(install):
    install(Point("deviations", (D22,)), Point("port", (make_entry("d22"),)))
    with pytest.raises(ValueError, match="two entries are called d22"):
        load_registry()


def test_a_claim_is_measured_at_its_own_pins_which_are_its_entry_s():
    some = dataclasses.replace(make_claim("some"), pins=("b",))
    row = dataclasses.replace(D22, pins=("a", "b"), claims=(make_claim("all"), some))
    Registry([row])
    assert [row.pins_of(one) for one in row.claims] == [("a", "b"), ("b",)]
    foreign = dataclasses.replace(row, claims=(dataclasses.replace(some, pins=("c",)),))
    with pytest.raises(ValueError, match="D22/some is measured at c"):
        Registry([foreign])
