"""All operations that danijar/dreamerv3 answers at 29eb964 and 2411f7d, by name.

Runs inside the side environment. Every answer comes from calling the reference's own
classes; the modules joined here only build them, feed them and read them.
"""

from reference_harness.dreamerv3 import numerics

OPERATIONS = {**numerics.OPERATIONS}
