"""Folders for stock loops, which have threads that write after the loop is over."""

import tempfile


def scratch():
    """A temporary folder; what is written to it while it is being removed may stay behind."""
    return tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
