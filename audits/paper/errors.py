"""What a user of a validation can mend."""


class PaperError(Exception):
    """A validation can not go on as it was asked to; says why, and the way out."""
