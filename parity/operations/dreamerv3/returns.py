"""Returns and the losses of actor and critic.

Axis names: N imagined trajectories of H steps, so H1 = H + 1 states, of which the first is the
replayed row that the trajectory starts from; K bins of a two-hot head, an odd number of them,
symexp of an even grid on [−20, 20]; O outputs of the actor; A length of an action's vector;
B sequences of T replayed rows. Constants that are no input are those of training: discount
γ = 1 − 1/333, λ = 0.95 in both kinds of return, entropy coefficient 3e-4, regression to the slow
critic with the weight 1, moving percentiles with the rate 0.01, and a scale of at least 1.
"""

from __future__ import annotations

from parity.operations import Array, Operation, Setting

_HORIZON = Setting("horizon", int, "H, the imagined steps; H1 is one more", axis="H")
_NORMALISER_DOC = "moving averages of the 5th and the 95th percentile of the returns"

_NUMBERS = (
    Array("rewards", "N H1", "float32", "of each state: received on entering it"),
    Array(
        "continues",
        "N H1",
        "float32",
        "of each state: the start's is 0 (terminal) or 1, the others' are predictions in [0, γ], "
        "which have the discount in them",
    ),
    Array("values", "N H1", "float32", "the critic's prediction in each state"),
    Array("normaliser", "2", "float32", f"low and high before: {_NORMALISER_DOC}"),
)

_WEIGHTS = Array(
    "weights",
    "N H1",
    "float32",
    "how much each state counts: the product of the continues up to and with its own",
    noise=1e-6,
)
_RETURNS = Array(
    "returns",
    "N H",
    "float32",
    "R_t = r_{t+1} + c_{t+1} · ((1 − λ) · v_{t+1} + λ · R_{t+1}) of states 0 to H − 1, with "
    "R_H = v_H: rewards, continues and values of the state that a step leads to",
    noise=3e-6,
)
_ADVANTAGES = Array(
    "advantages",
    "N H",
    "float32",
    "(R_t − v_t) / scale, scale = max(1, high − low) of the normaliser after these returns",
    noise=3e-6,
)

IMAGINED_RETURNS = Operation(
    "dreamerv3.imagined_returns",
    "λ-returns of imagined trajectories, the weights of their states, the return normaliser "
    "after these returns (x ← 0.99 · x + 0.01 · percentile), and the normalised advantages",
    (*_NUMBERS, _HORIZON),
    (
        _WEIGHTS,
        _RETURNS,
        _ADVANTAGES,
        Array("normaliser", "2", "float32", "low and high after", noise=1e-6),
    ),
)

ACTOR_LOSS = Operation(
    "dreamerv3.actor_loss",
    "−weight · (log-probability · advantage + η · entropy) of states 0 to H − 1: of weight and "
    "advantage as in `dreamerv3.imagined_returns`, without a gradient, and of what the policy "
    "did in that same state",
    (
        *_NUMBERS,
        Array("log_probs", "N H1", "float32", "of the action in each state; the last is unused"),
        Array("entropies", "N H1", "float32", "of the policy in each state; the last is unused"),
        Setting("actent", float, "η, the entropy coefficient; 3e-4 in training"),
        _HORIZON,
    ),
    (
        Array("loss", "N H", "float32", "one per counted state", noise=3e-6),
        Array(
            "to_log_probs",
            "N H1",
            "float32",
            "gradient of the mean loss over N and H in the log-probabilities",
            noise=3e-6,
        ),
        Array("to_entropies", "N H1", "float32", "likewise in the entropies", noise=3e-6),
    ),
)

IMAGINATION_LOSSES = Operation(
    "dreamerv3.imagination_losses",
    "actor and critic losses from what the heads put out in every state of imagined "
    "trajectories: rewards and values are decoded expectations of the bins, continues are "
    "sigmoids, returns and actor loss as in `dreamerv3.imagined_returns` and "
    "`dreamerv3.actor_loss` with η = 3e-4 (policies as in `dreamerv3.discrete_policy` and "
    "`dreamerv3.continuous_policy`), the critic's loss is weight · (two-hot loss of the return + "
    "1 · two-hot loss of the slow critic's decoded prediction); no gradient flows through "
    "returns, advantages, weights, actions or targets",
    (
        Setting("kind", str, "of the actions", ("discrete", "continuous")),
        Array("start_reward", "N", "float32", "of the replayed rows that trajectories start from"),
        Array("is_terminal", "N", "bool", "whether such a row is terminal: its continue is then 0"),
        Array("reward_logits", "N H1 K", "float32", "the reward head's; the start's are unused"),
        Array("continue_logits", "N H1", "float32", "the continue head's; the start's are unused"),
        Array("critic_logits", "N H1 K", "float32", "the critic's"),
        Array("slow_logits", "N H1 K", "float32", "the slow critic's"),
        Array(
            "actor_outputs",
            "N H1 O",
            "float32",
            "the actor's: logits, or A unbounded means followed by A unbounded deviations",
        ),
        Array("actions", "N H1 A", "float32", "actions taken in each state; one-hot if discrete"),
        Array("normaliser", "2", "float32", f"low and high before: {_NORMALISER_DOC}"),
        _HORIZON,
    ),
    (
        Array("rewards", "N H1", "float32", "the start's, then the predicted ones", noise=1e-5),
        Array("values", "N H1", "float32", "the critic's predictions", noise=1e-5),
        _WEIGHTS,
        Array("returns", "N H", "float32", "λ-returns", noise=1e-5),
        Array("advantages", "N H", "float32", "normalised", noise=1e-5),
        Array("actor_loss", "N H", "float32", "one per counted state", noise=1e-5),
        Array("critic_loss", "N H", "float32", "one per counted state", noise=1e-5),
        Array(
            "actor_gradient",
            "N H1 O",
            "float32",
            "gradient of the mean actor loss over N and H in the actor's outputs",
            noise=1e-5,
        ),
        Array(
            "actor_to_critic",
            "N H1 K",
            "float32",
            "gradient of the mean actor loss in the critic's logits: none",
        ),
        Array(
            "critic_gradient",
            "N H1 K",
            "float32",
            "gradient of the mean critic loss over N and H in the critic's logits",
            noise=1e-5,
        ),
    ),
)

REPLAY_CRITIC_LOSS = Operation(
    "dreamerv3.replay_critic_loss",
    "the critic's loss on replayed rows 0 to T − 2: two-hot loss of R_t = r_{t+1} + d_{t+1} · "
    "((1 − l_{t+1}) · b_{t+1} + l_{t+1} · R_{t+1}) and, with the weight 1, of the slow critic's "
    "decoded prediction; d = γ · (1 − is_terminal), l = λ · (1 − is_last), R_{T−1} = b_{T−1}; "
    "it is 0 on rows that are the last of an episode",
    (
        Array("critic_logits", "B T K", "float32", "the critic's"),
        Array("slow_logits", "B T K", "float32", "the slow critic's"),
        Array("reward", "B T", "float32", "received on entering each row"),
        Array("is_terminal", "B T", "bool", "the episode ended by itself in this row"),
        Array("is_last", "B T", "bool", "the episode ended in this row, for whatever reason"),
        Array("bootstrap", "B T", "float32", "b, the imagined λ-return from each row"),
        Setting("followed", int, "L = T − 1, the rows that another one follows", axis="L"),
    ),
    (
        Array("returns", "B L", "float32", "R", noise=3e-6),
        Array("loss", "B L", "float32", "one per followed row, without its scale", noise=1e-5),
        Array(
            "gradient",
            "B T K",
            "float32",
            "gradient of the mean loss over B and L in the critic's logits",
            noise=1e-5,
        ),
    ),
)

OPERATIONS = (IMAGINED_RETURNS, ACTOR_LOSS, IMAGINATION_LOSSES, REPLAY_CRITIC_LOSS)
