"""Learning curves: what is read from a log, and what is drawn."""

import json
import os
import subprocess
import sys

import pytest

from reports import curves


def write_log(folder, entries, tail=""):
    folder.mkdir()
    (folder / "metrics.jsonl").write_text("".join(json.dumps(e) + "\n" for e in entries) + tail)
    return folder


def entry(rows, seed, value):
    return {"rows": rows, "seed": seed, "episode/return": value, "train/opt_loss": 1.5}


def test_a_run_is_read_seed_by_seed_without_empty_windows_and_half_lines(tmp_path):
    entries = [entry(100, 1, 3.0), entry(100, 0, None), entry(200, 0, 5.0), entry(200, 1, 4.0)]
    run = write_log(tmp_path / "run", entries, tail='{"rows": 300, "se')
    first, second = curves.read_curves(run)
    assert first.run == second.run == str(run)  # folders of one name are not one run
    assert (first.seed, first.rows, first.values) == (0, [200], [5.0])
    assert (second.seed, second.rows, second.values) == (1, [100, 200], [3.0, 4.0])


@pytest.mark.parametrize(
    "line",
    [b"\xff", b'{"rows": Infinity, "seed": 0}', b'{"rows": 1, "seed": true}', b"[]", b"[" * 99_999],
    ids=repr,
)
def test_a_damaged_line_is_named(tmp_path, line):
    run = write_log(tmp_path / "run", [entry(1, 0, 1.0)])
    with (run / "metrics.jsonl").open("ab") as file:
        file.write(line + b"\n")
    with pytest.raises(curves.CurvesError, match="line 2, is no entry of a log; take that line"):
        curves.read_curves(run)


def test_a_number_that_no_float_holds_is_no_value(tmp_path):
    run = write_log(tmp_path / "run", [entry(1, 0, 10**400), entry(2, 0, 3)])
    assert curves.read_curves(run) == [curves.Curve(str(run), 0, [2], [3.0])]


def test_a_reader_that_has_enough_sees_no_complaint(tmp_path):
    run = write_log(tmp_path / "run", [entry(1, 0, 1.0)])
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "reports.curves", str(run)]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, b"")
    assert (run / "curves.svg").exists()


def test_a_run_that_is_named_twice_counts_once(tmp_path, capsys):
    run = write_log(tmp_path / "run", [entry(1, 0, 1.0)])
    curves.main((run, run))
    assert capsys.readouterr().out.count("seed 0") == 1


def test_the_mean_is_over_rows_that_all_seeds_have():
    seeds = [curves.Curve("run", 0, [1, 2], [2.0, 4.0]), curves.Curve("run", 1, [2, 3], [8.0, 9.0])]
    assert curves._mean(seeds) == ([2], [6.0])


def test_the_picture_is_the_same_whenever_it_is_drawn(tmp_path):
    drawn = [curves.Curve("run", 0, [1, 2], [2.0, 4.0])]
    for name in ("a.svg", "b.svg"):
        curves.draw_curves(drawn, tmp_path / name)
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()
    assert b"<svg" in (tmp_path / "a.svg").read_bytes()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: path / "absent", r"absent.*can not be read"),
        (lambda path: write_log(path / "run", [entry(1, 0, None)]), "it has train/opt_loss"),
        (lambda path: write_log(path / "run", [{"seed": 0}, entry(1, 0, 1.0)]), "line 1, is no"),
    ],
)
def test_what_can_not_be_read_is_said(tmp_path, make, message):
    with pytest.raises(curves.CurvesError, match=message):
        curves.read_curves(make(tmp_path))


def test_other_pictures_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(curves.CurvesError, match=r"must end in .svg or .png"):
        curves.draw_curves([], tmp_path / "curves.pdf")
    assert not list(tmp_path.iterdir())
