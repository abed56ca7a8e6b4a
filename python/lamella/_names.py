"""Names of PyTorch for what has another name here, and the errors about these and :mod:`lamella._paddle_names`.

Errors about names that are not there say what to write, the front of PyTorch finds its functions by this table, and the
page for those who come from PyTorch has its rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import _paddle_names as paddle

#: Functions of ``torch``, most of them methods of tensors as well, by their names there.
FUNCTIONS = {
    "absolute": "abs",
    "amax": "max",
    "amin": "min",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_not": "bitwise_invert",
    "broadcast_tensors": "broadcast_arrays",
    "cat": "concat",
    "cholesky": "linalg.cholesky",
    "cholesky_inverse": "linalg.cholesky_inverse",
    "cholesky_solve": "linalg.cholesky_solve",
    "clamp": "clip",
    "clamp_": "clip_",
    "clamp_max": "clip",
    "clamp_min": "clip",
    "concatenate": "concat",
    "conj_physical": "conj",
    "det": "linalg.det",
    "div": "divide",
    "eq": "equal",
    "expand": "broadcast_to",
    "fix": "trunc",
    "ge": "greater_equal",
    "geqrf": "linalg.geqrf",
    "ger": "outer",
    "gt": "greater",
    "igamma": "gammainc",
    "igammac": "gammaincc",
    "inverse": "linalg.inv",
    "le": "less_equal",
    "logdet": "linalg.logdet",
    "lt": "less",
    "lu_solve": "linalg.lu_solve",
    "lu_unpack": "linalg.lu_unpack",
    "matrix_exp": "linalg.matrix_exp",
    "matrix_power": "linalg.matrix_power",
    "movedim": "moveaxis",
    "mul": "multiply",
    "ne": "not_equal",
    "neg": "negative",
    "norm": "linalg.norm",
    "orgqr": "linalg.householder_product",
    "ormqr": "linalg.ormqr",
    "pca_lowrank": "linalg.pca_lowrank",
    "permute": "permute_dims",
    "pinverse": "linalg.pinv",
    "qr": "linalg.qr",
    "repeat_interleave": "repeat",
    "row_stack": "vstack",
    "rsub": "subtract",
    "sgn": "sign",
    "slogdet": "linalg.slogdet",
    "sub": "subtract",
    "svd": "linalg.svd",
    "svd_lowrank": "linalg.svd_lowrank",
    "swapdims": "swapaxes",
    "take_along_dim": "take_along_axis",
    "transpose": "swapaxes",
    "trapz": "trapezoid",
    "true_divide": "divide",
    "unbind": "unstack",
    "unsqueeze": "expand_dims",
    "vander": "linalg.vander",
    "vdot": "vecdot",
}

#: Names of ``torch`` for which there is no one function, with what to write.
PHRASES = {
    "as_tensor": "lm.asarray(data)",
    "device": "a name such as 'cpu' or 'cuda:0'",
    "double": "lm.float64",
    "float": "lm.float32",
    "half": "lm.float16",
    "int": "lm.int32",
    "get_default_dtype": "lm.float32, which Python's floats become",
    "is_tensor": "isinstance(x, lm.Tensor)",
    "load": "lm.io.load(path)",
    "long": "lm.int64",
    "manual_seed": "lm.seed(n)",
    "numel": "x.size",
    "save": "lm.io.save(state, path)",
    "set_default_dtype": "dtype= where a tensor is made, as in lm.zeros(shape, dtype=lm.float64)",
    "short": "lm.int16",
    "special": "lm itself: lm.erf, lm.i0, lm.gammainc",
    "t": "x.T",
}

#: Names of packages of ``torch`` that the package of the same name here lacks, with what to write.
PACKAGES = {
    "autograd": {
        "Function": "lm.PyLayer",
        "Variable": "lm.tensor(data, stop_gradient=False)",
        "profiler": "lm.profiler",
    },
    "nn": {"DataParallel": "lm.distributed.DistributedDataParallel, in a process for each device"},
    "optim": {"lr_scheduler": "lm.optim, where all schedules are, such as lm.optim.StepLR"},
    "utils": {"checkpoint": "lm.checkpoint(function, x)", "data": "lm.data"},
}

#: Methods of PyTorch's tensors that are not functions of ``FUNCTIONS``, with what to write.
METHODS = {
    "bool": "x.astype(lm.bool)",
    "byte": "x.astype(lm.uint8)",
    "data": "x.detach()",
    "dim": "x.ndim",
    "double": "x.astype(lm.float64)",
    "element_size": "x.itemsize",
    "expand_as": "x.broadcast_to(other.shape)",
    "float": "x.astype(lm.float32)",
    "half": "x.astype(lm.float16)",
    "int": "x.astype(lm.int32)",
    "is_cuda": "str(x.device).startswith('cuda')",
    "long": "x.astype(lm.int64)",
    "new_empty": "lm.empty(shape, dtype=x.dtype, device=x.device)",
    "new_full": "lm.full(shape, value, dtype=x.dtype, device=x.device)",
    "new_ones": "lm.ones(shape, dtype=x.dtype, device=x.device)",
    "new_tensor": "lm.tensor(data, dtype=x.dtype, device=x.device)",
    "new_zeros": "lm.zeros(shape, dtype=x.dtype, device=x.device)",
    "numel": "x.size",
    "short": "x.astype(lm.int16)",
    "stride": "x.strides",
    "t": "x.T",
    "type": "x.dtype, or x.astype(dtype)",
    "resolve_conj": "x itself: conjugates have memory of their own",
    "resolve_neg": "x itself: negatives have memory of their own",
    "type_as": "x.astype(other.dtype)",
    "unfold": "x.sliding_window(axis, size, step)",
    "unique": "lm.unique(x)",
    "view": "x.reshape(shape)",
    "view_as": "x.reshape(other.shape)",
}


#: Arguments, by their names in PyTorch.
ARGUMENTS = {
    "T_0": "t_0",
    "T_max": "t_max",
    "T_mult": "t_mult",
    "dim": "axis",
    "end_dim": "stop_axis",
    "keepdim": "keepdims",
    "start_dim": "start_axis",
}


#: Arguments of functions that have none of that meaning here, with what to write.
ARGUMENT_PHRASES = {
    "alpha": "multiply the operand by it",
    "requires_grad": "give stop_gradient=False to lm.tensor, or call requires_grad_() on the result",
    "layout": "leave it out: tensors are dense and strided",
    "pin_memory": "leave it out",
    "memory_format": "leave it out: tensors are dense and strided",
    "non_blocking": "leave it out",
    "verbose": "leave it out",
}


def of_argument(name: str, parameters: list[str]) -> str:
    """Returns a sentence on an argument that a function with these parameters lacks; "" where there is none."""
    native = ARGUMENTS.get(name)
    if native in parameters:
        return f"PyTorch's argument {name} is called {native} here"
    for native in paddle.ARGUMENTS.get(name, ()):
        if native in parameters:
            place = paddle.PLACES.get(name, "")
            return f"Paddle's argument {name} is called {native} here{place}"
    for framework, phrases in (("PyTorch", ARGUMENT_PHRASES), ("Paddle", paddle.ARGUMENT_PHRASES)):
        if name in phrases:
            return f"for {framework}'s argument {name}, {phrases[name]}"
    return ""


#: Arguments on which a sentence may be known.
_KNOWN_ARGUMENTS = ARGUMENTS.keys() | ARGUMENT_PHRASES.keys() | paddle.ARGUMENTS.keys() | paddle.ARGUMENT_PHRASES.keys()


def explain_arguments(kind: Any) -> None:
    """Makes the constructors of a class and of its subclasses say what another framework's argument is called here."""

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if not _KNOWN_ARGUMENTS.isdisjoint(kwargs):
            _check_arguments(cls, kwargs)
        return super(kind, cls).__new__(cls)

    kind.__new__ = new


def _check_arguments(kind: Any, given: dict[str, Any]) -> None:
    import inspect  # slow to import, and seldom needed

    known = inspect.signature(kind.__init__).parameters
    if any(parameter.kind is inspect.Parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for word in given:
        sentence = "" if word in known else of_argument(word, list(known))
        if sentence:
            raise TypeError(f"[{kind.__name__}] {sentence}")


def of_module(name: str, package: str) -> str | None:
    """Returns the sentence for a name that a package lacks, of which "" is ``lm``; None where it is in no table."""
    if package:
        phrase = PACKAGES.get(package, {}).get(name)
        if phrase:
            return f"for PyTorch's {package}.{name} write {phrase}"
        phrase = paddle.of_package(name, package)
        return f"for Paddle's {name} write {phrase}" if phrase else None
    sentences = [
        f"{framework}'s {name} is called lm.{functions[name]} here"
        for framework, functions in (("PyTorch", FUNCTIONS), ("Paddle", paddle.FUNCTIONS))
        if name in functions
    ]
    sentences += [
        f"for {framework}'s {name} write {phrases[name]}"
        for framework, phrases in (("PyTorch", PHRASES), ("Paddle", paddle.PHRASES), ("Paddle", paddle.OF_TENSORS))
        if name in phrases
    ]
    if not sentences and name in paddle.IN_PLACE:
        sentences = [f"for {name}(x, ...) write x = lm.{name[:-1]}(x, ...)"]
    return "; ".join(sentences) or None


class Elsewhere:
    """Stands on a type for an attribute that it lacks: looking it up says what to write.

    It costs nothing but a place in the type, where a ``__getattr__`` would slow the look-up of every attribute.
    """

    def __init__(self, name: str, sentence: str) -> None:
        self.name = name
        self.sentence = sentence

    def __get__(self, owner: Any, kind: type) -> Any:
        raise AttributeError(
            f"'{kind.__name__}' object has no attribute '{self.name}': {self.sentence}", name=self.name
        )


def stand_on(kind: type, methods: Mapping[str, str]) -> None:
    """Makes a class say what to write for methods of Paddle's class that it lacks."""
    for name, phrase in methods.items():
        if not hasattr(kind, name):
            setattr(kind, name, Elsewhere(name, f"for Paddle's {name} write {phrase}"))


def listed() -> list[str]:
    """Returns the names that stand on the type of tensors, as the check of the stubs has them."""
    from ._C import Tensor

    return [f"lamella._C.Tensor.{name}" for name, value in vars(Tensor).items() if isinstance(value, Elsewhere)]


def of_tensors(kind: type) -> dict[str, Elsewhere]:
    """Returns, by name, what stands on the type of tensors for the methods that it lacks."""
    found: dict[str, Elsewhere] = {}

    def add(name: str, sentence: str) -> None:
        if name in found:
            found[name].sentence += f"; {sentence}"
        elif not hasattr(kind, name):
            found[name] = Elsewhere(name, sentence)

    for framework, functions, methods in (
        ("PyTorch", FUNCTIONS, METHODS),
        ("Paddle", paddle.FUNCTIONS, paddle.METHODS | paddle.OF_TENSORS),
    ):
        for name, target in functions.items():
            written = f"x.{target}(...)" if hasattr(kind, target) else f"lm.{target}(x, ...)"
            add(name, f"{framework}'s x.{name}(...) is {written} here")
        for name, phrase in methods.items():
            add(name, f"for {framework}'s x.{name} write {phrase}")
    for name in paddle.IN_PLACE:
        add(name, f"for x.{name}(...) write x = lm.{name[:-1]}(x, ...)")
    return found
