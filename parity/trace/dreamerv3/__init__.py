"""Traces of DreamerV3: what its side and the reference's are asked, and what is compared."""
