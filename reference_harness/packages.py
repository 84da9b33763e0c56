"""What a lock asks for, what a side environment holds, and whether the two are the same.

Everything about an environment is told by its own Python, started apart from this process and
from whatever the user's shell says about Python.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from reference_harness.pins import Pin

_INHERITED = ("PATH", "HOME", "USER", "TMPDIR", "LANG", "LC_ALL", "TZ")
_TAIL = 15  # lines of a program's output in a message
_SHOWN = 5  # files named in a message
_IMPORT_SECONDS = 900

# Run by the side Python: what is installed, and which files are not those that were installed.
_LOOK = """
import base64, hashlib, importlib.metadata, json, os, sys, sysconfig

def is_whole(file, path):
    if file.size is not None and os.stat(path).st_size != file.size:
        return False
    if file.hash is None:
        return True
    with open(path, "rb") as content:
        found = hashlib.file_digest(content, file.hash.mode).digest()
    return base64.urlsafe_b64encode(found).decode().rstrip("=") == file.hash.value

packages, damaged, known = {}, [], set()
for distribution in importlib.metadata.distributions():
    packages[distribution.name] = distribution.version
    for file in distribution.files or ():
        path = os.path.normpath(file.locate())
        known.add(path)
        if file.suffix == ".pyc":  # compiled anew when the environment was built
            continue
        try:
            whole = is_whole(file, path)
        except OSError:
            whole = False
        if not whole:
            damaged.append(path)
for folder, _, names in os.walk(sysconfig.get_path("purelib")):
    for name in names:
        ours = name.endswith(".pyc") or name in ("_virtualenv.py", "_virtualenv.pth")
        if not ours and os.path.join(folder, name) not in known:
            damaged.append(os.path.join(folder, name))
print(json.dumps({"python": sys.version.split()[0], "packages": packages, "damaged": damaged}))
"""

_IMPORT = """
import importlib, sys
sys.path.insert(0, sys.argv[1])
for name in sys.argv[2:]:
    print("import", name, flush=True)
    importlib.import_module(name)
"""


@dataclass(frozen=True)
class Seen:
    """What a side Python tells of its environment.

    Attributes:
        python: Its version.
        packages: The version of every package, by normalised name.
        damaged: The files that are not as they were installed, or were not installed.
    """

    python: str
    packages: dict[str, str]
    damaged: list[str]


def requirements(pin: Pin) -> list[str]:
    """The requirements in a pin's lock, one a line, without comments."""
    lines = pin.lock_path.read_text(encoding="utf-8").splitlines()
    return [line for line in (re.sub(r"(^|\s)#.*", "", line).strip() for line in lines) if line]


def lock_digest(pin: Pin) -> str:
    """A hash of the requirements in the pin's lock; comments do not count."""
    return hashlib.sha256("\n".join(requirements(pin)).encode()).hexdigest()


def look(python: Path) -> Seen:
    """Lists the packages of an environment, and checks every file of theirs.

    Raises:
        OSError, ValueError, subprocess.SubprocessError: The Python does not run, or tells nothing.
    """
    done = subprocess.run(
        [python, "-I", "-B", "-c", _LOOK], capture_output=True, text=True, check=True
    )
    seen = json.loads(done.stdout)
    packages = {_normal(name): version for name, version in seen["packages"].items()}
    return Seen(seen["python"], packages, seen["damaged"])


def differences(pin: Pin, built: Mapping[str, str], seen: Seen) -> list[str]:
    """What is not as the lock says, or not as it was when the environment was built.

    Args:
        pin: Its lock is compared with.
        built: The version of every package that was installed.
        seen: What is there.
    """
    problems = []
    locked: dict[str, set[str]] = {}
    for line in requirements(pin):
        name, _, rest = line.partition("==")
        locked.setdefault(_normal(name), set()).add(rest.split(";")[0].strip())
    for name in sorted(built.keys() | seen.packages.keys()):
        found, before = seen.packages.get(name), built.get(name)
        if found is None:
            problems.append(f"{name} {before} is missing")
        elif name not in locked:
            problems.append(f"{name} {found} is not in the lock")
        # A local part (2.13.0+cpu) says how a version was built, not which it is.
        elif locked[name].isdisjoint((found, found.partition("+")[0])):
            problems.append(f"{name} is {found}, and the lock says {' or '.join(locked[name])}")
        elif found != before:
            problems.append(f"{name} is {found}, and {before or 'nothing'} was installed")
    if seen.damaged:
        files = seen.damaged
        more = f" and {len(files) - _SHOWN} more" if len(files) > _SHOWN else ""
        problems.append(f"not as installed: {', '.join(files[:_SHOWN])}{more}")
    return problems


def import_failure(pin: Pin, python: Path, import_path: Path) -> str:
    """The end of what was printed when the pin's modules did not import; "" if they did."""
    kept = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    with tempfile.TemporaryDirectory() as elsewhere:
        try:
            done = subprocess.run(
                [python, "-I", "-B", "-c", _IMPORT, str(import_path), *pin.imports],
                # No window and no accelerator is needed to import anything.
                env={**kept, "MUJOCO_GL": "disable", "JAX_PLATFORMS": "cpu"},
                cwd=elsewhere,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                errors="replace",
                timeout=_IMPORT_SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"not done after {_IMPORT_SECONDS} s"
        except OSError as error:
            return str(error)
    lines = done.stdout.splitlines()
    told = "\n".join(line for line in lines if "<frozen importlib" not in line)
    return tail(told) if done.returncode else ""


def tail(text: str) -> str:
    """The last lines of a program's output."""
    return "\n".join(text.rstrip().splitlines()[-_TAIL:])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
