"""The measuring kit: operations, claims, the registry and the `parity` command."""
