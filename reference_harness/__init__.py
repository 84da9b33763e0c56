"""Runs pinned reference implementations, unmodified, in environments of their own."""
