"""How long DreamerV3 takes: the core and the live reference, alternating in one run."""
