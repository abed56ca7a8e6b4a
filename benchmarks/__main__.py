"""Runs the benchmarks: see benchmarks.driver, native_run, opdb and distributed."""

from __future__ import annotations

import sys

from benchmarks import distributed, driver, native_run, opdb

if __name__ == "__main__":
    if sys.argv[1:2] == ["cpp"]:
        sys.exit(native_run.main(sys.argv[2:]))
    if sys.argv[1:2] == ["opdb"]:
        sys.exit(opdb.main(sys.argv[2:]))
    if sys.argv[1:2] == ["distributed"]:
        sys.exit(distributed.main(sys.argv[2:]))
    sys.exit(driver.main())
