"""T24: the two-hot bins, targets, expectation and log-probabilities."""

from __future__ import annotations

from parity.registry import Entry, Source

ROW = Entry(
    id="T24",
    agent="TD-MPC2",
    kind="deviation",
    title="Two-hot bins, targets and expectation",
    reference=(
        "Two-hot over torch.linspace(vmin, vmax, 101) (middle bin −1.5e-7, not 0), any vmin < "
        "vmax; the target by the floor formula k = floor((x − vmin)/Δ); the naive expectation Σ "
        "p_k·b_k; F.log_softmax."
    ),
    subject=(
        "Bins: the float32 rounding of the float64 grid, mirrored (within 4.8e-7 of torch's). "
        "Target: linear interpolation between the neighbouring bins. Symmetric expectation as in "
        "D22. Log-probabilities: logits − logsumexp(logits). Symmetric ranges only (vmax = −vmin, "
        "as in every TD-MPC2 config)."
    ),
    consequence=(
        "Float32 rounding: weights within 1.1e-5 of the floor formula and closer to the exact ones "
        "(2e-6 vs 8.6e-6); decode within ε·(1 + 6·E_p|b|) in symlog space (≤ 4.8e-6); "
        "log-probabilities within 3·ε·(max|logits| + loss)."
    ),
    sources=(
        Source("tdmpc2-b67b21c", "tdmpc2/common/math.py", "5-9"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/math.py", "5-9"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/math.py", "66-95"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/math.py", "66-95"),
        Source("tdmpc2-b67b21c", "tdmpc2/common/parser.py", "40"),
        Source("tdmpc2-5f6fade", "tdmpc2/common/parser.py", "40"),
        Source("tdmpc2-eece801", "tdmpc2/common/math.py", "6-10"),
        Source("tdmpc2-eece801", "tdmpc2/common/math.py", "59-84"),
        Source("tdmpc2-eece801", "tdmpc2/common/parser.py", "59"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/math.py", "5-9"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/math.py", "58-83"),
        Source("tdmpc2-e9f5932", "tdmpc2/common/parser.py", "59"),
    ),
)
