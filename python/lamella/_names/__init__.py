"""Names of PyTorch for what has another name here, and the errors about these and Paddle's names.

Errors about names that are not there say what to write, the front of PyTorch finds its functions by this table, and the
page for those who come from PyTorch has its rows.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from . import paddle

Function = TypeVar("Function", bound=Callable[..., Any])

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
    "BoolTensor": "lm.tensor(data, dtype=lm.bool), or lm.empty(shape, dtype=lm.bool)",
    "ByteTensor": "lm.tensor(data, dtype=lm.uint8), or lm.empty(shape, dtype=lm.uint8)",
    "DoubleTensor": "lm.tensor(data, dtype=lm.float64), or lm.empty(shape, dtype=lm.float64)",
    "FloatTensor": "lm.tensor(data, dtype=lm.float32), or lm.empty(shape)",
    "HalfTensor": "lm.tensor(data, dtype=lm.float16), or lm.empty(shape, dtype=lm.float16)",
    "IntTensor": "lm.tensor(data, dtype=lm.int32), or lm.empty(shape, dtype=lm.int32)",
    "LongTensor": "lm.tensor(data, dtype=lm.int64), or lm.empty(shape, dtype=lm.int64)",
    "Size": "a tuple, which shapes are",
    "as_tensor": "lm.asarray(data)",
    "backends": "lm.use_deterministic_algorithms(True), and leave the other settings out",
    "cdouble": "lm.complex128",
    "cfloat": "lm.complex64",
    "channels_last": "no memory_format: tensors are dense and strided",
    "contiguous_format": "no memory_format: tensors are dense and strided",
    "device": "a name such as 'cpu' or 'cuda:0'",
    "double": "lm.float64",
    "dtype": "lm.DType for the type of dtypes",
    "float": "lm.float32",
    "func": "lm.vmap, lm.vjp, lm.jvp, lm.autograd.jacrev (for grad) and lm.autograd.functional_call",
    "half": "lm.float16",
    "int": "lm.int32",
    "is_complex": "lm.isdtype(x.dtype, 'complex floating')",
    "is_floating_point": "lm.isdtype(x.dtype, 'real floating')",
    "jit": "lm.compile(function), or lm.graph",
    "get_default_dtype": "lm.float32, which Python's floats become",
    "is_tensor": "isinstance(x, lm.Tensor)",
    "load": "lm.io.load(path)",
    "long": "lm.int64",
    "lstsq": "lm.linalg.lstsq(a, b)",
    "manual_seed": "lm.seed(n)",
    "matrix_rank": "lm.linalg.matrix_rank(x)",
    "numel": "x.size",
    "range": "lm.arange(start, stop, step), which leaves the end out",
    "save": "lm.io.save(state, path)",
    "scalar_tensor": "lm.tensor(number)",
    "set_printoptions": "numpy.set_printoptions, and print x.numpy()",
    "set_default_dtype": "dtype= where a tensor is made, as in lm.zeros(shape, dtype=lm.float64)",
    "short": "lm.int16",
    "solve": "lm.linalg.solve(a, b)",
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
    "cuda": {
        "FloatTensor": "lm.tensor(data, dtype=lm.float32, device='cuda')",
        "amp": "lm.amp",
        "manual_seed": "lm.seed(n)",
        "manual_seed_all": "lm.seed(n)",
    },
    "nn": {"DataParallel": "lm.distributed.DistributedDataParallel, in a process for each device"},
    "nn.functional": {
        "elu_": "lm.elu(x)",
        "leaky_relu_": "lm.leaky_relu(x, slope)",
        "logsigmoid": "lm.log_sigmoid(x)",
        "multi_head_attention_forward": "lm.nn.MultiheadAttention, or lm.nn.functional.scaled_dot_product_attention",
        "relu_": "lm.relu_(x)",
        "upsample": "lm.nn.functional.interpolate(x, size)",
    },
    "nn.utils": {"clip_grad_norm": "lm.nn.utils.clip_grad_norm_(parameters, max_norm)"},
    "optim": {
        "SparseAdam": "lm.optim.Adam: gradients are dense",
        "lr_scheduler": "lm.optim, where all schedules are, such as lm.optim.StepLR",
    },
    "utils": {"checkpoint": "lm.checkpoint(function, x)", "data": "lm.data"},
}

#: Modules of ``torch``, by their paths, that are in no table above, with what to write.
MODULES = {
    "autograd.functional": "lm.autograd, which has jacobian, hessian, vjp, jvp, vhp and hvp",
    "nn.parallel": "lm.distributed.DistributedDataParallel",
}

#: Methods of PyTorch's tensors that are not functions of ``FUNCTIONS``, with what to write.
METHODS = {
    "bfloat16": "x.astype(lm.bfloat16)",
    "bool": "x.astype(lm.bool)",
    "byte": "x.astype(lm.uint8)",
    "data": "x.detach(), and x.copy_(values) within lm.no_grad() to set its numbers",
    "dim": "x.ndim",
    "double": "x.astype(lm.float64)",
    "element_size": "x.itemsize",
    "expand": "x.broadcast_to(shape), in which every length is written out, where PyTorch has -1",
    "expand_as": "x.broadcast_to(other.shape)",
    "float": "x.astype(lm.float32)",
    "fill_diagonal_": "lm.diagonal(x).fill_(value)",
    "get_device": "x.device",
    "half": "x.astype(lm.float16)",
    "indices": "x.argmax(axis), x.argmin(axis) or x.argsort(axis=axis): max, min and sort return values alone",
    "int": "x.astype(lm.int32)",
    "is_complex": "lm.isdtype(x.dtype, 'complex floating')",
    "is_floating_point": "lm.isdtype(x.dtype, 'real floating')",
    "is_cuda": "str(x.device).startswith('cuda')",
    "long": "x.astype(lm.int64)",
    "ndimension": "x.ndim",
    "nelement": "x.size",
    "new_empty": "lm.empty(shape, dtype=x.dtype, device=x.device)",
    "new_full": "lm.full(shape, value, dtype=x.dtype, device=x.device)",
    "new_ones": "lm.ones(shape, dtype=x.dtype, device=x.device)",
    "new_tensor": "lm.tensor(data, dtype=x.dtype, device=x.device)",
    "new_zeros": "lm.zeros(shape, dtype=x.dtype, device=x.device)",
    "norm": "lm.linalg.norm(x, ord=p, axis=axis, keepdims=False)",
    "numel": "x.size",
    "reshape_as": "x.reshape(other.shape)",
    "short": "x.astype(lm.int16)",
    "stride": "x.strides",
    "t": "x.T",
    "type": "x.dtype, or x.astype(dtype)",
    "resolve_conj": "x itself: conjugates have memory of their own",
    "resolve_neg": "x itself: negatives have memory of their own",
    "type_as": "x.astype(other.dtype)",
    "unfold": "x.sliding_window(axis, size, step)",
    "unique": "lm.unique(x)",
    "values": "x itself: max, min and sort return values alone",
    "view": "x.reshape(shape)",
    "view_as": "x.reshape(other.shape)",
    "where": "lm.where(condition, x, other)",
}

#: Methods of PyTorch's tensors that change the shape in place, without the underscore: views do so here.
RESHAPED = ("squeeze", "swapaxes", "t", "transpose", "unsqueeze")

#: Methods of modules that have no use here, with what to write.
OF_MODULES = {
    "flatten_parameters": "nothing, as each weight keeps its own memory",
    "register_backward_hook": "register_full_backward_hook(hook)",
    "share_memory": "nothing, as processes that are forked share memory until they write",
    "type": "to(dtype)",
}


#: Arguments, by their names in PyTorch, with what they are called here: the first that a function has.
ARGUMENTS = {
    "T_0": ("t_0",),
    "T_max": ("t_max",),
    "T_mult": ("t_mult",),
    "dim": ("axis", "axes"),
    "end_dim": ("stop_axis",),
    "keepdim": ("keepdims",),
    "start_dim": ("start_axis",),
    "dims": ("axes", "axis"),
    "size": ("shape",),
    "steps": ("num",),
    "diagonal": ("k",),
    "a": ("low",),
    "b": ("high",),
    "shifts": ("shift",),
    "unflattened_size": ("sizes",),
    "in_dims": ("in_axes",),
    "out_dims": ("out_axes",),
}


#: Arguments of functions that have none of that meaning here, with what to write.
ARGUMENT_PHRASES = {
    "alpha": "multiply the operand by it",
    "as_tuple": "leave it out: lm.nonzero returns the tuple, and lm.argwhere the matrix",
    "capturable": "leave it out",
    "differentiable": "leave it out: steps are not recorded",
    "dim0": "write axis1",
    "dim1": "write axis1 where it is the first of two, else axis2",
    "dim2": "write axis2",
    "enable_nested_tensor": "leave it out",
    "foreach": "leave it out: all tensors of a group move at once",
    "fused": "leave it out: all tensors of a group move at once",
    "in_order": "leave it out: batches come in order",
    "last_epoch": "call load_state_dict on the schedule",
    "map_location": "leave it out: tensors come to the CPU, and load_state_dict copies them to the module's device",
    "only_inputs": "leave it out",
    "process_group": "leave it out",
    "reduce": "write reduction='none' or 'mean'",
    "requires_grad": "give stop_gradient=False to lm.tensor, or call requires_grad_() on the result",
    "return_indices": "call the function of this name with _with_indices",
    "right": "write side='right'",
    "rounding_mode": "write floor_divide(a, b) or trunc(a / b)",
    "size_average": "write reduction='mean' or 'sum'",
    "sparse": "leave it out: gradients are dense",
    "split_size_or_sections": "write how many parts there are, or the list of their lengths",
    "val": "write value",
    "unbiased": "write correction=1 for True and correction=0 for False",
    "verbose": "leave it out, and print get_last_lr()",
    "weights_only": "leave it out: nothing that a file names is run",
    "layout": "leave it out: tensors are dense and strided",
    "pin_memory": "leave it out",
    "memory_format": "leave it out: tensors are dense and strided",
    "non_blocking": "leave it out",
}


#: Arguments on which a sentence may be known.
_EXPLAINED = ARGUMENTS.keys() | ARGUMENT_PHRASES.keys() | paddle.ARGUMENTS.keys() | paddle.ARGUMENT_PHRASES.keys()

#: Functions that return a pair in PyTorch and values alone here, with what returns the indices.
_VALUES_ALONE = {"max": "lm.argmax", "min": "lm.argmin", "sort": "lm.argsort"}


def of_argument(name: str, parameters: Collection[str], function: str = "") -> str:
    """Returns a sentence on an argument that a function with these parameters lacks; "" where there is none."""
    native = next((word for word in ARGUMENTS.get(name, ()) if word in parameters), None)
    if native is not None:
        more = "; without correction=1 it divides by n" if name == "dim" and "correction" in parameters else ""
        if name == "dim" and function in _VALUES_ALONE:
            more = f"; it returns values alone, and {_VALUES_ALONE[function]} the indices"
        return f"PyTorch's argument {name} is called {native} here{more}"
    if name == "requires_grad" and "stop_gradient" in parameters:
        return "PyTorch's argument requires_grad is the opposite of stop_gradient here"
    for native in paddle.ARGUMENTS.get(name, ()):
        if native in parameters:
            place = paddle.PLACES.get(name, "")
            return f"Paddle's argument {name} is called {native} here{place}"
    for framework, phrases in (("PyTorch", ARGUMENT_PHRASES), ("Paddle", paddle.ARGUMENT_PHRASES)):
        if name in phrases:
            return f"for {framework}'s argument {name}, {phrases[name]}"
    return ""


def explain_arguments(kind: Any) -> None:
    """Makes the constructors of a class and of its subclasses say what another framework's argument is called here."""

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if kwargs and not _EXPLAINED.isdisjoint(kwargs):
            _check_arguments(cls, kwargs)
        return super(kind, cls).__new__(cls)

    kind.__new__ = new


def explain_arguments_of(function: Function) -> Function:
    """Makes a function in Python say what to write for an argument of PyTorch's, as functions in C++ do."""
    code = function.__code__
    known = frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])
    title = function.__qualname__.partition(".")[0]

    @functools.wraps(function)
    def explained(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not known.issuperset(kwargs):
            for word in kwargs:
                if word not in known and (sentence := of_argument(word, known)):
                    raise TypeError(f"[{title}] got an unexpected argument '{word}': {sentence}")
        return function(*args, **kwargs)

    return explained  # type: ignore[return-value]


def _check_arguments(kind: Any, given: Collection[str]) -> None:
    import inspect  # slow to import, and seldom needed

    known = inspect.signature(kind.__init__).parameters
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values()):
        return
    for word in given:
        if word not in known and (sentence := of_argument(word, known)):
            raise TypeError(f"[{kind.__name__}] {sentence}")


def of_path(path: str) -> str | None:
    """Returns the sentence for a module that ``torch`` has at this path of its own, and ``lamella`` lacks."""
    package, _, name = path.rpartition(".")
    if path in MODULES:
        return f"for PyTorch's {path} write {MODULES[path]}"
    return of_module(name, package) or (of_path(package) if package else None)


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


def of_module_method(name: str) -> str:
    """Returns the sentence for a method that modules lack; "" where it is in no table."""
    for framework, methods in (("PyTorch", OF_MODULES), ("Paddle", paddle.OF_MODULES)):
        if name in methods:
            return f"for {framework}'s {name} write {methods[name]}"
    return ""


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


class Unassignable(Elsewhere):
    """Stands on a type for an attribute whose assignment would else make one of the same name that means nothing."""

    def __set__(self, owner: Any, value: Any) -> None:
        raise AttributeError(
            f"'{type(owner).__name__}' object has no attribute '{self.name}' to set: {self.sentence}",
            name=self.name,
            obj=owner,
        )


def stand_on(kind: type, methods: Mapping[str, str]) -> None:
    """Makes a class say what to write for methods of Paddle's class that it lacks."""
    for name, phrase in methods.items():
        if not hasattr(kind, name):
            setattr(kind, name, Elsewhere(name, f"for Paddle's {name} write {phrase}"))


def listed() -> list[str]:
    """Returns the names that stand on the type of tensors, as the check of the stubs has them."""
    from .._C import Tensor

    return [f"lamella._C.Tensor.{name}" for name, value in vars(Tensor).items() if isinstance(value, Elsewhere)]


def of_tensors(kind: type) -> dict[str, Elsewhere]:
    """Returns, by name, what stands on the type of tensors for the methods that it lacks."""
    found: dict[str, Elsewhere] = {}

    def add(name: str, sentence: str) -> None:
        if name in found:
            found[name].sentence += f"; {sentence}"
        elif not hasattr(kind, name):
            found[name] = (Unassignable if name == "data" else Elsewhere)(name, sentence)

    for framework, functions, methods in (
        ("PyTorch", FUNCTIONS, METHODS),
        ("Paddle", paddle.FUNCTIONS, paddle.METHODS | paddle.OF_TENSORS),
    ):
        for name, target in functions.items():
            written = f"x.{target}(...)" if hasattr(kind, target) else f"lm.{target}(x, ...)"
            add(name, f"{framework}'s x.{name}(...) is {written} here")
        for name, phrase in methods.items():
            add(name, f"for {framework}'s x.{name} write {phrase}")
    for name, target in FUNCTIONS.items():
        if hasattr(kind, f"{target}_"):
            add(f"{name}_", f"PyTorch's x.{name}_(...) is x.{target}_(...) here")
    for name in RESHAPED:
        view = "x.T" if name == "t" else f"x.{FUNCTIONS.get(name, name)}(...)"
        add(f"{name}_", f"for PyTorch's x.{name}_(...) write x = {view}")
    for name in paddle.IN_PLACE:
        if name not in found:
            add(name, f"for x.{name}(...) write x = lm.{name[:-1]}(x, ...)")
    return found
