"""Derivatives as functions and checks of gradients: what :mod:`lamella.autograd` offers beside the tape itself."""

from __future__ import annotations

from .check_layer import LayerCheckError, LayerReport, check_layer
from .derivatives import hessian, hvp, jacobian, jacrev, vhp, vjp
from .functional_call import functional_call
from .gradcheck import GradcheckError, gradcheck, gradgradcheck

__all__ = [
    "GradcheckError",
    "LayerCheckError",
    "LayerReport",
    "check_layer",
    "functional_call",
    "gradcheck",
    "gradgradcheck",
    "hessian",
    "hvp",
    "jacobian",
    "jacrev",
    "vhp",
    "vjp",
]
