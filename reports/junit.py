"""Records as JUnit XML, which continuous-integration services show test by test."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Iterator
from xml.etree import ElementTree as ET

from reports.lines import NO_CLAIM, short_pin, visible
from reports.records import ClaimRecord, EntryRecord


def document(records: Iterable[EntryRecord]) -> bytes:
    """One test suite per entry, one test case per claim and pin.

    BROKEN is a failure and NOT MEASURED is skipped, so that neither passes for a success.
    """
    root = ET.Element("testsuites", name="parity")
    for record in records:
        root.append(_suite(record))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, 0)) for suite in root)))
    root.set("time", f"{sum(float(suite.get('time', 0)) for suite in root):.3f}")
    ET.indent(root)
    return ET.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"


def _suite(record: EntryRecord) -> ET.Element:
    suite = ET.Element("testsuite", name=visible(record.entry))
    suite.extend(_cases(record))
    suite.set("tests", str(len(suite)))
    suite.set("failures", str(len(suite.findall("testcase/failure"))))
    suite.set("errors", "0")
    suite.set("skipped", str(len(suite.findall("testcase/skipped"))))
    suite.set("time", f"{sum(claim.seconds for claim in record.claims):.3f}")
    suite.set("timestamp", visible(record.provenance.created))
    return suite


def _cases(record: EntryRecord) -> Iterator[ET.Element]:
    twins = collections.Counter((claim.claim, claim.pin) for claim in record.claims)
    for claim in record.claims:
        name = f"{claim.claim}@{short_pin(claim.pin)}" if claim.pin else claim.claim
        if twins[claim.claim, claim.pin] > 1:
            name += f" ({claim.source})"
        case = ET.Element("testcase", classname=visible(record.entry), name=visible(name))
        case.set("time", f"{claim.seconds:.3f}")
        _add_outcome(case, claim)
        yield case
    if not record.claims:
        case = ET.Element(
            "testcase", classname=visible(record.entry), name="no claim", time="0.000"
        )
        ET.SubElement(case, "skipped", message=f"NOT MEASURED: {NO_CLAIM}")
        yield case


def _add_outcome(case: ET.Element, claim: ClaimRecord) -> None:
    if claim.verdict == "NOT MEASURED":
        ET.SubElement(case, "skipped", message=visible(f"NOT MEASURED: {claim.why}"))
    if claim.verdict == "BROKEN":
        message = f"measured {claim.measured or 'nothing'}, tolerance {claim.tolerance}"
        failure = ET.SubElement(case, "failure", type="BROKEN", message=visible(message))
        failure.text = visible("\n".join(_details(claim)))
    if claim.stated and claim.stated.agrees is False:
        text = f"stated {claim.stated.text}: contradicted, measured {claim.measured} {claim.unit}"
        ET.SubElement(case, "system-out").text = visible(text.rstrip())


def _details(claim: ClaimRecord) -> Iterator[str]:
    yield claim.statement
    yield f"tolerance: {claim.tolerance} ({claim.reason})"
    yield f"measured: {claim.measured or 'nothing'} {claim.unit}".rstrip()
    if claim.least:
        yield f"least tolerance that would pass: {claim.least}"
    if claim.why:
        yield f"why: {claim.why}"
    if claim.note:
        yield f"note: {claim.note}"
    for name, value in claim.worst_input.items():
        yield f"worst input {name} = {value}"
