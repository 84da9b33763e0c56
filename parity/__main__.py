"""`python -m parity`, where the command is not on the PATH."""

import sys

from parity.cli import main

sys.exit(main())
