"""The data path of a right port that is not JAX: environments, replay, schedule, one by one."""

from collections import deque

import numpy as np

F32 = np.float32


class Scripted:
    """One environment of `dreamerv3.rows`, its time limit and its action repeat."""

    def __init__(self, rng, length, rewards, limit, repeat, size):
        self.rng, self.length, self.rewards = rng, length, rewards
        self.limit, self.repeat, self.size = limit, repeat, size

    def reset(self):
        self.start, self.steps = int(self.rng.integers(1 << 24)), 0
        return self.row(np.zeros(self.size, F32), F32(0), first=True)

    def step(self, action):
        total = F32(0)
        for _ in range(self.repeat):
            self.steps += 1
            total += self.rewards[self.steps - 1]
            terminal = self.steps == self.length
            if terminal or self.steps == self.limit:
                return self.row(action, total, last=True, terminal=terminal)
        return self.row(action, total)

    def row(self, taken, reward, *, first=False, last=False, terminal=False):
        flags = {"is_first": first, "is_last": last, "is_terminal": terminal}
        shown = {"start": self.start, "step": self.steps, "taken": taken, "reward": reward}
        return {**shown, **flags}


def rows(lengths, rewards, actions, limit, repeat):
    rng, columns = np.random.default_rng(5), []
    for n in range(len(lengths)):
        size = actions.shape[-1]
        env, column = Scripted(rng, lengths[n], rewards[n], limit, repeat, size), []
        row = env.reset()
        for action in actions[:, n]:
            over = row["is_last"]
            column.append({**row, "action": np.zeros_like(action) if over else action})
            row = env.reset() if over else env.step(action)
        columns.append(column)
    return {
        name: np.stack([[row[name] for row in column] for column in columns], axis=1)
        for name in columns[0][0]
    }


def continue_target(is_first, is_last, is_terminal):
    return {"target": np.where(is_terminal, F32(0), F32(1) - F32(1) / F32(333))}


def environment_action(action, low, high):
    bounded = np.isfinite(low) & np.isfinite(high)
    low, high = np.where(bounded, low, F32(-1)), np.where(bounded, high, F32(1))
    middle, half = (low + high) / F32(2), (high - low) / F32(2)
    return {"received": np.clip(action, -1, 1) * half + middle}


def replay(capacity, batch, length, after, mark, new_deter, new_stoch, **columns):
    rng, ticks_envs = np.random.default_rng(6), mark.shape
    envs, latents = ticks_envs[1], {k: columns[k].copy() for k in ("deter", "stoch")}
    queue, drawn, added = deque(), [], 0
    flags = ("action", "reward", "is_first", "is_last", "is_terminal")
    for d, until in enumerate(after):
        for k in range(added, until):
            if k > length and k % (length + 1) == 0:
                queue.extend((n, k - length) for n in range(envs))
        added, sequences = int(until), []
        oldest = max(0, added - capacity)
        for _ in range(batch):
            online = bool(queue)
            if online:
                n, first = queue.popleft()
            else:
                n, first = int(rng.integers(envs)), int(rng.integers(oldest, added - length))
            sequences.append((online, first, n))
        online, first, n = map(np.asarray, zip(*sequences, strict=True))
        tick = first[:, None] + 1 + np.arange(length)
        one = {"online": online, "mark": mark[tick, n[:, None]]}
        one |= {name: columns[name][tick, n[:, None]] for name in flags}
        one |= {f"context_{name}": latents[name][first, n] for name in latents}
        drawn.append({**one, "context_action": columns["action"][first, n]})
        for b in range(batch):
            latents["deter"][tick[b], n[b]] = new_deter[d, b]
            latents["stoch"][tick[b], n[b]] = new_stoch[d, b]
    return {name: np.stack([one[name] for one in drawn]) for name in drawn[0]}


def trained_updates(envs, batch, length, train_ratio, ticks):
    updates, credit, total = 0, None, []
    for tick in range(ticks):
        for n in range(envs):
            rows = [tick + (other <= n) for other in range(envs)]
            whole = sum(max(0, count - length) for count in rows)
            if credit is None:
                credit = 1.0 if whole >= batch else None
            else:
                credit += train_ratio / (batch * length)
            while credit is not None and credit >= 1:
                updates, credit = updates + 1, credit - 1
        total.append(updates)
    return {"updates": np.asarray(total, np.int64)}


OPERATIONS = {
    "dreamerv3.rows": rows,
    "dreamerv3.continue_target": continue_target,
    "dreamerv3.environment_action": environment_action,
    "dreamerv3.replay": replay,
    "dreamerv3.trained_updates": trained_updates,
}
