"""What a user of the audit can mend."""


class AuditError(Exception):
    """The audit can not go on as it was asked to; says why, and the way out."""


class NotRecordedError(AuditError):
    """No run of these settings was recorded."""
