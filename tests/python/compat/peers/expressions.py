"""Cases of ``make_paddle.py`` that are expressions and layers, a line for each in ``expressions.txt`` or
``networks.txt``.

An expression names tensors of :func:`tensors`; its results and the gradients of the floating-point ones among them are
recorded. A line of a layer is the expression that makes it, and the sizes of what it is called with.
"""

import re
import zlib
from pathlib import Path

import numpy as np
import paddle
import paddle.nn.functional as F
from paddle import fft, linalg, nn

#: Tensors by name: sizes, and what they are made from normal numbers by. Those of the last kinds want no gradient.
SIZES = {
    **dict.fromkeys(("x", "y"), (3, 4)),
    "s": (),
    "e": (0, 4),
    "r": (4,),
    "v": (3,),
    "z": (2, 3, 4),
    "t3": (2, 4, 9),
    "t4": (2, 4, 7, 6),
    "t5": (1, 4, 5, 6, 5),
    "n3": (2, 9, 4),
    "n4": (2, 7, 6, 4),
    "n5": (1, 5, 6, 5, 4),
    "w1": (6, 4, 3),
    "w2": (6, 4, 3, 3),
    "g2": (6, 2, 3, 3),
    "w3": (3, 4, 2, 2, 2),
    "tw1": (4, 3, 3),
    "tw2": (4, 3, 3, 3),
    "tw3": (4, 3, 2, 2, 2),
    "b6": (6,),
    "b3": (3,),
    "b4": (4,),
    "big": (2, 8, 4, 4),
    "grid": (2, 3, 3, 2),
    "th": (2, 2, 3),
    "fm": (2, 2, 5, 5),
    "xa": (5, 3),
    "xb": (5, 4),
    "wb": (6, 3, 4),
    "lp": (6, 2, 5),
    "im": (2, 3, 5, 5),
    **dict.fromkeys(("qk", "kk", "vv"), (2, 5, 2, 8)),
}
#: Shares: probabilities, rows of probabilities, and positive weights.
SHARES = {"p": (3, 4), "q": (3, 4), "sm": (3, 4), "wt4": (4,)}
FIXED = {
    "i3": [2, 0, 2],
    "lab": [1, 0, 3],
    "labc": [[1], [0], [3]],
    "ids": [[1, 2], [0, 3]],
    "lens": [6, 5],
    "ll": [2, 1],
    "ns": 3,
}


def generator(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def array(name):
    """Returns the elements of a tensor, and whether it wants a gradient."""
    rng = generator(name)
    if name in SIZES:
        values = rng.standard_normal(SIZES[name]).astype("float32")
        return np.asarray(np.tanh(values) if name == "grid" else values), True
    if name in SHARES:
        values = np.exp(rng.standard_normal(SHARES[name])).astype("float32")
        return (values / values.sum(-1, keepdims=True) if name == "sm" else values / (1 + values)), True
    if name in FIXED:
        return np.array(FIXED[name]), False
    kinds = {
        "d": lambda: rng.standard_normal((3, 4)),
        "ds": lambda: np.asarray(1.5),
        "n": lambda: rng.integers(-4, 5, (3, 4)),
        "m": lambda: rng.integers(1, 5, (3, 4)),
        "k": lambda: rng.integers(-4, 5, (3, 4)).astype("int32"),
        "u": lambda: rng.integers(0, 200, (3, 4)).astype("uint8"),
        "b": lambda: rng.random((3, 4)) > 0.5,
        "c": lambda: (rng.standard_normal((3, 4)) + 1j * rng.standard_normal((3, 4))).astype("complex64"),
        "sg": lambda: np.sign(rng.standard_normal((3, 4))).astype("float32"),
        "sg1": lambda: np.sign(rng.standard_normal(3)).astype("float32"),
        "lab4": lambda: rng.integers(0, 2, (3, 4)).astype("float32"),
        "msk": lambda: np.tril(np.ones((5, 5))) > 0,
        "cl": lambda: np.array([[1, 2], [3, 1]], "int32"),
    }
    return kinds[name](), name in ("d",)


FILES = ("expressions.txt", "networks.txt")
NAMES = [*SIZES, *SHARES, *FIXED, "d", "ds", "n", "m", "k", "u", "b", "c", "sg", "sg1", "lab4", "msk", "cl"]


def lines():
    """Yields the sections and lines of the files."""
    section, folder = "", Path(__file__).parent
    for line in "\n".join((folder / name).read_text("utf-8") for name in FILES).splitlines():
        if line.startswith("[") and line.endswith("]"):
            section = line.strip("[]")
        elif line and not line.startswith("#"):
            yield section, line


def expression(text):
    """Returns a case: the results of an expression, and the gradients of its tensors."""

    def run(_):
        given = {}
        for name in NAMES:
            if re.search(rf"(?<![\w.\"']){name}(?!\w|\s*=[^=])", text):
                values, wanted = array(name)
                given[name] = paddle.to_tensor(values)
                given[name].stop_gradient = not wanted
        made = eval(text, {"paddle": paddle, "F": F, "nn": nn, "linalg": linalg, "fft": fft, "np": np, **given})
        results = [each for each in flat(made) if isinstance(each, paddle.Tensor)]
        total = 0
        for each in results:
            if not each.stop_gradient and each.dtype in (paddle.float32, paddle.float64):
                weights = np.cos(np.arange(int(each.size)) + 1.0).reshape(tuple(each.shape))
                total = total + (each * paddle.to_tensor(weights).astype(each.dtype)).sum().astype("float64")
        if not isinstance(total, int):
            total.backward()
        return [*results, *(each.grad for each in given.values() if each.grad is not None)]

    return run


def flat(value):
    """Yields the leaves of nested lists and tuples."""
    for each in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(each, (list, tuple)):
            yield from flat(each)
        else:
            yield each


def cases(layer):
    """Returns the cases by name; ``layer`` makes those of layers."""
    found = {}
    for section, line in lines():
        if section == "functions":
            found[f"functions.{line}"] = expression(line)
        else:
            text, _, sizes = line.partition(" | ")
            shapes = [tuple(map(int, each.split("x"))) for each in sizes.split()]
            if len(shapes) == 1:
                found[f"layers.{text}"] = layer(lambda text=text: eval(text, {"nn": nn}), shapes[0])
    return found
