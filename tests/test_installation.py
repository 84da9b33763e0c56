import errno
import shutil
import subprocess
import sys
import threading

import pytest
from toy_reference import isolate, make_pin, make_repository, make_wheel, needs_git

from reference_harness import checkout, git, home, installation, packages
from reference_harness.errors import HarnessError

pytestmark = needs_git

# Installs in a process that ends, as if killed, at the given call of a step.
KILLED = """
import os, sys
from reference_harness import home, installation
from reference_harness.pins import Pin
step, counter, when = sys.argv[1].split()
stock, calls = getattr(home, step), []
def dying(*arguments):
    calls.append(arguments)
    if len(calls) == int(counter):
        if when == "after":
            stock(*arguments)
        os._exit(9)
    return stock(*arguments)
setattr(home, step, dying)
installation.install(eval(sys.argv[2]), source=sys.argv[3])
"""


@pytest.fixture
def source(tmp_path, monkeypatch):
    isolate(monkeypatch, tmp_path)
    return tmp_path / "source"


@pytest.fixture
def pin(source, tmp_path):
    return make_pin(make_repository(source), tmp_path / "toy-lock.txt")


@pytest.fixture
def pin_with_package(pin, tmp_path):
    make_wheel(tmp_path, "toydep", "1.0")
    pin.lock_path.write_text("toydep==1.0  # a comment\n")
    return pin


def install(pin, source=None, **options):
    said = []
    found = installation.install(pin, source=source, report=said.append, **options)
    return found, said


def edit(path, text):
    path.chmod(0o644)
    path.write_text(text)


def test_what_was_installed_is_found_and_whole(pin, source):
    assert installation.find(pin) is None
    found, _ = install(pin, source)
    assert installation.find(pin) == found
    assert found.import_path == found.tree
    assert installation.verify(pin) == []
    assert not list(found.tree.rglob("__pycache__"))


def test_a_second_installation_changes_nothing_and_says_so(pin_with_package, source):
    found, _ = install(pin_with_package, source)
    watched = [found.python, found.tree, *found.tree.parent.parent.glob("*.json")]

    def state():
        return [(path.lstat().st_ino, path.lstat().st_mtime_ns) for path in watched]

    before = state()
    again, said = install(pin_with_package)
    assert again == found
    assert state() == before
    assert said == [f"{pin_with_package.name}: already installed in {found.tree}"]


@pytest.mark.parametrize(
    "where",
    [
        *("publish 1 before", "publish 1 after"),  # the tree
        *("publish 2 before", "publish 2 after"),  # the environment
        "write_json 3 before",  # the record
    ],
)
def test_a_killed_installation_is_not_found_and_is_finished_by_the_next(pin, source, where):
    done = subprocess.run(
        [sys.executable, "-c", KILLED, where, repr(pin), str(source)], capture_output=True
    )
    assert done.returncode == 9, done.stderr.decode()
    assert installation.find(pin) is None
    found, _ = install(pin, source)
    assert installation.verify(pin) == []
    for folder in (home.environments_folder(), home.reference_folder(pin.name)):
        assert [path.name for path in folder.iterdir() if path.name.startswith(".")] == []
    assert installation.find(pin) == found


@pytest.mark.parametrize("command", [installation.install, installation.remove])
def test_what_a_child_wrote_after_its_parent_was_killed_is_swept_away(pin, source, command):
    found, _ = install(pin, source)
    environment = found.python.parent.parent
    leftover = environment.with_name(f".{environment.name}.staging-12345678")
    leftover.mkdir()
    command(pin, report=lambda _: None)
    assert not leftover.exists()


def test_two_at_once_wait_for_each_other(pin, source):
    said, waiting = [], threading.Event()

    def report(text):
        said.append(text)
        if "another process" in text:
            waiting.set()
        if "building" in text:
            assert waiting.wait(timeout=30)

    def run():
        installation.install(pin, source=source, report=report)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum("building" in text for text in said) == 1
    assert said[-1].startswith(f"{pin.name}: already installed")
    assert installation.verify(pin) == []


def test_an_edited_file_is_found_and_repaired_from_where_it_came(pin, source):
    found, _ = install(pin, source)
    edit(found.tree / "toy/model.py", "from toy import VALUE as V\n")
    (problem,) = installation.verify(pin)
    assert "changed: toy/model.py" in str(problem)
    again, said = install(pin)  # the pin's own address leads nowhere
    assert again == found
    assert not said[-1].startswith(f"{pin.name}: already")
    assert installation.verify(pin) == []


@pytest.mark.parametrize(
    ("damage", "told"),
    [
        (lambda site: shutil.rmtree(site / "toydep-1.0.dist-info"), "toydep 1.0 is missing"),
        (lambda site: edit(site / "toydep.py", "VERSION = '9.9'\n"), "toydep.py"),
        (lambda site: (site / "sitecustomize.py").touch(), "sitecustomize.py"),
        (
            lambda site: edit(site / "toydep-1.0.dist-info/METADATA", "Name: toydep\nVersion: 2\n"),
            "toydep is 2, and the lock says 1.0",
        ),
    ],
    ids=["uninstalled", "edited", "added", "another version"],
)
def test_a_changed_environment_is_found_and_built_again(pin_with_package, source, damage, told):
    pin = pin_with_package
    found, _ = install(pin, source)
    (site,) = found.python.parent.parent.glob("lib/*/site-packages")
    damage(site)
    assert told in "\n".join(map(str, installation.verify(pin)))
    install(pin)
    assert installation.verify(pin) == []


def test_a_python_that_is_gone_is_found_and_replaced(pin, source):
    found, _ = install(pin, source)
    found.python.unlink()
    assert installation.find(pin) is None
    assert "lost its Python" in str(installation.verify(pin)[0])
    install(pin)
    assert installation.verify(pin) == []


def test_an_installation_of_another_lock_does_not_count_and_leaves_with_the_next(pin, source):
    old, _ = install(pin, source)
    make_wheel(pin.lock_path.parent, "toydep", "1.0")
    pin.lock_path.write_text("toydep==1.0\n")
    assert installation.find(pin) is None
    assert "another lock" in str(installation.verify(pin)[0])
    new, _ = install(pin)
    assert new.python != old.python
    assert not old.python.exists()


def test_comments_in_a_lock_do_not_count(pin, source):
    install(pin, source)
    pin.lock_path.write_text("# a comment\n\n")
    assert installation.find(pin) is not None


def test_pins_with_one_lock_share_an_environment_until_the_last_is_removed(pin, source):
    twin = make_pin(pin.commit, pin.lock_path, name="toy-twin")
    first, _ = install(pin, source)
    second, _ = install(twin, source)
    assert first.python == second.python
    assert installation.remove(pin, lambda _: None)
    assert installation.find(pin) is None
    assert installation.verify(twin) == []
    assert installation.remove(twin, lambda _: None)
    assert list(home.environments_folder().iterdir()) == []
    assert not installation.remove(twin, lambda _: None)


def test_a_python_out_of_the_range_is_refused_before_anything_is_done(pin, source):
    narrow = make_pin(pin.commit, pin.lock_path, python=">=3.5,<3.6")
    for python in (sys.executable, "3.11"):
        with pytest.raises(HarnessError, match=r"needs Python >=3\.5,<3\.6"):
            install(narrow, source, python=python)
    with pytest.raises(HarnessError, match="not found here"):
        install(narrow, source)
    with pytest.raises(HarnessError, match="not found here"):
        install(pin, source, python="/nowhere/python")
    assert checkout.read(narrow) is None


def test_modules_that_do_not_import_keep_it_from_counting_as_installed(pin, source):
    wrong = make_pin(pin.commit, pin.lock_path, imports=("toy", "toy.absent"))
    with pytest.raises(HarnessError, match=r"No module named 'toy\.absent'"):
        install(wrong, source)
    assert installation.find(wrong) is None
    with pytest.raises(HarnessError, match="is not installed"):
        installation.verify(wrong)


def test_the_bytecode_is_compiled_once_since_no_worker_writes_any(pin_with_package, source):
    found, _ = install(pin_with_package, source)
    assert list(found.python.parent.parent.rglob("toydep.*.pyc"))


def test_a_local_build_of_the_locked_version_is_that_version(pin, source, tmp_path):
    make_wheel(tmp_path, "torch", "2.13.0+cpu")
    pin.lock_path.write_text("torch==2.13.0\n")
    found, _ = install(pin, source)
    assert packages.look(found.python).packages == {"torch": "2.13.0+cpu"}


def test_a_cuda_build_of_torch_is_refused_with_the_way_out(pin, source, tmp_path):
    make_wheel(tmp_path, "torch", "2.13.0", "nvidia-cudnn-cu13")
    pin.lock_path.write_text("torch==2.13.0\n")
    with pytest.raises(HarnessError, match="UV_TORCH_BACKEND=cpu"):
        install(pin, source)
    assert installation.find(pin) is None


def test_a_package_that_can_not_be_had_is_told_with_the_log(pin, source):
    pin.lock_path.write_text("toydep==3.0\n")
    with pytest.raises(HarnessError, match=r"toydep") as caught:
        install(pin, source)
    assert str(home.data_folder() / "logs") in str(caught.value)


@pytest.mark.parametrize("step", ["export", "list_folder"])
def test_a_full_disk_is_one_clear_error_and_leaves_nothing(pin, source, monkeypatch, step):
    def fail(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(git, step, fail)
    with pytest.raises(HarnessError, match="the disk is full"):
        install(pin, source)
    assert list(home.reference_folder(pin.name).iterdir()) == []


def test_a_data_folder_that_can_not_be_made_is_one_clear_error(pin, source, monkeypatch):
    monkeypatch.setenv(home.HOME_VARIABLE, str(pin.lock_path))
    with pytest.raises(HarnessError, match=f"set {home.HOME_VARIABLE}"):
        install(pin, source)


def test_packages_alone_are_installed_and_verified_like_a_commit(source, tmp_path):
    make_wheel(tmp_path, "toydep", "1.0")
    lock = tmp_path / "toy-lock.txt"
    lock.write_text("toydep==1.0\n")
    pin = make_pin("", lock, name="toydep-1.0", era="packages", imports=("toydep",))
    with pytest.raises(HarnessError, match="packages alone"):
        install(pin, source)
    found, _ = install(pin)
    assert installation.find(pin) == found
    assert installation.verify(pin) == []
    assert list(found.tree.iterdir()) == []
    found.tree.chmod(0o755)
    (found.tree / "dropped.py").touch()
    (problem,) = installation.verify(pin)
    assert "added: dropped.py" in str(problem)
