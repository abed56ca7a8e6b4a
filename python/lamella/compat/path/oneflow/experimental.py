"""Operators in folders."""

from lamella.compat.front import close_module
from lamella.user_op import custom_op_module

__all__ = ["custom_op_module"]

__getattr__ = close_module(__name__)
