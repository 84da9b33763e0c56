"""What a whole training run does, but for its networks.

Axis names: K ticks.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

TRAINED_UPDATES = Operation(
    "dreamerv3.trained_updates",
    "How many updates a training run has made after each of its ticks, counted in its own loop. "
    "A tick adds one row of every environment. The first update runs with the row that "
    "completes `batch` different sequences (row envs · length + batch of all environments "
    "together), and from then on there are train_ratio / (batch · length) updates per row: "
    "1 + ⌊(rows − first) · train_ratio / (batch · length)⌋ in all",
    (
        Setting("envs", int, "environments, which add their rows in turn"),
        Setting("batch", int, "sequences per update"),
        Setting(
            "length", int, "rows of a sequence that are trained on; one of context comes on top"
        ),
        Setting("train_ratio", float, "trained rows per environment row"),
        Setting("ticks", int, "K", axis="K"),
    ),
    (Array("updates", "K", "int64", "updates so far, when tick k is over"),),
)

COMPONENTS = {
    "parameters": "parameters of the networks",
    "slow_critic": "parameters of the slow critic",
    "optimiser": "moments and count of the optimiser",
    "normaliser": "percentiles of the return normaliser",
    "environments": "states and current rows of the environments",
    "carry": "what the acting agent remembers of every environment",
    "rows": "rows in the replay",
    "latents": "latents in the replay",
    "counters": "ticks, rows added, sequences that have left the queue, updates",
    "keys": "states of all random number generators",
    "metrics": "sums and episodes of the metrics",
}

RESUMED_RUN = Operation(
    "dreamerv3.resumed_run",
    "The state of a training run after a number of ticks, by component, as a SHA-256 of its "
    "bytes. The run may have been interrupted: saved to a checkpoint on disk, dropped, restored "
    "from it, and gone on. A small stand-in takes the place of the networks; optimiser, "
    "normaliser, replay, collector, loop and checkpoint are the implementation's own",
    (
        Setting("seed", int, "of the run"),
        Setting("ticks", int, "how many the run has in all"),
        Setting("interrupted_at", int, "the tick after which it was interrupted; 0 for never"),
    ),
    tuple(Array(name, "32", "uint8", f"digest: {doc}") for name, doc in COMPONENTS.items()),
)

REPEATED_RUN = Operation(
    "dreamerv3.repeated_run",
    "The state of a training run as in `dreamerv3.resumed_run`, compiled anew for every question "
    "and run without an interruption",
    (
        Setting("seed", int, "of the run"),
        Setting("ticks", int, "how many the run has in all"),
        Setting("platform", str, "what it runs on", ("cpu", "gpu")),
    ),
    tuple(Array(name, "32", "uint8", f"digest: {doc}") for name, doc in COMPONENTS.items()),
)

RESTORED_COMPONENTS = Operation(
    "dreamerv3.restored_components",
    "Which components of a training run are, once its checkpoint has been restored, what they "
    "were when it was saved. The run is interrupted when all of them have been used: sequences "
    "wait in the replay's queue, the schedule is between two updates. The loop moves by ten rows "
    "at a time at least, so that envs · ticks and envs · interrupted_at are multiples of ten",
    (
        Setting("envs", int, "environments"),
        Setting("batch", int, "sequences per update"),
        Setting("length", int, "rows of a sequence that are trained on"),
        Setting("train_ratio", float, "trained rows per environment row"),
        Setting("ticks", int, "how many the run has in all"),
        Setting("interrupted_at", int, "the tick after which it is interrupted"),
    ),
    tuple(
        Array(name, "", "bool", doc)
        for name, doc in (
            ("optimiser", "moments of the optimiser"),
            ("normaliser", "percentiles of the return normaliser"),
            ("schedule", "what is due: the resumed run makes as many updates in all"),
            ("queue", "sequences that wait in the replay's queue"),
            ("sampler", "state of the replay's random number generator"),
        )
    ),
)

OPERATIONS = (TRAINED_UPDATES, RESUMED_RUN, REPEATED_RUN, RESTORED_COMPONENTS)
