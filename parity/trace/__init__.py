"""Step parity: one training step of both sides, compared number by number."""
