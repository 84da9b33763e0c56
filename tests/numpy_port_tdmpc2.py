"""TD-MPC2 in float32 numpy, with the formulas that one would write."""

import itertools

import numpy as np

F32 = np.float32


def symlog(x):
    return {"y": np.sign(x) * np.log1p(np.abs(x))}


def symexp(x):
    return {"y": np.sign(x) * np.expm1(np.abs(x))}


def mish(x):
    return {"y": x * np.tanh(np.logaddexp(x, F32(0)))}


def softmax(x):
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def sim_norm(x, length):
    return {"y": softmax(x.reshape(*x.shape[:-1], -1, length)).reshape(x.shape)}


def layer(x, given, name, act, mask=None):
    x = x @ given[f"{name}_kernel"] + given[f"{name}_bias"][..., None, :]
    if mask is not None:
        x = x * mask
    if act:
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt(np.mean(x * x, -1, keepdims=True) + F32(1e-5))
        x = act(x * given[f"{name}_scale"][..., None, :] + given[f"{name}_offset"][..., None, :])
    return x


def activation(x):
    return mish(x)["y"]


def factor(keep, dropout):
    return keep / F32(1 - dropout) if dropout else None


def normed_linear(x, keep, dropout, **given):
    return {"y": layer(x, given, "layer", activation, factor(keep, dropout))}


def perceptron(x, given, name, layers=2, mask=None, out=None):
    for i in range(layers):
        x = layer(x, given, f"{name}_hidden{i}", activation, mask if i == 0 else None)
    return layer(x, given, f"{name}_out", out)


def simplices(length):
    return lambda x: sim_norm(x, length)["y"]


def encode(observation, simnorm_dim, **given):
    return {"latent": perceptron(observation, given, "enc", 1, out=simplices(simnorm_dim))}


def both(latent, action):
    return np.concatenate([latent, action], -1)


def next_latent(latent, action, simnorm_dim, **given):
    found = perceptron(both(latent, action), given, "dyn", out=simplices(simnorm_dim))
    return {"next_latent": found}


def reward_logits(latent, action, **given):
    return {"logits": perceptron(both(latent, action), given, "rew")}


def policy_outputs(latent, **given):
    return {"outputs": perceptron(latent, given, "pi")}


def q_logits(latent, action, keep, dropout, **given):
    x = np.broadcast_to(both(latent, action), (len(keep), len(latent), latent.shape[1] + 3))
    return {"logits": perceptron(x, given, "q", mask=factor(keep, dropout))}


def q_value(latent, action, members, keep, dropout, limit, reduction, **given):
    drawn = {name: value[members] for name, value in given.items()}
    logits = q_logits(latent, action, keep, dropout, **drawn)["logits"]
    values = np.stack([twohot_decode(x, limit)["value"] for x in logits])
    return {"value": values.min(0) if reduction == "min" else values.mean(0)}


def policy(outputs, noise, mask, log_std_min, log_std_max, form):
    mean, raw = np.split(outputs, 2, -1)
    mean, noise, all_actions = mean * mask, noise * mask, noise.shape[-1]
    log_std = F32(log_std_min) + F32(log_std_max - log_std_min) * (np.tanh(raw) + 1) / 2
    log_std = log_std * mask
    action, count = np.tanh(mean + np.exp(log_std) * noise), mask.sum(-1)
    squashing = np.log(np.maximum(0, 1 - action**2) + F32(1e-6)).sum(-1)
    residual, constant = (-(noise**2) / 2 - log_std).sum(-1), F32(np.log(2 * np.pi) / 2)
    entropy = squashing - count * (residual - constant)
    if form == "scaled":
        gaussian = residual - all_actions * constant
        log_prob = gaussian - squashing
        entropy = -log_prob * (count * gaussian / (log_prob + F32(1e-8)))
    return {"mean": np.tanh(mean), "log_std": log_std, "action": action, "entropy": entropy}


def grid(count, limit):
    return np.linspace(-limit, limit, count).astype(F32)


def twohot_bins(count, limit):
    return {"bins": grid(count, limit)}


def twohot_encode(value, count, limit):
    step = F32(2 * limit / (count - 1))
    place = (np.clip(symlog(value)["y"], -limit, limit) + F32(limit)) / step
    return {"weights": np.maximum(0, 1 - np.abs(place[:, None] - np.arange(count, dtype=F32)))}


def twohot_loss(logits, value, limit):
    weights = twohot_encode(value, logits.shape[-1], limit)["weights"]
    top = logits.max(-1, keepdims=True)
    log_probs = logits - top - np.log(np.exp(logits - top).sum(-1, keepdims=True))
    return {"loss": -(weights * log_probs).sum(-1)}


def twohot_decode(logits, limit):
    return {"value": symexp(softmax(logits) @ grid(logits.shape[-1], limit))["y"]}


def percentiles(values):
    low, high = np.percentile(values, [5, 95]).astype(F32)
    return {"low": np.asarray(low), "high": np.asarray(high)}


def running_scale(values, initial, tau):
    scale, seen = F32(initial), []
    for batch in values:
        apart = percentiles(batch)
        scale = scale + F32(tau) * (max(F32(1), apart["high"] - apart["low"]) - scale)
        seen.append(scale)
    return {"scale": np.asarray(seen, F32)}


def discount(episode_length):
    return {"discount": np.clip(1 - 5 / episode_length, 0.95, 0.995)}


WIDTHS = {1: (256, 2, 384, 128, 2), 5: (256, 2, 512, 512, 5), 19: (1024, 3, 1024, 768, 5)} | {
    48: (1792, 4, 1792, 768, 5),
    317: (4096, 5, 4096, 1376, 8),
}


def parameter_counts(size, observation_size, action_size):
    enc, layers, width, latent, members = WIDTHS[size]

    def numbers(*widths, norms):
        kernels = sum((i + 1) * o for i, o in itertools.pairwise(widths))
        return kernels + 2 * sum(widths[1 : norms + 1])

    hidden, inputs = (width, width), latent + action_size
    return {
        "numbers": np.asarray(
            [
                numbers(observation_size, *[enc] * (layers - 1), latent, norms=layers),
                numbers(inputs, *hidden, latent, norms=3),
                numbers(inputs, *hidden, 101, norms=2),
                numbers(latent, *hidden, 2 * action_size, norms=2),
                members * numbers(inputs, *hidden, 101, norms=2),
            ]
        )
    }


def td_targets(q_logits, members, reward, terminated, discount, limit):
    values = np.stack([twohot_decode(x, limit)["value"] for x in q_logits[members]])
    return {"returns": reward + F32(discount) * (1 - terminated) * values.min(0)}


def fit(actions, values, elites, temperature, min_std, max_std):
    best = np.argsort(-values, kind="stable")[:elites]
    weights = softmax(F32(temperature) * values[best])[:, None]
    mean = (weights * actions[:, best]).sum(1)
    variance = (weights * (actions[:, best] - mean[:, None]) ** 2).sum(1)
    return {"mean": mean, "std": np.clip(np.sqrt(variance), F32(min_std), F32(max_std))}


NETWORKS = ("encoder", "dynamics", "reward", "q", "policy")


def optimizer(learning_rate, enc_lr_scale, limit, tau, counted, target, **given):
    params, first, second = {n: given[n] for n in NETWORKS}, {}, {}
    seen, left_over = {name: [] for name in (*NETWORKS, "target", "norm")}, 0.0
    for k in range(len(given["q_gradients"])):
        g = {n: given[f"{n}_gradients"][k] for n in NETWORKS}
        total = sum(np.sum(g[n] ** 2) for n in NETWORKS[:4])
        norm = np.sqrt(total + left_over * (counted == "all"))
        for n in NETWORKS:
            own = np.sqrt(np.sum(g[n] ** 2)) if n == "policy" else norm
            clipped = g[n] * F32(min(1, limit / (own + 1e-6)))
            first[n] = F32(0.9) * first.get(n, F32(0)) + F32(0.1) * clipped
            second[n] = F32(0.999) * second.get(n, F32(0)) + F32(0.001) * clipped**2
            rate = learning_rate * (enc_lr_scale if n == "encoder" else 1)
            root = np.sqrt(second[n] / F32(1 - 0.999 ** (k + 1)))
            step = (
                first[n] / F32(1 - 0.9 ** (k + 1)) / (root + F32(1e-5 if n == "policy" else 1e-8))
            )
            params[n] = params[n] - F32(rate) * step
            seen[n].append(params[n])
        left_over = np.sum(clipped**2)
        target = target + F32(tau) * (params["q"] - target)
        seen["target"].append(target)
        seen["norm"].append(F32(norm))
    return {name: np.stack(values) for name, values in seen.items()}


def layer_product(x, kernel, platform):
    del platform
    return {"y": x @ kernel}


def whole_numbers(**values):
    return {name: np.asarray(value, np.int64) for name, value in values.items()}


def repeated_seed_phase(seed, steps, actions):
    first, second, third = (
        np.random.default_rng(s).uniform(-1, 1, (steps, actions)) for s in (seed, seed, seed + 1)
    )
    repeated, other = (np.count_nonzero(first == x) for x in (second, third))
    return whole_numbers(repeated=repeated, other=other, outside=0, parameters=1, changed=1)


def multitask_score(returns, program):
    del program
    means = returns.astype(np.float64).mean(-1)
    return {"means": means, "score": np.asarray(means.mean() / 10)}


def row_slices(rows, longest, capacity, horizon, batch, batches, seed, bias=0.0, late=0):
    """Bias: how much more the first episodes are drawn. Late: how much later slices begin."""
    rng = np.random.default_rng(seed)
    oldest = np.maximum(rows.sum() - capacity - (np.cumsum(rows) - rows), 0)
    eligible = np.flatnonzero(rows - oldest > horizon)
    starts = np.zeros((len(rows), longest))
    if not len(eligible):
        return whole_numbers(possible=0, starts=starts, torn=0)
    weights = 1 + bias * np.arange(len(eligible))[::-1]
    episode = rng.choice(eligible, batch * batches, p=weights / weights.sum())
    start = rng.integers(oldest[episode], rows[episode] - horizon + late)
    np.add.at(starts, (episode, start), 1)
    return whole_numbers(possible=1, starts=starts, torn=0)


def row_capacity(buffer_size, steps, envs):
    return whole_numbers(rows=-(-min(buffer_size, steps) // envs))


OPERATIONS = {
    "tdmpc2.symlog": symlog,
    "tdmpc2.symexp": symexp,
    "tdmpc2.mish": mish,
    "tdmpc2.sim_norm": sim_norm,
    "tdmpc2.normed_linear": normed_linear,
    "tdmpc2.twohot_bins": twohot_bins,
    "tdmpc2.twohot_encode": twohot_encode,
    "tdmpc2.twohot_loss": twohot_loss,
    "tdmpc2.twohot_decode": twohot_decode,
    "tdmpc2.percentiles": percentiles,
    "tdmpc2.running_scale": running_scale,
    "tdmpc2.discount": discount,
    "tdmpc2.encode": encode,
    "tdmpc2.next": next_latent,
    "tdmpc2.reward_logits": reward_logits,
    "tdmpc2.policy_outputs": policy_outputs,
    "tdmpc2.q_logits": q_logits,
    "tdmpc2.q_value": q_value,
    "tdmpc2.policy": policy,
    "tdmpc2.parameter_counts": parameter_counts,
    "tdmpc2.td_targets": td_targets,
    "tdmpc2.fit": fit,
    "tdmpc2.optimizer": optimizer,
    "tdmpc2.layer_product": layer_product,
    "tdmpc2.repeated_seed_phase": repeated_seed_phase,
    "tdmpc2.multitask_score": multitask_score,
    "tdmpc2.row_slices": row_slices,
    "tdmpc2.row_capacity": row_capacity,
}
