"""The networks, the latent dynamics and acting of DreamerV3 in float32 numpy.

Written from the documentation of the operations alone, as somebody's port would be.
"""

import itertools

import numpy as np

F32 = np.float32


def silu(x):
    return x / (1 + np.exp(-x))


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def norm(n, scale):
    return n * scale / np.sqrt(np.mean(n * n, -1, keepdims=True) + F32(1e-4))


def mixed(logits):
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    probs = weights / weights.sum(-1, keepdims=True)
    return np.log(F32(0.99) * probs + F32(0.01 / logits.shape[-1]))


class Layers:
    """Layers by name, out of an operation's arrays."""

    def __init__(self, arrays):
        self.arrays = arrays

    def linear(self, name, x):
        return x @ self.arrays[f"{name}_kernel"] + self.arrays[f"{name}_bias"]

    def hidden(self, name, x):
        return silu(norm(self.linear(name, x), self.arrays[f"{name}_scale"]))

    def perceptron(self, name, layers, x):
        for i in range(layers):
            x = self.hidden(f"{name}_hidden{i}", x)
        return x

    def blocks(self, name, x, shared):
        kernel = self.arrays[f"{name}_kernel"]
        parts = [np.hstack([part, shared]) for part in np.split(x, len(kernel), 1)]
        outputs = [part @ k for part, k in zip(parts, kernel, strict=True)]
        return np.hstack(outputs) + self.arrays[f"{name}_bias"]

    def encode(self, observation):
        return self.perceptron("enc", 3, np.sign(observation) * np.log1p(np.abs(observation)))

    def step(self, deter, stoch, action):
        action = np.clip(action, -1, 1)
        inputs = [
            self.hidden(f"dyn_{name}_in", x)
            for name, x in (("deter", deter), ("stoch", flat(stoch)), ("action", action))
        ]
        x = silu(
            norm(self.blocks("dyn_core", deter, np.hstack(inputs)), self.arrays["dyn_core_scale"])
        )
        gates = self.blocks("dyn_gates", x, np.zeros((len(x), 0), F32))
        count = len(self.arrays["dyn_gates_kernel"])
        reset, candidate, update = np.split(gates.reshape(len(x), count, -1), 3, -1)
        update = sigmoid(update - 1)
        old = deter.reshape(len(x), count, -1)
        new = update * np.tanh(sigmoid(reset) * candidate) + (1 - update) * old
        return new.reshape(deter.shape)

    def prior(self, deter, shape):
        x = self.linear("dyn_prior_out", self.perceptron("dyn_prior", 2, deter))
        return mixed(x.reshape(shape))

    def posterior(self, deter, embed, shape):
        x = self.perceptron("dyn_posterior", 1, np.hstack([deter, embed]))
        return mixed(self.linear("dyn_posterior_out", x).reshape(shape))

    def policy(self, deter, stoch):
        x = self.perceptron("actor", 3, np.hstack([deter, flat(stoch)]))
        return mixed(self.linear("actor_out", x))

    def observe(self, deter, stoch, action, embed, is_first, noise):
        keep = 1 - is_first.astype(F32)[:, None]
        deter = self.step(deter * keep, stoch * keep[..., None], action * keep)
        log_probs = self.posterior(deter, embed, stoch.shape)
        return deter, draw(log_probs, noise), log_probs


def flat(stoch):
    return stoch.reshape(len(stoch), -1)


def draw(log_probs, noise):
    return np.eye(log_probs.shape[-1], dtype=F32)[np.argmax(log_probs + noise, -1)]


def classes(stoch):
    return np.argmax(stoch, -1).astype(np.int64)


def hidden_layer(x, mode, **parameters):
    return {"y": Layers(parameters).hidden("layer", x)}


def block_hidden_layer(blocked, shared, kernel, bias, scale, mode):
    layers = Layers({"_kernel": kernel, "_bias": bias})
    return {"y": silu(norm(layers.blocks("", blocked, shared), scale))}


def encode(observation, **parameters):
    return {"embed": Layers(parameters).encode(observation)}


def head(network, deter, stoch, **parameters):
    layers = Layers(parameters)
    depth = 1 if network in ("rew", "con") else 3
    x = layers.perceptron("head", depth, np.hstack([deter, flat(stoch)]))
    output = layers.linear("head_out", x)
    return {"output": mixed(output) if network == "actor" else output}


def continuous_actor(deter, stoch, noise, **parameters):
    layers = Layers(parameters)
    x = layers.perceptron("actor", 3, np.hstack([deter, flat(stoch)]))
    mean = np.tanh(layers.linear("actor_out", x))
    deviation = F32(0.9) * sigmoid(layers.linear("actor_std", x) + 2) + F32(0.1)
    return {"mean": mean, "deviation": deviation, "action": mean + deviation * noise}


def parameter_counts(observation_size, actions, units, hidden, deter, stoch, classes, blocks, bins):
    feat, width = deter + stoch * classes, deter // blocks

    def perceptron(inputs, layers, outputs):
        widths = [inputs, *[units] * layers]
        kernel = sum(a * b for a, b in itertools.pairwise(widths)) + units * outputs
        return (layers + 1, layers + 1, layers), (kernel, layers * units + outputs, layers * units)

    inputs = (deter + stoch * classes + actions) * hidden
    core = blocks * (width + 3 * hidden) * width + blocks * width * 3 * width
    prior = deter * hidden + hidden * hidden + hidden * stoch * classes
    posterior = (deter + units) * hidden + hidden * stoch * classes
    dyn = (
        (10, 10, 7),
        (
            inputs + core + prior + posterior,
            6 * hidden + 4 * deter + 2 * stoch * classes,
            6 * hidden + deter,
        ),
    )
    enc = (3, 3, 3), (observation_size * units + 2 * units * units, 3 * units, 3 * units)
    table = [enc, dyn]
    heads = ((3, observation_size), (1, bins), (1, 1), (3, actions), (3, bins))
    table += [perceptron(feat, layers, outputs) for layers, outputs in heads]
    leaves, numbers = zip(*table, strict=True)
    return {"leaves": np.asarray(leaves), "numbers": np.asarray(numbers)}


def fresh_outputs(features, shift, seed):
    rng = np.random.default_rng(seed)
    outscales = (0.1, 0, 1, 0.01, 0, 1, 1)
    outputs = (4, 255, 1, 2, 255, 32, 32)
    spreads = []
    for outscale, count in zip(outscales, outputs, strict=True):
        draws = rng.standard_normal(64 * count * 3 + 64)
        kernel = draws[np.abs(draws) < 2][: 64 * count] / 0.87962566 * outscale / 8
        spreads.append(np.sqrt(np.mean(kernel**2) * 64))
    logits = np.tile(shift, (len(features), 1))
    return {
        "outscale": np.asarray(spreads, F32),
        "biases": np.zeros(7, F32),
        "reward_logits": logits,
        "critic_logits": logits,
        "slow_critic_logits": logits,
    }


def recurrent_step(deter, stoch, action, **parameters):
    return {"deter": Layers(parameters).step(deter, stoch, action)}


def observe(observation, is_first, previous_action, deter, stoch, noise, **parameters):
    layers, rows = Layers(parameters), []
    for t in range(observation.shape[1]):
        embed = layers.encode(observation[:, t])
        deter, stoch, posterior = layers.observe(
            deter, stoch, previous_action[:, t], embed, is_first[:, t], noise[:, t]
        )
        rows.append((deter, posterior, layers.prior(deter, stoch.shape), classes(stoch)))
    columns = (np.stack(column, 1) for column in zip(*rows, strict=True))
    return dict(zip(("deters", "posterior", "prior", "classes"), columns, strict=True))


def imagine(deter, stoch, prior_noise, action_noise, **parameters):
    layers, rows, scores = Layers(parameters), [], []
    for noise, gumbel in zip(action_noise, [*prior_noise, None], strict=True):
        log_probs = layers.policy(deter, stoch)
        action = draw(log_probs, noise)
        rows.append((deter, classes(stoch), classes(action)))
        if gumbel is not None:
            scores.append((action * log_probs).sum(-1))
            deter = layers.step(deter, stoch, action)
            stoch = draw(layers.prior(deter, stoch.shape), gumbel)
    columns = (np.stack(column) for column in zip(*rows, strict=True))
    answer = dict(zip(("deters", "classes", "actions"), columns, strict=True))
    return {**answer, "scores": np.stack(scores)}


def act(observation, is_first, previous_action, deter, stoch, noise, action_noise, **parameters):
    layers = Layers(parameters)
    vector = np.eye(action_noise.shape[-1], dtype=F32)[previous_action]
    embed = layers.encode(observation)
    deter, stoch, _ = layers.observe(deter, stoch, vector, embed, is_first, noise)
    policy = layers.policy(deter, stoch)
    action = classes(draw(policy, action_noise))
    return {"action": action, "policy": policy, "deter_now": deter, "classes": classes(stoch)}


def previous_actions(context_action, action, actions):
    before = np.concatenate([context_action[:, None], action[:, :-1]], 1)
    return {"vectors": np.eye(actions, dtype=F32)[before]}


def imagined_counts(batch, length):
    counts = {"trajectories": batch * length, "states": 16, "scored": 15}
    return {name: np.asarray(count) for name, count in counts.items()}


def straight_through(log_probs, noise, weights):
    exponentials = np.exp(log_probs - log_probs.max(-1, keepdims=True))
    probs = exponentials / exponentials.sum(-1, keepdims=True)
    mean = (probs * weights).sum(-1, keepdims=True)
    return {"draw": draw(log_probs, noise), "gradient": probs * (weights - mean)}


OPERATIONS = {
    "dreamerv3.hidden_layer": hidden_layer,
    "dreamerv3.block_hidden_layer": block_hidden_layer,
    "dreamerv3.encode": encode,
    "dreamerv3.shallow_head": head,
    "dreamerv3.deep_head": head,
    "dreamerv3.continuous_actor": continuous_actor,
    "dreamerv3.parameter_counts": parameter_counts,
    "dreamerv3.fresh_outputs": fresh_outputs,
    "dreamerv3.recurrent_step": recurrent_step,
    "dreamerv3.observe": observe,
    "dreamerv3.imagine": imagine,
    "dreamerv3.act": act,
    "dreamerv3.previous_actions": previous_actions,
    "dreamerv3.imagined_counts": imagined_counts,
    "dreamerv3.straight_through": straight_through,
}
