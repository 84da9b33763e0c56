import re
import subprocess
import sys

import pytest

from reference_harness.errors import HarnessError
from reference_harness.pins import LOCKS, PINS, find_pin

LOCK_FILES = sorted(LOCKS.glob("*.txt"))


@pytest.mark.parametrize(
    "text",
    [
        "dreamerv3-29eb964",
        "dreamerv3@29eb964",
        "29eb964",
        "29EB964e29",
        "29eb964e2918a3f4db04086f7f51b60388e97f3d",
        "dreamerv3@29eb964e2918a3f4db04086f7f51b60388e97f3d",
    ],
)
def test_a_pin_is_found_by_name_hash_and_repository_at_hash(text):
    assert find_pin(text).name == "dreamerv3-29eb964"


def test_packages_alone_are_found_by_name():
    assert find_pin("dm_control-1.0.31").short == "1.0.31"


@pytest.mark.parametrize(
    "text",
    [
        *("", "dreamerv3", "29eb96", "tdmpc2-29eb964"),
        "29eb964e2918a3f4db04086f7f51b60388e97f3e",
        "29eb964e2918a3f4db04086f7f51b60388e97f3d0",
    ],
)
def test_what_names_no_pin_is_not_taken_for_one(text):
    with pytest.raises(HarnessError, match="no reference is called"):
        find_pin(text)


def test_an_unknown_name_suggests_the_nearest_and_lists_all():
    with pytest.raises(HarnessError) as caught:
        find_pin("tdmpc2@5f6fad")
    message = str(caught.value)
    assert "did you mean tdmpc2-5f6fade" in message
    assert all(pin.name in message for pin in PINS)


def test_every_pin_names_a_full_hash_and_a_lock_that_exists():
    assert len({pin.name for pin in PINS}) == len(PINS)
    for pin in PINS:
        assert re.fullmatch("[0-9a-f]{40}", pin.commit) or pin.era == "packages"
        assert bool(pin.commit) == (pin.era != "packages")
        assert pin.name == f"{pin.repository}-{pin.short}"
        assert pin.lock_path in LOCK_FILES


@pytest.mark.parametrize("lock", LOCK_FILES, ids=lambda path: path.stem)
def test_a_lock_names_no_address_and_no_folder(lock):
    for text in (lock.read_text(), lock.with_suffix(".in").read_text()):
        for forbidden in ("://", "/root", "/home", "/opt", "--find-links", "index-url", " @ "):
            assert forbidden not in text


@pytest.mark.parametrize("lock", LOCK_FILES, ids=lambda path: path.stem)
def test_a_lock_pins_every_package_exactly_and_holds_what_was_asked_for(lock):
    lines = [line for line in lock.read_text().splitlines() if line and line.strip()[0] != "#"]
    pinned = {}
    for line in lines:
        name, version = re.fullmatch(r"([a-z0-9-]+)==([0-9a-z.]+)(?: ; .+)?", line).groups()
        pinned.setdefault(name, set()).add(version)
    for line in lock.with_suffix(".in").read_text().split():
        name, exact, version = line.partition("==")
        name = re.split("[<>=]", name)[0].replace(".", "-").replace("_", "-")
        assert name in pinned
        if exact:
            assert pinned[name] == {version}


@pytest.mark.parametrize("lock", LOCK_FILES, ids=lambda path: path.stem)
def test_a_lock_brings_nothing_for_a_gpu(lock):
    assert not re.search("^(nvidia|cuda|triton|jax-cuda)", lock.read_text(), re.MULTILINE)


def test_pins_can_be_read_without_loading_anything_heavy():
    code = "import sys; import reference_harness.pins; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "jax", "filelock", "platformdirs", "uv", "rich", "subprocess"}
