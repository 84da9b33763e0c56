"""The policy prior as a distribution, answered by nicklashansen/tdmpc2.

Runs inside the side environment.
"""

from __future__ import annotations

import torch

from reference_harness.tdmpc2 import agent
from reference_harness.tdmpc2.surroundings import Draws, array, given, tensor

FORM = "scaled" if agent.EPISODIC else "density"


class Prescribed(torch.nn.Module):
    """A network whose output is given."""

    def __init__(self, output):
        super().__init__()
        self._output = output

    def forward(self, *inputs):
        """The output, whatever the inputs."""
        del inputs
        return self._output


def check_form(form):
    """Raises unless this pin's policy has its entropy in this form."""
    if form != FORM:
        raise ValueError(f"the reference at this pin has the entropy {FORM!r}, not {form!r}")


def read(sample):
    """What `pi` returned: squashed mean, log σ, action, and the loss's entropy."""
    if agent.EPISODIC:
        action, info = sample
        return info["mean"], info["log_std"], action, info["scaled_entropy"][..., 0]
    mean, action, log_pi, log_std = sample
    return mean, log_std, action, -log_pi[..., 0]


def policy(outputs, noise, mask, log_std_min, log_std_max, form):
    check_form(form)
    settings = agent.config(
        action_size=noise.shape[-1],
        log_std_min=log_std_min,
        log_std_max=log_std_max,
        **{"enc_dim": 8, "mlp_dim": 8, "latent_dim": 8},
    )
    model = agent.build_model(settings)
    model._pi = Prescribed(tensor(outputs))
    task = None
    if not mask.all():
        # A task per row, whose vectors are empty.
        model.cfg.multitask = True
        model._action_masks = tensor(mask)
        model.task_emb = lambda x, task: x
        task = torch.arange(len(mask))
    with torch.no_grad(), given(Draws(normal=[noise])):
        sample = read(model.pi(torch.zeros(len(noise), 8), task))
    names = ("mean", "log_std", "action", "entropy")
    return dict(zip(names, map(array, sample), strict=True))


OPERATIONS = {"tdmpc2.policy": policy}
