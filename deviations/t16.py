"""T16: which protocol the normalised score is measured with."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T16",
    agent="TD-MPC2",
    kind="deviation",
    title="Multi-task: evaluation protocol and normalised score",
    reference=(
        "evaluate.py reports the normalised score with exploration noise on; the offline trainer "
        "evaluates after its first update, then every eval_freq."
    ),
    subject=(
        "The offline trainer's protocol (eval_mode, 10 episodes per task, t0 at each episode's "
        "first step), every log_frequency updates of the run, the first after log_frequency "
        "updates; each evaluation starts from fresh initial states; normalised score mean(return / "
        "10) (the DMC normalisation)."
    ),
    consequence="The trainer's protocol is the one behind the paper's training curves.",
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-5f6fade", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-eece801", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-e9f5932", "tdmpc2/evaluate.py", "80"),
        Source("tdmpc2-b67b21c", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-5f6fade", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-eece801", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-e9f5932", "tdmpc2/evaluate.py", "94-99"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/offline_trainer.py", "22-39"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/offline_trainer.py", "22-39"),
        Source("tdmpc2-b67b21c", "tdmpc2/trainer/offline_trainer.py", "73-90"),
        Source("tdmpc2-5f6fade", "tdmpc2/trainer/offline_trainer.py", "73-90"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/offline_trainer.py", "22-40"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/offline_trainer.py", "22-40"),
        Source("tdmpc2-eece801", "tdmpc2/trainer/offline_trainer.py", "75-92"),
        Source("tdmpc2-e9f5932", "tdmpc2/trainer/offline_trainer.py", "75-92"),
    ),
)
