"""Runs five published layers, each written as a PyLayer, measures what its paper promises, and draws it."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import flash_attention
import gradient_reversal
import lora
import reversible
import straight_through

HERE = Path(__file__).resolve().parent
LAYERS = {
    module.__name__: module for module in (straight_through, gradient_reversal, reversible, flash_attention, lora)
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(LAYERS)} (default: all)")
    parser.add_argument("--short", action="store_true", help="small and few, to see that it runs")
    parser.add_argument("--out", type=Path, default=HERE / "out", help="folder for the results (default: out, here)")
    options = parser.parse_args()
    if unknown := set(options.names) - set(LAYERS):
        parser.error(f"there is no {', '.join(sorted(unknown))}: choose of {', '.join(LAYERS)}")
    options.out.mkdir(parents=True, exist_ok=True)
    for name in options.names or LAYERS:
        module = LAYERS[name]
        print(f"--- {name}: {module.__doc__}")
        began = time.perf_counter()
        module.run(options.out, options.short)
        print(f"{time.perf_counter() - began:.1f} s\n")


if __name__ == "__main__":
    main()
