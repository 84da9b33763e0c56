"""E18: which physics simulates the control suite."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="E18",
    agent="both",
    kind="deviation",
    title="Control suite: MuJoCo C against MJX",
    reference="dm_control (MuJoCo C).",
    subject=(
        "mujoco_playground's MJX ports: reduced solver iterations, some sim_dt changes (e.g. "
        "reacher 0.005 vs 0.02), impl='jax' on CPU. QuadrupedRun / DogRun and the 11 custom "
        "TD-MPC2 tasks are unavailable."
    ),
    consequence="Environment, not algorithm.",
    sources=(
        Source("dreamerv3-29eb964", "embodied/envs/dmc.py", "36-37"),
        Source("dreamerv3-2411f7d", "embodied/envs/dmc.py", "36-37"),
        Source("dreamerv3-e3f0224", "embodied/envs/dmc.py", "40"),
        Source("tdmpc2-b67b21c", "tdmpc2/envs/dmcontrol.py", "191-194"),
        Source("tdmpc2-5f6fade", "tdmpc2/envs/dmcontrol.py", "191-194"),
        Source("tdmpc2-eece801", "tdmpc2/envs/dmcontrol.py", "102-105"),
        Source("tdmpc2-e9f5932", "tdmpc2/envs/dmcontrol.py", "102-105"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/__init__.py", "33-36"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/__init__.py", "33-36"),
        Source("tdmpc2-eece801", "tdmpc2/common/__init__.py", "33-36"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/__init__.py", "33-36"),
    ),
)
