"""T24: the two-hot bins, targets, expectation and log-probabilities."""

from __future__ import annotations

from deviations import t24_measurements as on
from deviations.eras import ALL
from parity.agreements.tdmpc2.twohot import DECODE, ENCODE, LOSS, in_symlog_space
from parity.claims import AtMost, BitIdentical, Equals, Stated, Within
from parity.comparisons import compare
from parity.registry import Claim, Entry, Source

SYMLOG = "tdmpc2.symlog"

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
    pins=ALL,
    claims=(
        Claim(
            "bins",
            "The core's bins are the reference's, within rounding.",
            AtMost(4.8e-7, "in symlog space"),
            "torch rounds its step of 0.2 and each multiple of it, the core each bin once: they "
            "part by one float32 between 4 and 8, 4.77e-7, and agree beyond.",
            (on.BINS,),
            on.bins_cases,
            compare(on.BINS, "bins", on.absolute),
            stated=Stated("within 4.8e-7 of torch's", 0, 4.8e-7),
            core_only=True,
        ),
        Claim(
            "middle-bin",
            "The reference's middle bin is −1.5e-7, not 0.",
            Within(-1.5e-7, -1.48e-7, "in symlog space"),
            "10 − 50 · 0.2 with the float32 of 0.2, which is 2.98e-9 too large: −1.49e-7.",
            (on.BINS,),
            on.bins_cases,
            on.middle,
            about="reference",
            stated=Stated("middle bin −1.5e-7", -1.55e-7, -1.45e-7),
        ),
        Claim(
            "reference-ranges",
            "The reference takes any vmin < vmax: the bins of three supports that are not "
            "symmetric are even grids from one end to the other.",
            AtMost(2, "ε of the largest bin"),
            "torch rounds its step, its multiple and their sum by half an ε each, none of them "
            "larger than the largest bin by more than that.",
            (on.RANGE,),
            on.ranges,
            on.even_bins,
            about="reference",
            stated=Stated("any vmin < vmax", 0, 2),
        ),
        Claim(
            "core-ranges",
            "The core has symmetric ranges only, and refuses those three; three that are as wide "
            "and symmetric it takes.",
            Equals(0, "of 6 supports"),
            "It is refused or it is not, and what is taken has the bins that were asked for.",
            (on.RANGE,),
            on.with_symmetric,
            on.refused,
            about="subject",
            core_only=True,
            stated=Stated("symmetric ranges only", 0, 0),
        ),
        Claim(
            "bins-rounding",
            "The core's bins are the float32 rounding of the exact ones, for three supports.",
            BitIdentical(),
            "Correct rounding has one answer.",
            (on.BINS,),
            on.all_bins_cases,
            on.rounding,
            about="subject",
            stated=Stated("the float32 rounding of the float64 grid", 0, 0),
            core_only=True,
        ),
        Claim(
            "encode",
            "Given the same symlog, the core's weights are those of the floor formula.",
            AtMost(1.1e-5, "weight"),
            "The sum of what the claims `encode-exact` and `reference-encode-exact` find.",
            (ENCODE, SYMLOG),
            on.encode_cases,
            on.weights_apart,
            stated=Stated("within 1.1e-5 of the floor formula", 0, 1.1e-5),
            core_only=True,
        ),
        Claim(
            "encode-exact",
            "The core's weights are the exact ones of its symlog.",
            AtMost(2e-6, "weight"),
            "Between 8 and 10 a bin is a multiple of 0.2 rounded by at most 0.4 ULP, 3.8e-7, "
            "which is 1.9e-6 of a step; the differences that are divided are exact.",
            (ENCODE, SYMLOG),
            on.encode_cases,
            on.weights_exact("subject"),
            about="subject",
            stated=Stated("2e-6", 0, 2e-6),
            core_only=True,
        ),
        Claim(
            "reference-encode-exact",
            "The reference's weights are the exact ones of its symlog, less exactly.",
            AtMost(1.01e-5, "weight"),
            "x + 10 is rounded by half a ULP of 16, 4.8e-6 of a step, and the quotient by half "
            "a ULP of 64, 3.8e-6; the float32 of the step 0.2 is 1.5e-8 off, 1.5e-6 of 100 steps.",
            (ENCODE, SYMLOG),
            on.encode_cases,
            on.weights_exact("reference"),
            about="reference",
            stated=Stated("8.6e-6", 0, 8.65e-6),
        ),
        Claim(
            "decode",
            "From the same logits, the decoded values part by rounding alone.",
            AtMost(6.5, "ε · (1 + 6 · E_p|b|), in symlog space"),
            "A sum of 50 pairs, one after the other, rounds by half an ε each time, and always the "
            "same way where most weights are alike: 25 ε of E|b|, 4.2 of this unit. The reference "
            "adds 101 terms in at most 13 steps, 1.1 of it, and its middle bin is 1.25 ε off. The "
            "row's own bound is too narrow for a bin above a flat rest.",
            (DECODE,),
            on.decode_cases,
            compare(DECODE, "value", in_symlog_space),
            stated=Stated("within ε·(1 + 6·E_p|b|)", 0, 1),
            core_only=True,
        ),
        Claim(
            "decode-exact",
            "The core's decoded values are the exact ones.",
            AtMost(3e-5, "in symlog space"),
            "25 ε of 10: the worst of a sum of 50 pairs (claim `decode`). The row's own bound is "
            "that of sums whose roundings go either way.",
            (DECODE,),
            on.decode_cases,
            on.decode_exact("subject"),
            about="subject",
            stated=Stated("≤ 4.8e-6", 0, 4.8e-6),
            core_only=True,
        ),
        Claim(
            "reference-decode-exact",
            "The reference's decoded values are the exact ones.",
            AtMost(1e-5, "in symlog space"),
            "A softmax is known to about 4 ε and the sum of 101 products, all of one sign at "
            "either end, rounds another 4 times half a ULP of 8: 8 ε of 10.",
            (DECODE,),
            on.decode_cases,
            on.decode_exact("reference"),
            about="reference",
            stated=Stated("≤ 4.8e-6", 0, 4.8e-6),
        ),
        Claim(
            "uniform-zero",
            "The core decodes uniform logits to exactly 0, one row or many.",
            Equals(0, "value"),
            "Equal logits have equal weights, since exp(0) is 1; their differences are exactly "
            "0. Rows with a raised logit, asked as a control, must be decoded right.",
            (DECODE,),
            on.uniform_cases,
            on.uniform_zero,
            about="subject",
            stated=Stated("symmetric expectation as in D22", 0, 0),
            core_only=True,
        ),
        Claim(
            "log-probabilities",
            "The log-probabilities of the outermost bins and of the middle one are the "
            "reference's.",
            AtMost(3, "ε · (max|logit| + loss)"),
            "Half an ε for each subtraction, and 2.5 ε for the log-sum-exp of each side, of "
            "terms of that size. At these targets all weight is on one bin in both forms.",
            (LOSS,),
            on.log_prob_cases,
            compare(LOSS, "loss", on.in_epsilon_of_log_prob),
            stated=Stated("within 3·ε·(max|logits| + loss)", 0, 3),
        ),
    ),
)
