import json

import pytest
from report_samples import APRIL, PAPER, claim, d22, entry

from reports import records
from reports.records import EntryRecord, RecordError, number

# On disk.


def test_a_record_survives_being_written_and_read(tmp_path):
    path = records.write_entry(tmp_path, d22())
    assert records.read_entry(path) == d22()
    assert records.read_folder(tmp_path) == {"D22": d22()}


@pytest.mark.parametrize("value", [float("inf"), float("-inf"), float("nan"), 1.5, -0.0])
def test_every_float_survives_as_a_number(tmp_path, value):
    broken = entry("D22", claim("a", "BROKEN", low=number(value), high=number(value)))
    read = records.read_entry(records.write_entry(tmp_path, broken)).claims[0].high
    assert repr(float(read)) == repr(value)


def test_a_bare_infinity_is_refused_before_json_loses_it():
    with pytest.raises(ValueError, match="high is inf, which JSON lacks"):
        claim("a", "BROKEN", high=float("inf"))


def edited(path, **changes) -> None:
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:200]), "truncated"),
        (lambda path: path.write_bytes(b"[]"), "object"),
        (lambda path: path.write_bytes(b"\xff\xfe"), "malformed"),
        (lambda path: path.write_bytes(b'{"schema_version": ' + b"[" * 100_000), "recursion"),
        (lambda path: edited(path, mood="sunny"), "mood"),
        (lambda path: edited(path, schema_version=2), "schema version 2, this program reads 1"),
        (lambda path: edited(path, schema_version=None), "schema version None"),
        (lambda path: edited(path, claims=[{"claim": "a"}]), "statement"),
    ],
    ids=["cut", "list", "bytes", "deep", "unknown-field", "newer", "unversioned", "missing-field"],
)
def test_a_damaged_record_is_refused_by_name_with_a_way_out(tmp_path, damage, message):
    path = records.write_entry(tmp_path, d22())
    damage(path)
    with pytest.raises(RecordError) as caught:
        records.read_folder(tmp_path)
    assert str(path) in str(caught.value)
    assert message in str(caught.value)
    assert "delete it and run the probe again" in str(caught.value)


@pytest.mark.parametrize(
    ("verdict", "changes"), [("HOLDS", {"compared": 0}), ("NOT MEASURED", {"why": ""})]
)
def test_a_record_can_not_say_more_than_was_measured(tmp_path, verdict, changes):
    with pytest.raises(ValueError, match=verdict):
        claim("a", verdict, **changes)
    path = records.write_entry(tmp_path, entry("D22", claim("a", verdict)))
    document = json.loads(path.read_text())
    document["claims"][0] |= changes
    path.write_text(json.dumps(document))
    with pytest.raises(RecordError, match=verdict):
        records.read_entry(path)


def test_two_records_of_one_entry_are_refused(tmp_path):
    path = records.write_entry(tmp_path, d22())
    (tmp_path / "copy.json").write_bytes(path.read_bytes())
    with pytest.raises(RecordError, match=r"D22\.json and .*copy\.json are both records of D22"):
        records.read_folder(tmp_path)


@pytest.mark.parametrize("step", ["replace", "fsync"])
def test_a_failed_write_leaves_the_old_record_and_nothing_else(tmp_path, monkeypatch, step):
    path = records.write_entry(tmp_path, d22())

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(records.os, step, fail)
    with pytest.raises(OSError, match="no space left"):
        records.write_entry(tmp_path, entry("D22"))
    assert records.read_entry(path) == d22()
    assert list(tmp_path.iterdir()) == [path]


def test_the_committed_schema_is_up_to_date(tmp_path):
    records.validate_schema()
    (tmp_path / "stale.json").write_text("{}")
    for path in (tmp_path / "stale.json", tmp_path / "absent.json"):
        with pytest.raises(RecordError, match=r"parity schema > reports/records\.schema\.json"):
            records.validate_schema(path)


# Merging.


def keys(record: EntryRecord) -> list[tuple[str, str]]:
    return [(claim.claim, claim.verdict) for claim in record.claims]


def test_merging_replaces_the_same_pin_and_source_and_keeps_the_others():
    older = entry(
        "D22",
        claim("a", "BROKEN"),
        claim("a", pin=APRIL),
        claim("a", source="live"),
        claim("b"),
        created="2026-01-01T00:00:00+00:00",
    )
    merged = entry("D22", claim("a")).merged_into(older)
    assert [c.key for c in merged.claims] == [
        ("a", PAPER, "live"),
        ("a", PAPER, "recorded"),
        ("a", APRIL, "recorded"),
        ("b", PAPER, "recorded"),
    ]
    assert merged.claims[1].verdict == "HOLDS"
    assert merged.claims[1].provenance is None
    # What was measured earlier does not pass for measured now.
    assert {c.provenance.created for c in merged.claims if c.provenance} == {
        "2026-01-01T00:00:00+00:00"
    }


def test_merging_drops_an_older_claim_that_was_not_measured_and_now_is():
    older = entry("D22", claim("a", "NOT MEASURED", source="live"), claim("b", "NOT MEASURED"))
    merged = entry("D22", claim("a")).merged_into(older)
    assert keys(merged) == [("a", "HOLDS"), ("b", "NOT MEASURED")]


def test_what_can_not_be_measured_here_leaves_what_was_measured_elsewhere():
    here = {"verdict": "NOT MEASURED", "why": f"{records.NOT_HERE}there is no GPU"}
    older = entry(
        "D22", claim("a"), claim("b", "BROKEN"), claim("c"), claim("d", "NOT MEASURED"), created="x"
    )
    fresh = entry(
        "D22",
        claim("a", **here),
        claim("b", **here),
        claim("c", "NOT MEASURED"),  # for another reason
        claim("d", **here),
    )
    merged = fresh.merged_into(older)
    expected = [("a", "HOLDS"), ("b", "BROKEN"), ("c", "NOT MEASURED"), ("d", "NOT MEASURED")]
    assert keys(merged) == expected
    assert [c.provenance.created for c in merged.claims if c.provenance] == ["x", "x"]
    assert merged.claims[3].why == here["why"]


@pytest.mark.parametrize(
    "changed", [{"tolerance": "≤ 2"}, {"statement": "Another."}, {"source": "live"}]
)
def test_a_claim_that_has_changed_is_not_measured_by_its_older_outcome(changed):
    here = {"verdict": "NOT MEASURED", "why": f"{records.NOT_HERE}there is no GPU"}
    merged = entry("D22", claim("a", **here, **changed)).merged_into(entry("D22", claim("a")))
    assert ("a", "NOT MEASURED") in keys(merged)


def test_merging_drops_claims_that_the_registry_no_longer_has_and_keeps_its_order():
    older = entry("D22", claim("a"), claim("renamed"), claim("z"))
    merged = entry("D22", claim("m")).merged_into(older, registered=["z", "m", "a"])
    assert [claim.claim for claim in merged.claims] == ["z", "m", "a"]


def test_records_of_another_subject_are_not_merged():
    older = entry("D22", claim("a"), subject="a port")
    assert entry("D22", claim("b")).merged_into(older) == entry("D22", claim("b"))
