"""T29: episodes that end early."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T29",
    agent="TD-MPC2",
    kind="deviation",
    title="Episodic mode",
    reference=(
        "The latest code's episodic mode (eece801, as at e9f5932): a single environment; finished "
        "episodes are added to a row storage of min(buffer_size, steps) rows; "
        "SliceSampler(strict_length=True): a uniform episode among those of ≥ H+1 rows, a uniform "
        "offset; the seed phase and one update per environment step are counted in environment "
        "steps; every other part of the agent is at its latest version."
    ),
    subject=(
        "Opt-in (episodic=True), grafted onto the paper-era agent (every other choice of it kept, "
        "e.g. Q dropout in the TD target). A dynamic-reset row collector: per-environment rings of "
        "ceil(min(buffer_size, total) / n_envs) rows written in lockstep (the running episode's "
        "rows included; total is the number of the run's rows when the current train() call ends, "
        "the reference's clamp to the run, so a resumed run moves the carried rows into its own "
        "rings); an overwritten episode keeps its stored tail, as in the reference. Seed phase of "
        "max(S div n, T) ticks (held rows included, ≈ S·k/(k+1) environment steps for k-step "
        "episodes), then one update per environment stepped in the tick (none until an episode of "
        "≥ H+1 rows is stored); n_timesteps counts rows."
    ),
    consequence=(
        "The same targets, losses, planning and sampling distribution; the seed phase is shorter "
        "by the episode ends it contains. Validated on a terminating chain whose values are known."
    ),
    sources=(
        Source("tdmpc2-eece801", "tdmpc2/common/buffer.py", "16-24"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/buffer.py", "16-24"),
        Source("tdmpc2-eece801", "tdmpc2/common/buffer.py", "84-91"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/buffer.py", "84-91"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "106-123"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "106-123"),
        Source("tdmpc2-eece801", "tdmpc2/tdmpc2.py", "257"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "133-134"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "257"),
        Source("tdmpc2-e9f5932", "tdmpc2/tdmpc2.py", "294-297"),
    ),
)
