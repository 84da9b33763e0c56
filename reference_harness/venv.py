"""Builds the side environments, and finds them again.

An environment belongs to a lock and a Python version, not to a pin: pins with the same lock
share one, which is never changed after it is whole. It is built by uv from exact versions.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from reference_harness import home, packages
from reference_harness.errors import HarnessError
from reference_harness.home import Report
from reference_harness.pins import Pin

# What the caller's own environment may not decide. Settings about where packages come from
# (UV_FIND_LINKS, UV_DEFAULT_INDEX, UV_OFFLINE ...) are the user's, and stay.
_NOT_INHERITED = (
    *("CONDA_PREFIX", "PYTHONHOME", "PYTHONPATH", "UV_BREAK_SYSTEM_PACKAGES"),
    *("UV_NO_COMPILE_BYTECODE", "UV_PREFIX", "UV_PROJECT", "UV_PROJECT_ENVIRONMENT", "UV_PYTHON"),
    *("UV_SYSTEM_PYTHON", "UV_TARGET", "UV_VENV_CLEAR", "UV_VENV_SEED", "UV_WORKING_DIR"),
    *("UV_WORKING_DIRECTORY", "VIRTUAL_ENV"),
)
# Those of them that hold paths, which may be relative to where the user stands.
_PATHS = ("UV_CACHE_DIR", "UV_CONFIG_FILE", "UV_FIND_LINKS")
_SHOWN = 5  # packages named in a message


@dataclass(frozen=True)
class Environment:
    """A whole side environment.

    Attributes:
        folder: Where it lies.
        version: Its Python's version.
        lock_digest: Which lock it was built from.
        packages: The version of every package in it when it was built, by normalised name.
    """

    folder: Path
    version: str
    lock_digest: str
    packages: dict[str, str]

    @property
    def python(self) -> Path:
        """Its interpreter."""
        return self.folder / "bin" / "python"


def choose_python(pin: Pin, requested: str | None) -> tuple[str, str]:
    """The interpreter to build with, and its version.

    Args:
        pin: Its range is kept to.
        requested: A path, or whatever uv understands ("3.12"); None for this process's own
            Python if it is in the range, else the one that uv finds.

    Raises:
        HarnessError: There is no such Python, or it is out of the range.
    """
    if requested is None:
        version = ".".join(map(str, sys.version_info[:3]))
        if _fits(version, pin.python):
            return sys.executable, version
    program = shutil.which(requested) if requested else None
    python = str(Path(program).absolute()) if program else _find_python(pin, requested)
    try:
        # A path with a `~`, or one without an executable bit, comes here from `_find_python`.
        done = subprocess.run(
            [python, "-I", "-c", "import sys; print(sys.version.split()[0])"],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise HarnessError(f"{python} does not run as a Python interpreter: {error}") from None
    version = done.stdout.strip()
    if not _fits(version, pin.python):
        raise HarnessError(
            f"{pin.name} needs Python {pin.python}, and {python} is {version}; pass another with "
            "`--python PATH`, or none to let it be found."
        )
    return python, version


def find(name: str) -> Environment | None:
    """The environment of that name, if it is whole; its files are not looked at."""
    folder = home.environments_folder() / name
    record = home.read_json(folder / "environment.json")
    try:
        environment = Environment(folder=folder, **(record or {}))
    except TypeError:
        return None
    return environment if environment.python.exists() else None


def name_for(pin: Pin, version: str) -> str:
    """What the environment of a pin is called, for a version of Python."""
    major, minor = version.split(".")[:2]
    return f"{Path(pin.lock).stem}-{packages.lock_digest(pin)[:12]}-py{major}{minor}"


def build(pin: Pin, python: str, version: str, report: Report) -> Environment:
    """Builds the environment of a pin, in the place of what was there.

    The caller holds the environment's lock.

    Args:
        pin: Its lock is what is installed.
        python: The interpreter, from `choose_python`.
        version: Its version.
        report: Told that it takes long.

    Raises:
        HarnessError: uv failed; the message shows the end of its output and where the rest is.
    """
    name = name_for(pin, version)
    final = home.environments_folder() / name
    log = home.log_path(name)
    log.parent.mkdir(parents=True, exist_ok=True)
    log.unlink(missing_ok=True)
    report(f"{pin.name}: building its environment with Python {version} (log: {log})")
    with home.staging(final) as folder:
        # Relocatable, since the folder is renamed when it is whole.
        _uv(pin, log, "venv", "--python", python, "--relocatable", "--allow-existing", str(folder))
        inside = folder / "bin" / "python"
        # The bytecode is compiled here, once: the workers never write any. Copies, since with
        # hard links whoever edits a file of uv's cache, or of an environment linked to it, would
        # edit this one.
        options = ("--compile-bytecode", "--link-mode=copy", "--allow-empty-requirements")
        lock = str(pin.lock_path.resolve())
        _uv(pin, log, "pip", "sync", *options, "--python", str(inside), lock)
        seen = packages.look(inside)
        environment = Environment(final, seen.python, packages.lock_digest(pin), seen.packages)
        problems = packages.differences(pin, seen.packages, seen) or _unmet(pin, inside)
        if problems:
            raise HarnessError(
                f"the environment of {pin.name} is not as its lock says: {'; '.join(problems)}."
            )
        fields = {
            "version": environment.version,
            "lock_digest": environment.lock_digest,
            "packages": environment.packages,
        }
        home.write_json(folder / "environment.json", fields)
        home.publish(folder, final)
    return environment


def damage(pin: Pin, environment: Environment) -> list[str]:
    """What is not as it was built: packages, their versions, the bytes of their files."""
    try:
        seen = packages.look(environment.python)
    except (OSError, ValueError, subprocess.SubprocessError) as error:
        return [f"its Python, {environment.python}, does not run: {error}"]
    return packages.differences(pin, environment.packages, seen)


def _fits(version: str, versions: str) -> bool:
    """Whether a version is in a range like `>=3.11,<3.13`."""
    found = tuple(int(part) for part in re.findall(r"\d+", version)[:3])
    for bound in versions.split(","):
        sign, *numbers = re.findall(r"[<>=]+|\d+", bound)
        limit = tuple(map(int, numbers))
        if not (found >= limit if sign == ">=" else found < limit):
            return False
    return True


def _find_python(pin: Pin, requested: str | None) -> str:
    version = requested if re.fullmatch(r"[0-9.]+", requested or "") else None
    if version and not _fits(version, pin.python):
        raise HarnessError(f"{pin.name} needs Python {pin.python}, so not {version}.")
    wanted = str(Path(requested).expanduser()) if requested else pin.python
    done = subprocess.run(
        [_uv_program(), "python", "find", "--no-project", wanted],
        env=_uv_environment(pin),
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return done.stdout.strip()
    version = version or re.findall(r"[0-9.]+", pin.python)[0]
    raise HarnessError(
        f"{pin.name} needs Python {pin.python}, and {requested or 'none such'} is not found here; "
        f"install one with `{sys.executable} -m uv python install {version}`, or pass "
        "`--python PATH`."
    )


def _uv_program() -> str:
    try:
        import uv

        return str(uv.find_uv_bin())
    except (ImportError, FileNotFoundError):
        pass
    program = shutil.which("uv")
    if program is None:
        raise HarnessError(
            "side environments are built with uv, and there is none here; install it with "
            f"`{sys.executable} -m pip install uv`."
        )
    return program


def _uv_environment(pin: Pin) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    for name in _PATHS:
        if name in kept:
            parts = kept[name].split(",")
            kept[name] = ",".join(os.path.abspath(p) if os.path.exists(p) else p for p in parts)
    needs_torch = any(line.startswith("torch==") for line in packages.requirements(pin))
    if needs_torch and "UV_FIND_LINKS" not in kept:
        # The harness runs on CPUs, and a CUDA build does not load without CUDA's libraries.
        kept.setdefault("UV_TORCH_BACKEND", "cpu")
    return kept


def _uv(pin: Pin, log: Path, *arguments: str) -> None:
    """Runs uv with its output in the log.

    The working folder is the harness's own, so that the settings of whatever project the user
    stands in do not count; those of the user and the system do.
    """
    with log.open("a", encoding="utf-8") as output:
        output.write(f"$ uv {' '.join(arguments)}\n")
        output.flush()
        done = subprocess.run(
            [_uv_program(), *arguments],
            env=_uv_environment(pin),
            cwd=home.environments_folder(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            check=False,
        )
    if done.returncode == 0:
        return
    said = log.read_text(encoding="utf-8", errors="replace")
    if home.says_disk_is_full(said):
        raise home.disk_is_full(f"building the environment of {pin.name}")
    hint = ""
    if "torch" in packages.tail(said):
        hint = (
            "\ntorch is taken from the CPU packages that its authors publish; set UV_FIND_LINKS to "
            "a folder with a CPU wheel of it to use that instead."
        )
    raise HarnessError(
        f"the environment of {pin.name} could not be built; the end of {log} says:\n"
        f"{packages.tail(said)}{hint}"
    )


def _unmet(pin: Pin, python: Path) -> list[str]:
    """What the installed packages declare to need and do not find."""
    done = subprocess.run(
        [_uv_program(), "pip", "check", "--python", str(python)],
        env=_uv_environment(pin),
        cwd=python.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0:
        return []
    if "nvidia" in done.stderr:
        return [
            "it received a CUDA build of torch, and the harness runs on CPUs; set "
            "UV_TORCH_BACKEND=cpu, or UV_FIND_LINKS to a folder with a CPU wheel"
        ]
    return [line for line in done.stderr.splitlines() if "requires" in line][:_SHOWN]
