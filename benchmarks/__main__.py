"""`python -m benchmarks`, from the repository's root."""

import sys

from benchmarks.driver import main

sys.exit(main())
