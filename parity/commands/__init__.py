"""The subcommands of `parity`, one module each, imported when they are run."""
