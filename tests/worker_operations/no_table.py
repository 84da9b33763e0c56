"""Offers something else than a table of functions."""

OPERATIONS = ["echo"]
