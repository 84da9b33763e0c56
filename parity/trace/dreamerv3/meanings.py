"""What each quantity of a step is, for whoever has to answer with it.

B sequences of T rows, N = B · T imagined trajectories of H steps; heads of replayed rows are
[B, T, ...], those of imagined states [N, H or H + 1, ...].
"""

from __future__ import annotations

MEANINGS = {
    "previous_actions": "the action before each row, one-hot if discrete; not yet cut at resets",
    "embed": "the encoder's output",
    "deter": "recurrent state of each row",
    "post_logits": "log-probabilities of the posterior, after unimix",
    "stoch": "the draw from it, one-hot: argmax(log-probabilities + noise)",
    "prior_logits": "log-probabilities of the prior, after unimix",
    "decoded": "the decoder's output, before symexp",
    "reward_logits": "of the two-hot bins",
    "continue_logits": "of the continue head",
    "rec_loss": "of each row, times its scale, as every loss here",
    "con_loss": "of each row",
    "dyn_loss": "of each row, after the free nats",
    "rep_loss": "of each row, after the free nats",
    "rew_loss": "of each row",
    "imagined_deter": "states 0 to H; state 0 is that of the row",
    "imagined_stoch": "states 0 to H",
    "imagined_actions": "drawn in states 0 to H, one-hot if discrete",
    "rewards": "of states 0 to H; that of state 0 is the row's own",
    "continues": "predicted for states 1 to H, discount included",
    "weights": "of states 0 to H: the product of the continues up to there",
    "policy": "in states 0 to H - 1: log-probabilities after unimix, or mean and deviation",
    "critic_logits": "in states 0 to H - 1",
    "values": "in states 0 to H",
    "slow_values": "of the slow critic, in states 0 to H - 1",
    "returns": "of states 0 to H - 1",
    "normaliser_low": "after these returns",
    "normaliser_high": "after these returns",
    "advantages": "(return - value) over the normaliser's scale, in states 0 to H - 1",
    "log_probs": "of the actions in states 0 to H - 1",
    "entropies": "of the policy in states 0 to H - 1",
    "actor_loss": "of each counted state",
    "critic_loss": "of each counted state",
    "replay_critic_logits": "in each row",
    "replay_slow_values": "of the slow critic, in each row",
    "replay_returns": "of rows 0 to T - 2",
    "repval_loss": "of rows 0 to T - 2",
    "total_loss": "the sum of the means of all losses",
    "gradient": "of the total loss, before any clipping",
    "second_moment": "of the optimiser, after the step",
    "momentum": "of the optimiser, after the step",
    "parameter": "after the step",
    "slow_critic": "after the step",
    "updates": "after the step",
}
