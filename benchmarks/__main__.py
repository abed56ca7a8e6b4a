"""Runs the benchmarks: see benchmarks.driver, benchmarks.native_run for those of C++, and benchmarks.opdb."""

from __future__ import annotations

import sys

from benchmarks import driver, native_run, opdb

if __name__ == "__main__":
    if sys.argv[1:2] == ["cpp"]:
        sys.exit(native_run.main(sys.argv[2:]))
    if sys.argv[1:2] == ["opdb"]:
        sys.exit(opdb.main(sys.argv[2:]))
    sys.exit(driver.main())
