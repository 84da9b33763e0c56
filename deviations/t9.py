"""T9: when and on what an agent is evaluated."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T9",
    agent="TD-MPC2",
    kind="deviation",
    title="Evaluation protocol",
    reference=(
        "Evaluation reuses the training environment's instance and the planner's mean; the first "
        "evaluation is at step 0 (untrained agent)."
    ),
    subject=(
        "A rebuilt evaluation environment and a separate planner carry. Each evaluation starts "
        "from fresh initial states (its key is folded with the number of evaluations so far: "
        "deterministic per seed, fresh across evaluations, as the reference's resets of its "
        "running environment are). Evaluations run every log_frequency environment steps from the "
        "start of training, the first after log_frequency steps (on the held tick that ends an "
        "episode when log_frequency is a multiple of T·n_envs, as the reference's eval_freq is)."
    ),
    consequence="Evaluation protocol only.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "27-48"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "27-48"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/online_trainer.py", "69-82"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/online_trainer.py", "69-82"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "28-52"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "28-52"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/online_trainer.py", "76-88"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/online_trainer.py", "76-88"),
    ),
)
