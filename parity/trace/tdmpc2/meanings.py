"""What each quantity of a plan and an update is, for whoever has to answer with it.

H steps of B sequences, everything time-major; a plan has I iterations of N trajectories, the
policy's first.
"""

from __future__ import annotations

MEANINGS = {
    "plan_latent": "the encoded observation",
    "plan_actions": "of all trajectories, in each iteration",
    "plan_values": "of all trajectories, in each iteration",
    "plan_elites": "their indices, in ascending order",
    "plan_mean": "of the last iteration: what the next plan starts from, before the shift",
    "plan_action": "the action to take, explored around and clipped",
    "next_latents": "encoded observations after each action: the consistency loss's targets",
    "target_actions": "of the policy in these states",
    "target_values": "of both drawn target networks there",
    "returns": "reward plus discount times the smaller of them: the value loss's targets",
    "latents": "rolled out from the first observation, the first included",
    "q_logits": "of all networks, in the rolled-out states but the last",
    "reward_logits": "likewise",
    "consistency": "mean squared error of each step, without weights and coefficients",
    "reward": "cross entropy of each step, likewise",
    "value": "cross entropy of each network and step, likewise",
    "consistency_loss": "weighted by rho, mean over steps, without its coefficient",
    "reward_loss": "likewise",
    "value_loss": "likewise, and mean over networks",
    "termination_logits": "in the episodic mode: in the rolled-out states but the first",
    "termination_loss": "in the episodic mode: mean cross entropy of these, without weights",
    "total_loss": "all of them with their coefficients",
    "gradient": "before any clipping; the model's of the total loss, the policy's of its own",
    "gradient_norm": "the norm that the model's gradient is clipped by",
    "second_moment": "of Adam, after the step",
    "first_moment": "of Adam, after the step",
    "parameter": "after the step",
    "policy_mean": "in all rolled-out states, before squashing",
    "policy_log_std": "likewise",
    "policy_actions": "drawn there, squashed",
    "policy_entropy": "what the policy's loss takes for it",
    "policy_values": "mean of the two drawn networks, before the scale",
    "scale": "the running scale, after this batch",
    "policy_loss": "weighted by rho, mean over states",
    "policy_gradient_norm": "of the policy's own gradient",
    "target_q": "after the step",
    "updates": "after the step",
}
