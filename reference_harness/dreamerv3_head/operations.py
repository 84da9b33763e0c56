"""All operations that danijar/dreamerv3 answers at its head, by name.

Runs inside the side environment.
"""

from reference_harness.dreamerv3_head import events, networks, reports

OPERATIONS = {**events.OPERATIONS, **networks.OPERATIONS, **reports.OPERATIONS}
