"""Kernels in CUDA C++ that are compiled while the program runs."""

from __future__ import annotations

import numbers
import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .. import _C
from . import _signature

Extent = int | Sequence[int]

#: Options that name files, whose contents decide what is compiled.
_FILES = ("-I", "--include-path", "-include", "--pre-include", "-pch", "--use-pch", "--create-pch")


def _headers() -> list[str]:
    """Returns the option for CUDA's headers, where CUDA is installed."""
    from ..utils._extension import toolchain  # takes a while to import

    home = toolchain.cuda_home()
    return [] if home is None else ["--include-path=" + os.path.join(home, "include")]


def _extent(label: str, name: str, value: object) -> tuple[int, ...]:
    """Returns the sizes of a grid or a block as a tuple.

    Raises:
        TypeError: it is neither an int nor ints.
    """
    sizes = (value,) if isinstance(value, numbers.Integral) else value
    if isinstance(sizes, (tuple, list)) and all(isinstance(x, numbers.Integral) for x in sizes):
        return tuple(int(x) for x in sizes)
    raise TypeError(f"[{label}] {name} is an int or a tuple of up to three, not {value!r}")


class Kernel:
    """A kernel that :func:`kernel` made; a call launches it.

    Attributes:
        source: the source in CUDA C++.
        name: the kernel's name in it.
        options: options of the compiler.
        parameters: names and types of the parameters, as :attr:`signature` shows them.
    """

    def __init__(
        self, source: str, name: str, options: tuple[str, ...], types: tuple[str, ...] | None, strided: bool
    ) -> None:
        self._number = 0
        self.source, self.name, self.options = source, name, options
        self._types, self._strided = types, strided
        self._label = f"kernel {name}"
        found = _signature.declared(name, types) if types is not None else _signature.parameters_of(source, name)
        if found is None:
            known = _signature.names_of(source)
            raise ValueError(
                f"[{self._label}] the source has no such kernel"
                + (f": it has {', '.join(known)}" if known else ", and no other")
                + "; where a macro or a header makes it, types= says what its parameters are"
            )
        self.parameters = found
        is_whole = not any(option.startswith(_FILES) for option in options)
        given = [*options, *_headers()] if "#include" in source else list(options)
        self._number = _C._kernel_make(source, name, given, is_whole, [(own, kind) for own, kind in found], strided)

    def __call__(
        self,
        grid: Extent | Callable[..., Extent],
        block: Extent,
        args: Sequence[Any] = (),
        shared_mem: int = 0,
    ) -> None:
        """Queues the kernel in the current stream of its tensors' device; without a tensor, of the current device.

        The first launch on a device compiles. Within the capture of a graph the launch becomes a part of the graph. On
        tensors of ``meta`` nothing is launched.

        Args:
            grid: number of blocks: an int, or up to three. A function gets the arguments and returns it. Where a
                number is 0 nothing is launched.
            block: number of threads of a block, likewise; at most 1024 together.
            args: an argument for each parameter of the kernel: a tensor, or None for a null pointer, where that is a
                pointer; else an int, float or bool of Python or numpy. Pointers that are not ``const`` are written to:
                the tensors count as changed in place.
            shared_mem: bytes of dynamic shared memory (``extern __shared__``) of each block.

        Raises:
            TypeError: the number of arguments, or the type or dtype of one, is another one.
            ValueError: a tensor is on another device, or not contiguous; a number does not fit into its type; the grid
                or the block has sizes that no device takes.
            RuntimeError: the source does not compile, the device refuses the launch, or a tensor wants a gradient,
                which a kernel has none of: it is launched in the forward and backward of a :class:`lamella.PyLayer`, or
                under :func:`lamella.no_grad`. Also where a tensor must not be written to.
        """
        if not isinstance(args, (tuple, list)):
            raise TypeError(f"[{self._label}] args is a tuple or a list, not {type(args).__name__}")
        if callable(grid):
            grid = grid(*args)
        numpy = sys.modules.get("numpy")  # of which nothing can be given if nobody has imported it
        given = tuple(x.item() if numpy and isinstance(x, numpy.generic) else x for x in args)
        blocks, threads = _extent(self._label, "grid", grid), _extent(self._label, "block", block)
        if isinstance(shared_mem, bool) or not isinstance(shared_mem, numbers.Integral):
            raise TypeError(f"[{self._label}] shared_mem is a number of bytes, not {shared_mem!r}")
        _C._kernel_launch(self._number, blocks, threads, int(shared_mem), given)

    @property
    def signature(self) -> str:
        """The kernel's name and parameters: ``"scale(x: const float32*, n: int32)"``."""
        return f"{self.name}({', '.join(f'{own}: {kind}' for own, kind in self.parameters)})"

    def __repr__(self) -> str:
        return f"<kernel {self.signature}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return Kernel, (self.source, self.name, self.options, self._types, self._strided)

    def __del__(self) -> None:
        if getattr(self, "_number", 0) and not sys.is_finalizing():
            _C._kernel_drop(self._number)


def kernel(
    source: str,
    name: str | None = None,
    *,
    options: Sequence[str] = (),
    types: Sequence[str] | None = None,
    strided: bool = False,
) -> Kernel:
    """Returns a kernel of a source in CUDA C++, which the first launch compiles.

    The source is that of a ``.cu`` file with kernels and functions of devices alone: CUDA's built-in variables and
    functions are there without an ``#include``, and CUDA's headers (``cuda_fp16.h``) are found where CUDA is installed.
    It is compiled by NVRTC for the device's architecture, once for a process; machine code is kept for others in the
    folder of :func:`lamella.compile` (``LAMELLA_CACHE``, or ``~/.cache/lamella``), but for sources whose options name
    files or folders of headers. What is loaded stays loaded: numbers that change are better arguments than parts of
    the source.

    Args:
        source: the source.
        name: the kernel's name: of a template with its arguments, ``"scale<float>"``. None for the only one there is.
        options: options of NVRTC, as ``"--use_fast_math"``, ``"-DN=4"`` or ``"--include-path=/folder"``.
        types: types of the kernel's parameters in C++, as ``["const float*", "int"]``, where they cannot be read in the
            source, since a macro or an alias names them. A pointer to a type that is not known takes any dtype.
        strided: True if tensors need not be contiguous, as the kernel is given their strides.

    Returns:
        A :class:`Kernel`, which is called with a grid, a block and arguments.

    Raises:
        TypeError: the source, the name or an option is no text, or the type of a parameter is not known.
        ValueError: the source has no such kernel, or several and no name is given.
    """
    texts = [source, *options] if name is None else [source, name, *options]
    if isinstance(options, str) or not all(isinstance(text, str) for text in texts):
        raise TypeError("[cuda.kernel] source and name are texts, and options a list of texts")
    if name is None:
        known = _signature.names_of(source)
        if len(known) != 1:
            raise ValueError(
                "[cuda.kernel] the source has "
                + (
                    f"the kernels {', '.join(known)}: name= says which one is meant"
                    if known
                    else "no __global__ kernel"
                )
            )
        name = known[0]
    return Kernel(source, name, tuple(options), None if types is None else tuple(types), bool(strided))
