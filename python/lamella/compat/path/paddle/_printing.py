"""Texts of tensors as Paddle prints them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import lamella as lm
from lamella import Tensor

#: What stands in front of the lines of elements.
_INDENT = 7
_FLOATING = (lm.float16, lm.bfloat16, lm.float32, lm.float64)


class _Options:
    """Settings of the texts of elements."""

    precision, threshold, edgeitems, sci_mode, linewidth = 8, 1000, 3, False, 80


def set_printoptions(
    precision: int | None = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sci_mode: bool | None = None,
    linewidth: int | None = None,
) -> None:
    """Sets how elements are printed; None leaves an option as it is.

    Args:
        precision: digits behind the point, 8 at first.
        threshold: number of elements above which only those at the edges are printed, 1000 at first.
        edgeitems: number of elements at each edge, 3 at first.
        sci_mode: True writes exponents.
        linewidth: length of lines, 80 at first.

    Raises:
        TypeError: an option is of another type.
    """
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for word, value in {**given, "sci_mode": sci_mode}.items():
        wanted = bool if word == "sci_mode" else int
        if value is not None and not isinstance(value, wanted):
            raise TypeError(f"[set_printoptions] {word} is of type {wanted.__name__}, not {type(value).__name__}")
        if value is not None:
            setattr(_Options, word, value)


def _real(value: float) -> str:
    if _Options.sci_mode:
        return f"{value:.{_Options.precision}e}"
    whole = math.isinf(value) or (not math.isnan(value) and math.ceil(value) == value)
    return f"{value:.0f}." if whole else f"{value:.{_Options.precision}f}"


def _complex(value: complex) -> str:
    form = f".{_Options.precision}{'e' if _Options.sci_mode else 'f'}"
    return f"({value.real:{form}}{'+' if value.imag >= 0 else ''}{value.imag:{form}}j)"


def _places(size: int, short: bool) -> list[int | None]:
    """Returns the places of an axis that are printed, None for those left out."""
    edge = _Options.edgeitems
    if not short or size <= 2 * edge:
        return list(range(size))
    return [*range(edge), None, *range(size - edge, size)]


def _elements(array: Any, short: bool) -> list[Any]:
    """Returns the elements that are printed, in one list."""
    if not array.ndim:
        return [array.item()]
    return [
        each for place in _places(len(array), short) if place is not None for each in _elements(array[place], short)
    ]


class _Columns:
    """Writes elements in columns of one width, with room for a sign where one of them has it."""

    def __init__(self, dtype: Any, elements: list[Any], short: bool) -> None:
        self.write: Callable[[Any], str] = _real if dtype in _FLOATING else str
        if dtype in (lm.complex64, lm.complex128):
            self.write = _complex
        self.short = short
        self.signed = any(self.below(each) for each in elements)
        self.width = max((len(self.write(each)) for each in elements), default=0)

    def below(self, value: Any) -> bool:
        """True for a number below 0, of complex ones by their real parts first."""
        if isinstance(value, complex):
            return value.real < 0 or (value.real == 0 and value.imag < 0)
        return bool(value < 0)

    def element(self, value: Any) -> str:
        """Returns an element's text."""
        text = self.write(value)
        if len(text) < self.width and self.signed and not self.below(value):
            text = f" {text}"
        return text.ljust(self.width)

    def rows(self, array: Any, indent: int) -> str:
        """Returns the text of an array whose lines, but for the first, begin after ``indent`` blanks."""
        if not array.ndim:
            return self.element(array.item())
        places = _places(len(array), self.short)
        parts = ["..." if place is None else self.rows(array[place], indent + 1) for place in places]
        blanks = " " * (indent + 1)
        if array.ndim > 1:
            return "[" + f",{chr(10) * (array.ndim - 1)}{blanks}".join(parts) + "]"
        count = max(1, (_Options.linewidth - indent) // (self.width + 2))
        lines = [", ".join(parts[i : i + count]) for i in range(0, len(parts), count)]
        return "[" + f",\n{blanks}".join(lines) + "]"


def place_of(tensor: Tensor) -> Any:
    """Returns the place of a tensor."""
    kind, _, index = str(tensor.device).partition(":")
    return lm.static.CUDAPlace(int(index or 0)) if kind == "cuda" else lm.static.CPUPlace()


def elements_of(tensor: Tensor, indent: int) -> str:
    """Returns the text of the elements, whose lines, but for the first, begin after ``indent`` blanks."""
    values = tensor.detach().cpu()
    array: Any = (values.astype("float32") if tensor.dtype == lm.bfloat16 else values).numpy()
    if not array.size:
        return "[]"
    short = array.size > _Options.threshold
    return _Columns(tensor.dtype, _elements(array, short), short).rows(array, indent)


def text_of_parts(head: str, parts: Mapping[str, Tensor]) -> str:
    """Returns the text of a sparse tensor: what ``head`` says, and under it each of the tensors that it consists of."""
    blanks = " " * _INDENT
    # Paddle's lines end in a blank.
    lines = [f"{name}={elements_of(each, _INDENT + len(name) + 1)}" for name, each in parts.items()]
    return f"Tensor({head}, \n{blanks}" + f", \n{blanks}".join(lines) + ")"


def text_of(native: Callable[[Tensor], str]) -> Callable[[Tensor], str]:
    """Returns the function of a tensor's text; ``native`` writes those that have no elements to show."""

    def text(self: Tensor) -> str:
        if isinstance(self, lm.graph.Symbol):
            return repr(self)
        if str(self.device) == "meta":
            return native(self)
        place = str(place_of(self)).replace("cuda", "gpu")
        head = f"shape={list(self.shape)}, dtype={self.dtype.name}, place={place}"
        written = elements_of(self, _INDENT)
        lead = "Parameter containing:\n" if isinstance(self, lm.nn.Parameter) else ""
        return f"{lead}Tensor({head}, stop_gradient={self.stop_gradient},\n{' ' * _INDENT}{written})"

    return text


def format_of(native: Callable[[Tensor, str], str]) -> Callable[[Tensor, str], str]:
    """Returns the function that formats the number of a tensor without axes, and others as ``native`` does."""

    def formatted(self: Tensor, spec: str) -> str:
        if isinstance(self, lm.graph.Symbol) and not spec:
            return repr(self)
        return format(self.item(), spec) if not self.ndim and str(self.device) != "meta" else native(self, spec)

    return formatted


def install(put: Callable[[str, Any], None]) -> None:
    """Gives tensors these texts; ``put`` sets a method."""
    text = text_of(Tensor.__repr__)
    put("__repr__", text)
    put("__str__", text)
    put("__format__", format_of(Tensor.__format__))
