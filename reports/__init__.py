"""The record format and everything that renders it. Reads records, never runs anything."""
