"""Types of classes that programs ask about only: `isinstance(x, cls)`."""

from __future__ import annotations


class TensorType(type):
    """Type of classes that stand for one of Lamella's: objects of the native class are instances.

    Subclasses of such a class stand for themselves.
    """

    native: type

    def __instancecheck__(cls, value: object) -> bool:
        native = cls.__dict__.get("native")
        return type.__instancecheck__(cls, value) if native is None else isinstance(value, native)


class Uninhabited(type):
    """Type of classes that no object is an instance of here."""

    def __instancecheck__(cls, value: object) -> bool:
        return False
