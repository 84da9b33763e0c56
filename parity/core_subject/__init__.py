"""The core's answers to the operations of the catalogue.

The core knows nothing of the parity layer; this adapter is what makes it a subject.
Anybody's port needs a module like it: a table from operation names to functions that
take numpy arrays and return them. See parity/README.md.
"""

from __future__ import annotations

from parity.core_subject import dreamerv3, environments, tdmpc2

TABLE = {**dreamerv3.TABLE, **environments.TABLE, **tdmpc2.TABLE}
