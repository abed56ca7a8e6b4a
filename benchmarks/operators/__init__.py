"""Every operator beside PyTorch's: one row each, in tables by family."""

from benchmarks.operators.analysis import ROWS as ANALYSIS
from benchmarks.operators.elementwise import ROWS as ELEMENTWISE
from benchmarks.operators.ends import ROWS as ENDS
from benchmarks.operators.linear_algebra import ROWS as LINEAR_ALGEBRA
from benchmarks.operators.movement import ROWS as MOVEMENT
from benchmarks.operators.narrow import ROWS as NARROW
from benchmarks.operators.networks import ROWS as NETWORKS
from benchmarks.operators.reductions import ROWS as REDUCTIONS
from benchmarks.operators.rows import Row
from benchmarks.operators.special import ROWS as SPECIAL

ROWS: tuple[Row, ...] = (
    *ELEMENTWISE,
    *SPECIAL,
    *REDUCTIONS,
    *ANALYSIS,
    *MOVEMENT,
    *LINEAR_ALGEBRA,
    *NETWORKS,
    *NARROW,
    *ENDS,
)
