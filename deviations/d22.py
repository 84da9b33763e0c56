"""D22: the form of the two-hot bins and of their expectation."""

from __future__ import annotations

from deviations import d22_measurements as on
from deviations.d3 import HEAD
from parity.agreements.dreamerv3.entries import PINS
from parity.agreements.dreamerv3.numerics import LOSS_REASON, LOSS_UNIT
from parity.claims import AtLeast, AtMost, BitIdentical, Equals, Stated, Within
from parity.comparisons import (
    compare,
    identical,
    in_epsilon_of_expectation,
    in_epsilon_of_loss,
)
from parity.registry import Claim, Entry, Source

_WHOLE_RUNS = (
    "it asks for no operation: whole training runs of both sides have to be compared, and what "
    "three seeds of each show stands in reports/cartpole/compare.md (`audit cartpole`)"
)

ROW = Entry(
    id="D22",
    agent="DreamerV3",
    kind="deviation",
    title="Two-hot bins and their expectation",
    reference=(
        "Two-hot bins symexp(jnp.linspace(-20, 0, 128)), evaluated in float32 inside the jitted "
        "step. The expectation is p_m·b_m + Σ (p_i·b_i + p_j·b_j) over mirror pairs, which XLA "
        "fuses into multiply-adds under jit, so a zero-initialised head predicts a constant that "
        "depends on the compiled program (−0.17 to +0.16 on CPU), not the 0 of paper p.18."
    ),
    subject=(
        "Bins: the float32 rounding of the float64 values, computed once with numpy (the same "
        "constants eagerly, under jit and on every backend). Expectation: Σ (p_j − p_i)·b_j over "
        "mirror pairs, exactly 0 for uniform p also under jit."
    ),
    consequence=(
        "The same expectation in exact arithmetic: bins within 1.3e-6 relative of the "
        "reference's; encode and loss bit-identical given the same bins; decode within "
        "3·ε·E_p|b| (ε = float32 epsilon). Not negligible in training. Once the logits move, the "
        "reference's contracted pair sum adds noise of std ≈ 0.085 (max ≈ 0.3) to every reward, "
        "value and slow-critic prediction, plus a constant at zero logits that depends on the "
        "compiled program (−0.17 to +0.16); the noise fades as the outer bins lose mass "
        "(CartPole, 1m: value std 0.085, 0.052, ≈ 0.01 over the 2000-, 4000- and 6000-row "
        "windows). It slows the early decline of the actor's entropy (CartPole, 1m, 4000-row "
        "window: 0.51 with the reference's sum, 0.46 with the core's, measured in both "
        "codebases); with the same expectation on both sides (and the replay sampler seeded per "
        "run), the training statistics' seed ranges overlap the reference's in at least 52 of "
        "the 58 windows with updates. The core's form is exact only while the outer logits stay "
        "bitwise mirror-symmetric, which depends on the compiled program (a one-seed run and a "
        "three-seed vmapped run differ): a float32 fragility of the bins (±4.85e8, holding "
        "≈ 1/255 of the mass early on) that both codebases share."
    ),
    sources=(
        Source("dreamerv3-29eb964", "dreamerv3/nets.py", "467-476"),
        Source("dreamerv3-29eb964", "dreamerv3/jaxutils.py", "226-250"),
        Source("dreamerv3-2411f7d", "dreamerv3/nets.py", "462-471"),
        Source("dreamerv3-2411f7d", "dreamerv3/jaxutils.py", "226-250"),
        Source("dreamerv3-e3f0224", "embodied/jax/heads.py", "132-144"),
        Source("dreamerv3-e3f0224", "embodied/jax/outs.py", "285-309"),
    ),
    pins=(*PINS, HEAD),
    normative="paper",
    status="reference bug",
    claims=(
        Claim(
            "bins",
            "The reference's bins are the core's, within rounding.",
            AtMost(1.3e-6, "relative"),
            "symexp near 20 turns the half ULP of its float32 argument, 9.5e-7, into the same "
            "relative error of the bin; expm1 is within 3 ULP there, which adds 3.5e-7.",
            ("dreamerv3.twohot_bins",),
            on.bins_cases,
            compare("dreamerv3.twohot_bins", "bins", on.relative_to_bin),
            stated=Stated("within 1.3e-6 relative", 0, 1.3e-6),
            core_only=True,
        ),
        Claim(
            "bins-rounding",
            "The core's bins are the float32 rounding of the exact ones, in every mode.",
            BitIdentical(),
            "Correct rounding has one answer; 40-digit decimal arithmetic gives it.",
            ("dreamerv3.twohot_bins",),
            on.bins_cases,
            on.rounding,
            about="subject",
            core_only=True,
        ),
        Claim(
            "outermost-bin",
            "The outermost bins of the reference are ±4.85e8.",
            Within(4.8516e8, 4.8517e8, "value"),
            "exp(20) − 1 = 485,165,194 with the relative error of the claim `bins`.",
            ("dreamerv3.twohot_bins",),
            lambda rng: {"count": on.BINS},
            on.outermost,
            about="reference",
            stated=Stated("±4.85e8", 4.84e8, 4.86e8),
        ),
        Claim(
            "outer-mass",
            "Early on the outermost bin holds about 1/255 of the mass.",
            Within(0.96, 1.04, "/ 255"),
            "Logits within ±1/64 move a probability by at most a factor of exp(±1/32).",
            ("dreamerv3.twohot_loss",),
            on.flat_cases,
            on.outer_mass,
            about="reference",
            stated=Stated("≈ 1/255", 0.9, 1.1),
        ),
        Claim(
            "encode",
            "The two-hot weights are the reference's, given the same bins.",
            BitIdentical(),
            "Two subtractions, one sum and two quotients, in the same order on both sides: IEEE "
            "arithmetic leaves no freedom.",
            ("dreamerv3.twohot_encode",),
            on.encode_cases,
            identical("dreamerv3.twohot_encode", "weights"),
            stated=Stated("bit-identical", 0, 0),
            search=on.encode_search,
            core_only=True,
        ),
        Claim(
            "loss",
            "The two-hot loss is the reference's, given the same bins and the same log-sum-exp.",
            BitIdentical(),
            "One logit towers over the rest, so that the log-sum-exp is exact in every version "
            "of the compiler; what remains is one sum of two products.",
            ("dreamerv3.twohot_loss",),
            on.loss_cases,
            identical("dreamerv3.twohot_loss", "loss"),
            stated=Stated("bit-identical", 0, 0),
            core_only=True,
        ),
        Claim(
            "loss-any-logits",
            "On arbitrary logits the two losses part by no more than two compilers' exp and log.",
            AtMost(5, LOSS_UNIT),
            LOSS_REASON,
            ("dreamerv3.twohot_loss",),
            on.any_loss_cases,
            compare("dreamerv3.twohot_loss", "loss", in_epsilon_of_loss),
        ),
        Claim(
            "expectation",
            "The expectation is the reference's, given the same probabilities.",
            AtMost(3, "ε·E_p|b|"),
            "The row's own bound. Either form rounds each product and each partial sum once; the "
            "sums are pairwise or vectorised, so few roundings meet a large bin.",
            ("dreamerv3.twohot_expectation",),
            on.expectation_cases,
            compare("dreamerv3.twohot_expectation", "value", in_epsilon_of_expectation),
            stated=Stated("within 3·ε·E_p|b|", 0, 3),
            core_only=True,
        ),
        Claim(
            "decode",
            "From the same logits, the decoded scalars part by rounding alone.",
            AtMost(8, "ε·E_p|b|"),
            "The bound of `expectation`, 3, and the softmax of two versions of XLA: each exp is "
            "within 1 ε, its sum within 1 ε and the quotient within half of one, so the "
            "probabilities part by at most 5 ε of themselves. The table's 3 is the form's alone.",
            ("dreamerv3.twohot_decode",),
            on.decode_cases,
            compare("dreamerv3.twohot_decode", "value", in_epsilon_of_expectation),
            stated=Stated("within 3·ε·E_p|b|", 0, 3),
            search=on.decode_search,
            core_only=True,
        ),
        Claim(
            "uniform-zero",
            "The core decodes uniform logits to exactly 0, in every mode, one row or many.",
            Equals(0, "value"),
            "Equal logits have equal probabilities whatever the implementation of exp, since "
            "exp(0) is 1; their difference is exactly 0, before any product. Rows with a raised "
            "logit, asked as a control, must be decoded right.",
            ("dreamerv3.twohot_decode",),
            on.uniform_cases,
            on.zero_at_symmetry("dreamerv3.twohot_decode"),
            about="subject",
            stated=Stated("exactly 0 for uniform p also under jit", 0, 0),
            core_only=True,
        ),
        Claim(
            "mirror-zero",
            "The core's expectation under mirror-symmetric probabilities is exactly 0.",
            Equals(0, "value"),
            "The difference of two equal probabilities is exactly 0, before any product. (From "
            "mirror-symmetric logits it need not be: compilers may evaluate exp by one formula "
            "in the vectorised part of a row and by another in its remainder.)",
            ("dreamerv3.twohot_expectation",),
            on.mirror_cases,
            on.zero_at_symmetry("dreamerv3.twohot_expectation"),
            about="subject",
            core_only=True,
        ),
        Claim(
            "head-zero",
            "The core's freshly initialised two-hot head predicts exactly 0, in every mode.",
            Equals(0, "value"),
            "Its output layer is zero, so all logits are equal (paper p.18). With the layer's bias "
            "set to a slope, as a control, it must predict that slope's expectation.",
            ("dreamerv3.twohot_head_at_init",),
            on.head_cases,
            on.head_zero,
            about="subject",
            stated=Stated("the 0 of paper p.18", 0, 0),
            core_only=True,
        ),
        Claim(
            "head-constant",
            "Compiled, the reference's zero-initialised head predicts one constant: this program's "
            "is near the lower of the two that are stated.",
            Within(-on.NOISE_MAX, on.NOISE_MAX, "value"),
            "Half a ULP of every product p·b at p = 1/255, all with the same sign.",
            ("dreamerv3.twohot_head_at_init",),
            on.head_cases,
            on.head_constant,
            about="reference",
            stated=Stated("−0.17 to +0.16", -0.18, 0.17),
        ),
        Claim(
            "head-depends-on-compiler",
            "That constant depends on how the program is compiled: eagerly it is another.",
            AtLeast(0.001, "value"),
            "Eagerly every product is rounded, and the mirror pairs cancel to 0; a difference "
            "below 0.001 would not be the contraction of products of size 2e6.",
            ("dreamerv3.twohot_head_at_init",),
            on.head_cases,
            on.head_depends,
            about="reference",
        ),
        Claim(
            "noise-std",
            "On mirror-symmetric logits, whose expectation is 0, the compiled reference is noisy.",
            Within(0.9 * on.NOISE_STD, 1.1 * on.NOISE_STD, "value"),
            f"One unrounded product per mirror pair leaves a uniform error of half a ULP of p·b: "
            f"{on.NOISE_STD:.4f} in all at p = 1/255. Logits within ±1/64 move p by 3 %, 4096 rows "
            f"estimate a standard deviation to 1.1 %.",
            ("dreamerv3.twohot_decode",),
            on.flat_cases,
            on.noise_std,
            about="reference",
            pins=PINS,
            stated=Stated("std ≈ 0.085", 0.084, 0.086),
        ),
        Claim(
            "noise-std-head",
            "So it is at e3f0224, of whose training the table states no figure.",
            Within(0.9 * on.NOISE_STD, 1.1 * on.NOISE_STD, "value"),
            "As for `noise-std`: the sum has the same form.",
            ("dreamerv3.twohot_decode",),
            on.flat_cases,
            on.noise_std,
            about="reference",
            pins=(HEAD,),
        ),
        Claim(
            "noise-max",
            "The largest of those errors.",
            Within(3 * on.NOISE_STD, on.NOISE_MAX, "value"),
            "The largest of 4096 sums of independent errors exceeds three standard deviations; "
            "it can not exceed half a ULP of every product.",
            ("dreamerv3.twohot_decode",),
            on.flat_cases,
            on.noise_max,
            about="reference",
            stated=Stated("max ≈ 0.3", 0.2, 0.4),
        ),
        Claim(
            "fragility",
            "The core's 0 is exact only while the outer logits stay bitwise mirror-symmetric: one "
            "ULP on one of them can move its prediction.",
            Within(0.05, 4, "value"),
            "One ULP of a logit of 1 is 1.2e-7, which at p·b = 2e6 is 0.2. The rounding of the "
            "softmax hides it in some rows and doubles it in others, and may shift all the "
            "probabilities of a row by a few ULP; the largest counts.",
            ("dreamerv3.twohot_decode",),
            on.fragility_cases,
            on.fragility,
            about="subject",
            core_only=True,
        ),
        Claim(
            "noise-fades",
            "In training the noise fades as the outer bins lose mass.",
            Within(0, 0.1, "std of the value at 2000, 4000 and 6000 rows"),
            "The table's largest figure, rounded up.",
            (),
            on.no_cases,
            on.whole_runs,
            pins=PINS,
            unbroken=_WHOLE_RUNS,
            stated=Stated("0.085, 0.052, ≈ 0.01", 0.005, 0.086),
            core_only=True,
        ),
        Claim(
            "entropy-decline",
            "The reference's sum slows the early decline of the actor's entropy.",
            AtLeast(0, "nats, reference minus core, in the 4000-row window"),
            "The sign of the difference; the table states 0.51 against 0.46.",
            (),
            on.no_cases,
            on.whole_runs,
            pins=PINS,
            unbroken=_WHOLE_RUNS,
            stated=Stated("0.51 against 0.46", 0.04, 0.06),
            core_only=True,
        ),
        Claim(
            "windows-overlap",
            "With the same expectation on both sides, the training statistics' ranges overlap.",
            AtLeast(52, "of 58 windows"),
            "The row's own count.",
            (),
            on.no_cases,
            on.whole_runs,
            pins=PINS,
            unbroken=_WHOLE_RUNS,
            stated=Stated("at least 52 of the 58 windows", 52, 58),
            core_only=True,
        ),
    ),
)
