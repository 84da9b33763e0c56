"""Records and prose as a run would leave them, for the tests of what reads them."""

from reports import records
from reports.markdown import EntryText
from reports.records import ClaimRecord, EntryRecord, Provenance, StatedFigure

PAPER, APRIL = "dreamerv3-29eb964", "dreamerv3-2411f7d"


def provenance(**changes) -> Provenance:
    fields = {
        "tool": "world-model-parity 0.1.0",
        "created": "2026-11-29T19:26:00+00:00",
        "subject": "core",
        "python": "3.11.9",
        "platform": "Linux-6.1 x86_64, AMD EPYC, 2 cores",
        "packages": {"jax": "0.10.2", "jaxlib": "0.10.2", "numpy": "2.4.6"},
    }
    return Provenance(**(fields | changes))


def claim(claim_id: str, verdict: str = "HOLDS", pin: str | None = PAPER, **fields) -> ClaimRecord:
    defaults = {
        "statement": f"The sentence of {claim_id}.",
        "about": "both",
        "source": "recorded" if pin else "none",
        "tolerance": "≤ 1",
        "reason": "Because of float32.",
        "compared": 8 if verdict != "NOT MEASURED" else 0,
        "why": "the reference is not installed" if verdict == "NOT MEASURED" else "",
    }
    return ClaimRecord(claim=claim_id, verdict=verdict, pin=pin, **(defaults | fields))


def entry(entry_id: str, *claims: ClaimRecord, **changes) -> EntryRecord:
    return EntryRecord(
        schema_version=records.SCHEMA_VERSION,
        entry=entry_id,
        provenance=provenance(**changes),
        claims=claims,
    )


def d22() -> EntryRecord:
    bins = {
        "statement": "The bins are within 1.3e-6, relative, of the reference's.",
        "tolerance": "≤ 1.3e-6 relative",
        "reason": "Ten roundings of exp and its argument, each of half an ulp.",
        "bound": 1.3e-6,
        "measured": "1.245e-6",
        "low": 1.2445e-6,
        "high": 1.2445e-6,
        "unit": "relative",
        "least": "≤ 1.245e-6",
        "margin": "4%",
        "compared": 255,
        "stated": StatedFigure("1.3e-6 relative", True),
        "seconds": 0.21,
    }
    encode = {
        "statement": "Given the same bins, the two-hot encoding is the reference's, bit by bit.",
        "tolerance": "bit-identical",
        "reason": "Both interpolate with the same four float32 operations, which nothing fuses.",
        "measured": "0",
        "low": 0.0,
        "high": 0.0,
        "unit": "values that differ",
        "least": "= 0",
        "margin": "—",
        "compared": 1_982_115,
        "seconds": 1.5,
    }
    decode = {
        "statement": "The expectation is within 3·ε·E_p|b| of the reference's.",
        "tolerance": "≤ 3 ε·E|b|",
        "reason": "One rounding for p·b, one for the pair sum, one for the sum over pairs.",
        "bound": 3.0,
        "measured": "1.04",
        "low": 1.04,
        "high": 1.04,
        "unit": "ε·E|b|",
        "least": "≤ 1.04",
        "margin": "65%",
        "compared": 7_773,
        "seconds": 2.25,
    }
    constant = {
        "statement": "A zero-initialised head of the reference predicts a constant under jit.",
        "about": "reference",
        "tolerance": "-0.3 to 0.3",
        "reason": "The constant depends on the compiled program; 0.3 bounds every program tried.",
        "measured": "-0.1722 to 0.177",
        "low": -0.1722,
        "high": 0.177,
        "least": "-0.1722 to 0.177",
        "margin": "41%",
        "compared": 5,
        "note": "0 with XLA's optimisations off",
        "stated": StatedFigure("−0.17 to +0.16", False),
    }
    mirror = {
        "statement": "On mirror-symmetric logits the reference's noise stays below 0.3.",
        "about": "reference",
        "tolerance": "≤ 0.3",
        "reason": "The greatest of 10,000 draws, rounded up.",
        "bound": 0.3,
        "compared": 10_000,
        "note": "std 0.0847",
    }
    uniform = {
        "statement": "Uniform logits decode to exactly 0, eagerly and under jit.",
        "about": "subject",
        "tolerance": "= 0",
        "measured": "0",
        "low": 0.0,
        "high": 0.0,
        "least": "= 0",
        "margin": "—",
        "compared": 2,
    }
    return entry(
        "D22",
        claim("bins", **bins),
        claim("bins", pin=APRIL, **bins),
        claim("encode-bits", **encode),
        claim("decode", **decode),
        claim("decode", source="live", **decode),
        claim("uniform-is-zero", pin=None, **uniform),
        claim("zero-head", source="live", **constant),
        claim(
            "mirror-noise", measured="0.2838", high=0.2838, least="≤ 0.2838", margin="5%", **mirror
        ),
        claim(
            "mirror-noise",
            "BROKEN",
            APRIL,
            measured="0.3061",
            high=0.3061,
            least="≤ 0.3061",
            margin="-2%",
            worst_input={"logits": "float32[255] -0.41, 1.93, …, greatest 1.93 at [253]", "n": "8"},
            **mirror,
        ),
        claim(
            "value-noise",
            "NOT MEASURED",
            statement="The noise on values fades as the outer bins lose mass.",
            why="dreamerv3-29eb964 is not installed; run: parity install dreamerv3-29eb964",
        ),
    )


def text_of(entry_id: str, kind: str = "deviation", **changes) -> EntryText:
    fields = {
        "id": entry_id,
        "agent": "DreamerV3",
        "kind": kind,
        "title": f"The title of {entry_id}",
        "reference": "Decodes with Σ p_i·b_i, so that E_p|b| is *not* exact.",
        "subject": "Decodes with Σ (p_j − p_i)·b_j.",
        "consequence": "Noise of std ~0.085 (max ~0.3).",
        "sources": (
            "dreamerv3/nets.py:467-476@29eb964",
            "dreamerv3/nets.py:758@29eb964",
            "dreamerv3/nets.py:462-471@2411f7d",
        ),
        "normative": "paper",
        "status": "reference bug",
        "pins": (PAPER, APRIL),
    }
    return EntryText(**(fields | changes))
