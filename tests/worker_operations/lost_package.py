"""Needs a package that no environment has."""

import a_package_that_nobody_has  # type: ignore[import-not-found]  # noqa: F401

OPERATIONS = {}
