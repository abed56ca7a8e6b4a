"""Work over many processes."""

from . import _optimizers, sbp
from ._costs import Link
from .global_tensor import GlobalParameter, GlobalTensor, distribute, to_global
from .mesh import placement
from .parallelize import parallelize
from .plan import Device, Plan, plan
from .redistribute import redistribution_table, set_links
from .rules import Call, Spec, equation, register_sbp, ruled

_optimizers.install()
