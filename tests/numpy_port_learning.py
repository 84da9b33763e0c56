"""Losses, returns and policies of DreamerV3 in float32 numpy.

Written from the documentation of the operations alone, as somebody's port would be; gradients
are derived by hand.
"""

import numpy as np

F32 = np.float32
GAMMA, LAMBDA = F32(1 - 1 / 333), F32(0.95)


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def log_softmax(x):
    x = x - x.max(-1, keepdims=True)
    return x - np.log(np.exp(x).sum(-1, keepdims=True))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def kl_losses(posterior, prior, free_nats):
    log_p, log_q = log_softmax(posterior), log_softmax(prior)
    p, q = np.exp(log_p), np.exp(log_q)
    each = (p * (log_p - log_q)).sum(-1)
    kl = each.sum(-1)
    counts = np.where(kl > free_nats, F32(1), np.where(kl == free_nats, F32(0.5), F32(0)))
    counts = counts[..., None, None] / F32(kl.size)
    loss = np.maximum(kl, F32(free_nats))
    return {
        "dyn": loss,
        "rep": loss,
        "dyn_to_posterior": np.zeros_like(p),
        "dyn_to_prior": counts * (q - p),
        "rep_to_posterior": counts * p * (log_p - log_q - each[..., None]),
        "rep_to_prior": np.zeros_like(p),
    }


def decoder_loss(decoded, observation):
    error = decoded - np.sign(observation) * np.log1p(np.abs(observation))
    error = np.where(error**2 < F32(1e-8), F32(0), error)
    rows = error.shape[0] * error.shape[1]
    return {"loss": (error**2).sum(-1), "gradient": 2 * error / F32(rows)}


def continue_loss(logits, is_terminal, is_last):
    target = GAMMA * (1 - is_terminal.astype(F32))
    loss = target * softplus(-logits) + (1 - target) * softplus(logits)
    return {"loss": loss, "gradient": (sigmoid(logits) - target) / F32(logits.size)}


def categorical(raw, onehot):
    """Log-probability, entropy, and their slopes in `raw`."""
    plain = softmax(raw)
    p = F32(0.99) * plain + F32(0.01 / raw.shape[-1])
    log_p = np.log(p)

    def slope(weights):  # of Σ weights · p in the raw logits
        mixed = F32(0.99) * plain * weights
        return mixed - plain * mixed.sum(-1, keepdims=True)

    return (
        (onehot * log_p).sum(-1),
        -(p * log_p).sum(-1),
        slope(onehot / p),
        slope(-(log_p + 1)),
        log_p,
    )


def discrete_policy(raw, action, gumbel):
    onehot = np.eye(raw.shape[-1], dtype=F32)[action]
    log_prob, entropy, slope, entropy_slope, log_p = categorical(raw, onehot)
    return {
        "log_prob": log_prob,
        "entropy": entropy,
        "log_prob_slope": slope,
        "entropy_slope": entropy_slope,
        "drawn": np.argmax(log_p + gumbel, -1).astype(np.int32),
    }


def gaussian(mean, deviation, action):
    loc, gate = np.tanh(mean), sigmoid(deviation + 2)
    std = F32(0.9) * gate + F32(0.1)
    z = (action - loc) / std
    inner = F32(0.9) * gate * (1 - gate)
    constant = F32(0.5 * np.log(2 * np.pi))
    log_prob = (-z * z / 2 - np.log(std) - constant).sum(-1)
    entropy = (np.log(std) + F32(0.5) + constant).sum(-1)
    slope = [z / std * (1 - loc * loc), (z * z - 1) / std * inner]
    return log_prob, entropy, slope, [np.zeros_like(loc), inner / std], loc, std


def continuous_policy(mean, deviation, action, normal):
    log_prob, entropy, slope, entropy_slope, loc, std = gaussian(mean, deviation, action)
    return {
        "loc": loc,
        "scale": std,
        "log_prob": log_prob,
        "entropy": entropy,
        "log_prob_slope": np.stack(slope, 1),
        "entropy_slope": np.stack(entropy_slope, 1),
        "drawn": loc + std * normal,
    }


def follow(rewards, discounts, values, traces):
    """λ-returns of all states but the last."""
    total, found = values[:, -1], []
    for t in reversed(range(1, rewards.shape[1])):
        following = (1 - traces[:, t]) * values[:, t] + traces[:, t] * total
        total = rewards[:, t] + discounts[:, t] * following
        found.append(total)
    return np.stack(found[::-1], 1)


def imagined_returns(rewards, continues, values, normaliser, horizon):
    returns = follow(rewards, continues, values, np.full_like(values, LAMBDA))
    new = np.percentile(returns, [5, 95]).astype(F32)
    normaliser = F32(0.99) * normaliser + F32(0.01) * new
    scale = max(F32(1), normaliser[1] - normaliser[0])
    return {
        "weights": np.cumprod(continues, 1, dtype=F32),
        "returns": returns,
        "advantages": (returns - values[:, :-1]) / scale,
        "normaliser": normaliser,
    }


def actor_loss(rewards, continues, values, normaliser, log_probs, entropies, actent, horizon):
    found = imagined_returns(rewards, continues, values, normaliser, horizon)
    weights, advantages = found["weights"][:, :-1], found["advantages"]
    bonus = F32(actent) * entropies[:, :-1]
    last = ((0, 0), (0, 1))
    return {
        "loss": -weights * (log_probs[:, :-1] * advantages + bonus),
        "to_log_probs": np.pad(-weights * advantages / F32(weights.size), last),
        "to_entropies": np.pad(-weights * F32(actent) / F32(weights.size), last),
    }


def bins_of(logits):
    grid = np.linspace(-20, 20, logits.shape[-1])
    return (np.sign(grid) * np.expm1(np.abs(grid))).astype(F32)


def decode(logits):
    return softmax(logits) @ bins_of(logits)


def twohot(logits, value):
    """Loss of a value, and its gradient."""
    bins = bins_of(logits)
    value = np.clip(value, bins[0], bins[-1])
    above = np.clip(np.searchsorted(bins, value, side="right"), 1, len(bins) - 1)
    upper = ((value - bins[above - 1]) / (bins[above] - bins[above - 1]))[..., None]
    eye = np.eye(len(bins), dtype=F32)
    target = (1 - upper) * eye[above - 1] + upper * eye[above]
    return -(target * log_softmax(logits)).sum(-1), softmax(logits) - target


def imagination_losses(
    kind,
    horizon,
    start_reward,
    is_terminal,
    reward_logits,
    continue_logits,
    critic_logits,
    slow_logits,
    actor_outputs,
    actions,
    normaliser,
):
    rewards, values = decode(reward_logits), decode(critic_logits)
    continues = sigmoid(continue_logits)
    rewards[:, 0], continues[:, 0] = start_reward, 1 - is_terminal.astype(F32)
    found = imagined_returns(rewards, continues, values, normaliser, horizon)
    weights, advantages = found["weights"][:, :-1], found["advantages"]
    outputs, taken, logits = actor_outputs[:, :-1], actions[:, :-1], critic_logits[:, :-1]
    if kind == "discrete":
        log_prob, entropy, slope, bonus, _ = categorical(outputs, taken)
    else:
        halves = np.split(outputs, 2, -1)
        log_prob, entropy, slope, bonus, *_ = gaussian(halves[0], halves[1], taken)
        slope, bonus = (np.concatenate(x, -1) for x in (slope, bonus))
    eta = F32(3e-4)
    each = weights[..., None] / F32(weights.size)
    actor = -each * (slope * advantages[..., None] + eta * bonus)
    (to_return, by_return), (to_slow, by_slow) = (
        twohot(logits, target) for target in (found["returns"], decode(slow_logits)[:, :-1])
    )
    last = ((0, 0), (0, 1), (0, 0))
    return {
        "rewards": rewards,
        "values": values,
        "weights": found["weights"],
        "returns": found["returns"],
        "advantages": advantages,
        "actor_loss": -weights * (log_prob * advantages + eta * entropy),
        "critic_loss": weights * (to_return + to_slow),
        "actor_gradient": np.pad(actor, last),
        "actor_to_critic": np.zeros_like(critic_logits),
        "critic_gradient": np.pad(each * (by_return + by_slow), last),
    }


def replay_critic_loss(
    critic_logits, slow_logits, reward, is_terminal, is_last, bootstrap, followed
):
    live, inside = (1 - flag.astype(F32) for flag in (is_terminal, is_last))
    returns = follow(reward, GAMMA * live, bootstrap, LAMBDA * inside)
    logits = critic_logits[:, :-1]
    targets = (returns, decode(slow_logits)[:, :-1])
    (one, by_one), (two, by_two) = (twohot(logits, target) for target in targets)
    mask = inside[:, :-1]
    gradient = (mask / F32(mask.size))[..., None] * (by_one + by_two)
    return {
        "returns": returns,
        "loss": mask * (one + two),
        "gradient": np.pad(gradient, ((0, 0), (0, 1), (0, 0))),
    }


OPERATIONS = {
    f"dreamerv3.{function.__name__}": function
    for function in (
        kl_losses,
        decoder_loss,
        continue_loss,
        discrete_policy,
        continuous_policy,
        imagined_returns,
        actor_loss,
        imagination_losses,
        replay_critic_loss,
    )
}
