"""What a user of the reference curves can mend."""


class ReferenceDataError(Exception):
    """Published curves are missing, are not those of the pin, or hold what nobody expected."""
