"""Where performance claims come from."""
