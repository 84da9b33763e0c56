import json

import pytest
from toy_reference import isolate, make_pin, make_repository, needs_git

from parity import reference_cli
from reference_harness import installation, pins

pytestmark = needs_git


@pytest.fixture
def pin(tmp_path, monkeypatch):
    isolate(monkeypatch, tmp_path)
    pin = make_pin(make_repository(tmp_path / "source"), tmp_path / "toy-lock.txt")
    for module in (pins, reference_cli, installation):
        monkeypatch.setattr(module, "PINS", (pin,))
    return pin


@pytest.fixture
def run(pin, capsys):
    def run(*arguments):
        with pytest.raises(SystemExit) as caught:
            reference_cli.app(arguments)
        told = capsys.readouterr()
        return caught.value.code, told.out, told.err

    return run


def test_a_reference_is_installed_listed_verified_and_removed(pin, run, tmp_path):
    status, out, err = run("install", pin.short, "--from", str(tmp_path / "source"))
    assert (status, out) == (0, "")
    assert "installed in" in err
    status, out, _ = run("list", "--json")
    (row,) = json.loads(out)
    assert (status, row["state"], row["license"]) == (0, "yes", "MIT")
    assert run("list")[1].splitlines()[1].split() == [pin.name, "paper", "yes", "MIT", row["path"]]
    assert run("verify")[0] == 0
    assert run("remove", pin.name)[0] == 0
    assert installation.find(pin) is None


def test_verify_exits_with_1_for_a_damaged_reference(pin, run, tmp_path):
    assert run("install", "all")[0] == 2  # the published address leads nowhere
    run("install", pin.short, "--from", str(tmp_path / "source"))
    path = installation.find(pin).tree / "toy/model.py"
    path.chmod(0o644)
    path.write_text("")
    status, out, _ = run("verify", pin.name)
    assert status == 1
    assert "changed: toy/model.py" in out
    assert f"`parity reference install {pin.name}`" in out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("install", "toy-1234567"), "no reference is called"),
        (("verify",), "no reference is installed"),
        (("verify", "{name}"), "is not installed"),
        (("remove", "{name}"), "is not installed"),
        (("install", "{name}", "--python", "3.5"), "so not 3.5"),
        (("install", "{name}", "--from", "/nowhere"), "neither a folder that exists"),
    ],
)
def test_a_mistake_is_one_line_and_exits_with_2(pin, run, arguments, told):
    status, out, err = run(*(argument.format(name=pin.name) for argument in arguments))
    assert (status, out) == (2, "")
    assert told in err
    assert len(err.splitlines()) == 1


def test_a_broken_installation_is_listed_as_broken(pin, run, tmp_path):
    run("install", pin.short, "--from", str(tmp_path / "source"))
    installation.find(pin).python.unlink()
    (row,) = json.loads(run("list", "--json")[1])
    assert (row["state"], row["path"]) == ("broken", None)
