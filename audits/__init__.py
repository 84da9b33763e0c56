"""Whole runs compared: configurations, episode tilings, learning statistics."""
