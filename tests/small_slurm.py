"""A Slurm of one node on this machine, from Debian's packages, for as long as a test needs it."""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scontrol", "srun")
_PATIENCE = 90.0

_CONFIGURATION = """\
ClusterName=small
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller}
SlurmdPort={node}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SchedulerType=sched/builtin
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
ReturnToService=2
MessageTimeout=60
BatchStartTimeout=60
SlurmdParameters=config_overrides
KillWait=5
MinJobAge=300
NodeName={host} NodeAddr=127.0.0.1 CPUs=2 Boards=1 SocketsPerBoard=1 CoresPerSocket=2 \
ThreadsPerCore=1 RealMemory=100000 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
"""


class NoSlurmError(Exception):
    """Slurm can not be started here; says why."""


def reason_for_none():
    """Why no Slurm can be started here; "" if nothing is known to be in the way."""
    missing = [name for name in PROGRAMS if _found(name) is None]
    if missing:
        return f"{', '.join(missing)} not installed (Debian: slurm-wlm munge)"
    if os.geteuid() != 0:
        return "slurmd and munged are started as root"
    return ""


@contextlib.contextmanager
def small_slurm(folder):
    """Starts munge, the controller and one node, and ends them.

    Yields:
        The variables that its commands need.

    Raises:
        NoSlurmError: One of them does not start; with what it said.
    """
    started = []
    for name in ("state", "spool"):
        (folder / name).mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    settings = {"folder": folder, "host": host, "controller": _port(), "node": _port()}
    configuration = folder / "slurm.conf"
    configuration.write_text(_CONFIGURATION.format(**settings))
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    environment = os.environ | {"SLURM_CONF": str(configuration)}

    def start(name, *words):
        log = folder / f"{name}.out"
        with log.open("wb") as output:
            command = [_found(name), *map(str, words)]
            started.append(
                subprocess.Popen(
                    command, env=environment, stdout=output, stderr=output, start_new_session=True
                )
            )

    try:
        start(
            "munged",
            *("--foreground", "--force", "--num-threads", 2, "--key-file", key),
            *("--socket", folder / "munge.socket", "--pid-file", folder / "munged.pid"),
            *("--log-file", folder / "munged.log", "--seed-file", folder / "munged.seed"),
        )
        _until(lambda: (folder / "munge.socket").exists(), folder, "munged made no socket")
        start("slurmctld", "-D", "-c", "-f", configuration)
        start("slurmd", "-D", "-c", "-N", host, "-f", configuration)
        _until(lambda: "idle" in _node_state(environment), folder, "the node is not idle")
        yield {"SLURM_CONF": str(configuration)}
    finally:
        for process in reversed(started):
            process.terminate()
        for process in reversed(started):
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()


def _found(name):
    path = os.environ.get("PATH", "") + ":/usr/sbin:/sbin"
    return shutil.which(name, path=path)


def _node_state(environment):
    command = [_found("sinfo"), "--noheader", "--format", "%t"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    return done.stdout


def _until(condition, folder, what):
    deadline = time.monotonic() + _PATIENCE
    while not condition():
        if time.monotonic() > deadline:
            said = [
                f"{path.name}: {path.read_text(errors='replace')[-500:]}"
                for path in sorted(Path(folder).glob("*.out")) + sorted(Path(folder).glob("*.log"))
            ]
            raise NoSlurmError(f"{what} after {_PATIENCE:.0f} s; " + "; ".join(said))
        time.sleep(0.2)


def _port():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]
