"""The README shows what the tool prints."""

import io
import re
from pathlib import Path

import pytest
from rich.console import Console

from parity.registry import load_registry
from reports.records import read_folder
from reports.terminal import print_summary

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text("utf-8")
WIDTH = 98


def test_the_output_in_the_readme_is_what_the_published_records_print():
    record = read_folder(ROOT / "reports" / "records")["D23"]
    buffer = io.StringIO()
    print_summary(Console(file=buffer, width=WIDTH, no_color=True), [record])
    printed = "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()).strip()
    assert printed in README, f"put this into README.md:\n{printed}"


@pytest.mark.parametrize("link", re.findall(r"\]\((?!https?:)([^)#]+)\)", README))
def test_every_file_that_the_readme_links_exists(link):
    assert (ROOT / link).exists()


def test_every_row_that_the_readme_calls_complete_has_claims():
    registry = load_registry()
    assert all(registry[row].claims for row in ("D6", "D22", "D23", "D26", "D27"))
    assert sum(not entry.claims for entry in registry) == 25
