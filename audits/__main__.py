"""`python -m audits` is `audit`."""

import sys

from audits.cli import main

if __name__ == "__main__":
    sys.exit(main())
