"""Runs the benchmarks: see benchmarks.driver, and benchmarks.native_run for those of C++."""

from __future__ import annotations

import sys

from benchmarks import driver, native_run

if __name__ == "__main__":
    if sys.argv[1:2] == ["cpp"]:
        sys.exit(native_run.main(sys.argv[2:]))
    sys.exit(driver.main())
