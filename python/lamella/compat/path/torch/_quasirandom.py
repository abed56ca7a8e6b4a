"""Points that fill a cube more evenly than random ones do."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import lamella as lm


class SobolEngine:
    """Sobol' sequences with the direction numbers of S. Joe and F. Y. Kuo, 2008, which scipy has.

    Args:
        dimension: number of axes of a point.
        scramble: permutes digits by chance (A. B. Owen, 1998).
        seed: the seed of that.

    Raises:
        ImportError: scipy is not installed.
        ValueError: there are no direction numbers for so many axes.
    """

    MAXDIM = 21201

    def __init__(self, dimension: int, scramble: bool = False, seed: int | None = None) -> None:
        qmc: Any = importlib.import_module("scipy.stats.qmc")

        self.dimension, self.scramble, self.seed = dimension, scramble, seed
        if seed is None and scramble:
            seed = int(lm.randint(0, 2**31 - 1, (1,)).item())
        self._points = qmc.Sobol(dimension, scramble=scramble, rng=seed, bits=30)

    @property
    def num_generated(self) -> int:
        """Number of points that were drawn, or left out."""
        return int(self._points.num_generated)

    def draw(self, n: int = 1, out: lm.Tensor | None = None, dtype: Any = None) -> lm.Tensor:
        """Returns the next ``n`` points, ``(n, dimension)``, in [0, 1)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of numbers of points that are no powers of 2
            points = self._points.random(n)
        made = lm.asarray(points, dtype=lm.float32 if dtype is None else dtype)
        return made if out is None else out.copy_(made)

    def draw_base2(self, m: int, out: lm.Tensor | None = None, dtype: Any = None) -> lm.Tensor:
        """Returns the next ``2 ** m`` points.

        Raises:
            ValueError: the number of points would be no power of 2.
        """
        total = self.num_generated + 2**m
        if total & (total - 1):
            raise ValueError(f"[draw_base2] {self.num_generated} points and 2**{m} more are no power of 2: call draw()")
        return self.draw(2**m, out=out, dtype=dtype)

    def reset(self) -> SobolEngine:
        """Begins anew."""
        self._points.reset()
        return self

    def fast_forward(self, n: int) -> SobolEngine:
        """Leaves out the next ``n`` points."""
        self._points.fast_forward(n)
        return self

    def __repr__(self) -> str:
        told = f"dimension={self.dimension}"
        told += ", scramble=True" if self.scramble else ""
        return f"SobolEngine({told}{'' if self.seed is None else f', seed={self.seed}'})"
