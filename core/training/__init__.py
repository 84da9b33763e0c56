"""A training run, whatever the agent: one program, its loop, its files, and how it can end."""
