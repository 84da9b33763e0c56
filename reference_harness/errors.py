"""The one exception type that the reference harness shows to its user."""


class HarnessError(Exception):
    """Base for everything the harness tells its user.

    The message is one sentence (or a few) that names the thing, says what was expected and what
    was found, and gives the way out.  A command line prints it without a traceback.
    """
