"""Operators that are declared by inputs, outputs and attributes, in the dialect of OneFlow.

They are written in C++ (``#include <lamella/user_op.h>``, ``REGISTER_USER_OP``), loaded by :func:`load_library` and
called through :func:`user_op_builder`, or computed by functions of numpy arrays: :func:`custom_op_module` for a folder
with a declaration in C++, :func:`numpy_op` for Python alone. Each is an operator of Lamella's registry, in the
namespace ``user_op``, and is recorded on the tape as any other.
"""

from lamella.ops import load_library
from lamella.user_op._builder import UserOp, UserOpBuilder, op_info, sbp_signatures, user_op_builder
from lamella.user_op._module import CustomOpModule, custom_op_module
from lamella.user_op._numpy import numpy_op, register_numpy_kernel

__all__ = [
    "CustomOpModule",
    "UserOp",
    "UserOpBuilder",
    "custom_op_module",
    "load_library",
    "numpy_op",
    "op_info",
    "register_numpy_kernel",
    "sbp_signatures",
    "user_op_builder",
]
