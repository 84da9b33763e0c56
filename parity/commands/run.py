"""`parity run`."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from parity import parallel, progress, registry, subjects
from parity.commands import counts, options
from parity.references import References, Stale
from parity.results import Results
from parity.runner import places
from reports.lines import short_pin
from reports.records import EntryRecord


def run(
    *entry: str,
    deviation: options.Ids = None,
    agreement: options.Ids = None,
    pin: options.Ids = None,
    live: options.Flag = False,
    strict: options.Flag = False,
    subject: str = subjects.CORE,
    subject_python: Annotated[Path | None, Parameter(show_default=False)] = None,
    results: Path = options.RESULTS,
    recordings: Annotated[Path | None, Parameter(show_default=False)] = None,
    save_inputs: Annotated[Path | None, Parameter(show_default=False)] = None,
    jobs: counts.OptionalCount = None,
    json: options.Flag = False,
    quiet: options.Flag = False,
) -> int:
    """Measure claims, and say which hold.

    Without ids, all entries are measured. The exit status is 0 if
    all that was measured holds, 1 if something is broken or a recording has gone stale, 2 if
    the claims could not be measured.

    Example: parity run --deviation D22 D23 --live

    Args:
        entry: Ids of deviations or agreements to measure, e.g. D22 rms-norm.
        deviation: The rows of the deviation table to measure, e.g. D22 D23.
        agreement: The agreements to measure.
        pin: Measure at these pins of the references only, e.g. dreamerv3-29eb964.
        live: Ask the installed references, instead of what was recorded of them.
        strict: Fail on what was not measured, too.
        subject: What is audited: core, a module, or a .py file with a dictionary OPERATIONS.
        subject_python: The interpreter of the environment that the subject needs.
        results: The folder for the records, junit.xml and deviations.md.
        recordings: A folder of recordings to use instead of the embedded one.
        save_inputs: A folder for the inputs on which each broken claim is worst, with both
            answers and the operation's name, as .npz.
        jobs: How many processes measure; by default one for each core, if there is enough to
            measure, and one where references are asked live.
        json: Print the records, and nothing else.
        quiet: Print only the counts, and where the results are.
    """
    listed = registry.load_registry()
    entries = options.entries(listed, deviation, agreement, entry)
    pins = options.pins(listed, pin)
    source = "live" if live else "recorded"
    folder = options.recordings_folder(recordings)
    kept = Results(results, listed)
    measuring = parallel.Measuring(subject, subject_python, source, folder, save_inputs, pins)
    work = sum(len(places(entry, pins)) for entry in entries)
    processes = jobs or parallel.suggested(work, parallel.MEASUREMENTS_WORTH_ONE, source)
    records: list[EntryRecord] = []

    def finished(record: EntryRecord) -> None:
        kept.add(record)
        records.append(record)

    with (
        subjects.opened(subject, subject_python) as implementation,
        References(source, folder) as references,
        progress.shown(quiet=quiet) as told,
    ):
        kept.check(entries, implementation.name)
        try:
            if processes > 1:
                beside = parallel.run(measuring, entries, processes, told, finished)
            else:
                beside = measuring.measure(entries, implementation, references, told, finished)
        except BaseException as error:
            if records:  # so that the documents say what the records do
                kept.write_documents(records)
            if isinstance(error, KeyboardInterrupt):
                done = f"{len(records)} of {len(entries)} records are in {kept.records}"
                raise KeyboardInterrupt(f"interrupted; {done}") from None
            raise
    if not records:
        raise options.UsageError(
            f"none of the chosen entries is measured at {', '.join(pins)}; "
            f"`parity show ENTRY` names an entry's pins"
        )
    chosen = [entry.id for entry in entries]
    records.sort(key=lambda record: chosen.index(record.entry))
    kept.write_documents(records)
    links = {e.id: [(short_pin(s.pin), s.url) for s in e.sources if s.url] for e in entries}
    _print(records, beside.stale, kept, links, json=json, quiet=quiet)
    if beside.written:
        print(
            f"{len(beside.written)} inputs of broken claims in {save_inputs}",
            file=sys.stderr if json else sys.stdout,
        )
    return exit_status(records, beside.stale, strict=strict)


def exit_status(records: Sequence[EntryRecord], stale: Sequence[Stale], *, strict: bool) -> int:
    """1 if a claim is broken, a recording stale, or, if strict, something not measured."""
    verdicts = {claim.verdict for record in records for claim in record.claims}
    unmeasured = "NOT MEASURED" in verdicts or not all(record.claims for record in records)
    return int("BROKEN" in verdicts or bool(stale) or (strict and unmeasured))


def _print(
    records: Sequence[EntryRecord],
    stale: Sequence[Stale],
    kept: Results,
    links: Mapping[str, Sequence[tuple[str, str]]],
    *,
    json: bool,
    quiet: bool,
) -> None:
    if json:
        import msgspec

        sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(records), indent=2))
        sys.stdout.buffer.write(b"\n")
    else:
        from rich.console import Console

        from reports.terminal import print_counts, print_summary

        if quiet:
            print_counts(Console(), records)
        else:
            print_summary(Console(), records, links)
    report = sys.stderr if json else sys.stdout
    options.print_stale(stale, report)
    if kept.outlived:
        print(
            f"Kept in {kept.records}, as measured earlier: {', '.join(kept.outlived)} "
            f"({'; '.join(dict.fromkeys(kept.outlived.values()))})",
            file=report,
        )
    print(f"Records in {kept.records}, {kept.junit}, {kept.document}", file=report)
