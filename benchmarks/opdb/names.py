"""Which of our functions is meant by PyTorch's name of an operator, and how its arguments are to be given."""

from __future__ import annotations

#: PyTorch's name, without its module, where ours is another.
RENAMED = {
    "H": "mH", "T": "mT", "amax": "max", "amin": "min", "arange": "arange", "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_not": "bitwise_invert", "cat": "concat", "clamp": "clip", "clamp_max": "clip", "clamp_min": "clip",
    "conj_physical": "conj", "diagonal_copy": "diagonal", "div": "divide", "eq": "equal", "expand": "broadcast_to",
    "expand_copy": "broadcast_to", "ge": "greater_equal", "gt": "greater", "i0": "i0", "le": "less_equal",
    "lt": "less", "mm": "matmul", "bmm": "matmul", "mv": "matmul", "dot": "matmul", "movedim": "moveaxis",
    "mul": "multiply", "ne": "not_equal", "neg": "negative", "permute": "permute_dims", "permute_copy": "permute_dims",
    "pinverse": "pinv", "repeat": "tile", "repeat_interleave": "repeat", "resolve_conj": "positive",
    "resolve_neg": "positive", "sgn": "sign", "squeeze_copy": "squeeze", "sub": "subtract", "t": "mT",
    "take_along_dim": "take_along_axis", "transpose": "swapaxes", "transpose_copy": "swapaxes",
    "true_divide": "divide", "unbind": "unstack", "unbind_copy": "unstack", "unsqueeze": "expand_dims",
    "unsqueeze_copy": "expand_dims", "vdot": "vecdot", "view": "reshape", "view_copy": "reshape", "trapz": "trapezoid",
    "contiguous": "positive", "alias_copy": "positive", "clone": "positive", "upsample_nearest": "interpolate",
    "narrow_copy": "narrow", "_safe_softmax.default": "softmax", "unfold_copy": "unfold", "masked_select": "masked_select",
    "float": "astype", "double": "astype", "half": "astype", "bfloat16": "astype", "int": "astype", "long": "astype",
    "short": "astype", "char": "astype", "byte": "astype", "bool": "astype", "cfloat": "astype", "cdouble": "astype",
    "polygamma": "polygamma", "cross": "cross", "grid_sampler_2d": "grid_sample", "grid_sampler_3d": "grid_sample",
}  # fmt: skip

#: Keyword arguments, where ours have other names; the first that the function has is taken.
KEYWORDS = {
    "dim": ("axis", "axes"),
    "dims": ("axes", "axis"),
    "dim0": ("axis1",),
    "dim1": ("axis1", "axis2"),
    "dim2": ("axis2",),
    "keepdim": ("keepdims",),
    "diagonal": ("k",),
    "s": ("s",),
    "n": ("n",),
    "size": ("shape", "size"),
    "min": ("min",),
    "max": ("max",),
    "offset": ("offset", "k"),
    "input": ("x", "input"),
    "other": ("x2", "other", "y"),
    "tensors": ("tensors", "arrays"),
    "repeats": ("repeats", "repetitions"),
    "nan": ("nan",),
    "upper": ("upper",),
    "hermitian": ("hermitian",),
    "rcond": ("rtol", "rcond"),
}

#: PyTorch's parameters behind the first (by their names), where ours are keywords or in another order.
ORDER = {
    **dict.fromkeys(
        ["sum", "mean", "prod", "amax", "amin", "all", "any", "logsumexp", "nansum", "nanmean", "argmax", "argmin",
         "count_nonzero"],
        ("dim", "keepdim"),
    ),
    **dict.fromkeys(["sort", "argsort"], ("dim", "descending", "stable")),
    **dict.fromkeys(["triu", "tril"], ("diagonal",)),
    "diagonal": ("offset", "dim1", "dim2"),
    "diagonal_copy": ("offset", "dim1", "dim2"),
    "linalg.diagonal": ("offset", "dim1", "dim2"),
    "trace": (),
    "roll": ("shifts", "dim"),
    "cumulative_sum": ("dim",),
    "isclose": ("other", "rtol", "atol", "equal_nan"),
    "unique": (),
}  # fmt: skip

#: Names of operators, or of modules of them with a dot behind, that are PyTorch's own business.
OTHERS = {
    "jiterator_": "compiles CUDA source", "masked.": "torch.masked", "sparse.": "sparse tensors",
    "to_sparse": "sparse tensors", "torch.": "single kernels of PyTorch's", "as_strided": "no such view",
    "_": "not public", "native_": "not public", "empty": "values are undefined", "new_empty": "values are undefined",
    "resize_": "changes the shape in place", "hash_tensor": "internal", "unsafe_": "not public",
    "signal.windows.": "no window functions",
}  # fmt: skip

#: Only shapes and dtypes are compared.
RANDOM = {
    "bernoulli", "multinomial", "normal", "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform",
    "cauchy", "exponential", "geometric", "log_normal", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout",
    "nn.functional.rrelu", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
}  # fmt: skip

#: Values that are fixed up to a sign or a rotation: not compared, nor are their gradients.
GAUGE = {"linalg.eigh", "linalg.svd", "svd", "linalg.eig", "linalg.qr"}
