"""Which of our functions is meant by PyTorch's name of an operator, and how its arguments are to be given."""

from __future__ import annotations

#: PyTorch's name, without its module, where ours is another.
RENAMED = {
    "H": "mH", "T": "mT", "_safe_softmax.default": "softmax", "alias_copy": "clone", "amax": "max", "amin": "min",
    "bfloat16": "astype", "bitwise_not": "bitwise_invert", "bmm": "matmul", "bool": "astype",
    "broadcast_tensors": "broadcast_arrays", "byte": "astype", "cat": "concat", "cdouble": "astype",
    "cfloat": "astype", "char": "astype", "clamp": "clip", "clamp_max": "clip", "clamp_min": "clip",
    "conj_physical": "conj", "contiguous": "clone", "diagonal_copy": "diagonal", "div": "divide", "dot": "matmul",
    "double": "astype", "eq": "equal", "expand": "broadcast_to", "expand_copy": "broadcast_to", "float": "astype",
    "ge": "greater_equal", "grid_sampler_2d": "grid_sample", "grid_sampler_3d": "grid_sample", "gt": "greater",
    "half": "astype", "int": "astype", "le": "less_equal", "long": "astype", "lt": "less", "mm": "matmul",
    "movedim": "moveaxis", "mul": "multiply", "mv": "matmul", "narrow_copy": "narrow", "ne": "not_equal",
    "neg": "negative", "permute": "permute_dims", "permute_copy": "permute_dims", "pinverse": "pinv",
    "repeat": "tile", "resolve_conj": "clone", "resolve_neg": "clone", "sgn": "sign",
    "short": "astype", "squeeze_copy": "squeeze", "sub": "subtract",
    "transpose": "swapaxes", "transpose_copy": "swapaxes", "trapz": "trapezoid", "true_divide": "divide",
    "unbind": "unstack", "unbind_copy": "unstack", "unfold_copy": "unfold", "unsqueeze": "expand_dims",
    "unsqueeze_copy": "expand_dims", "upsample_nearest": "interpolate", "vdot": "vecdot", "view": "reshape",
    "view_copy": "reshape",
    "igamma": "gammainc", "igammac": "gammaincc", "modified_bessel_i0": "i0", "modified_bessel_i1": "i1",
}  # fmt: skip

#: Keyword arguments, where ours have other names; the first that the function has is taken.
KEYWORDS = {
    "dim": ("axis", "axes"),
    "shifts": ("shift",),
    "start_dim": ("start_axis",),
    "end_dim": ("stop_axis",),
    "dims": ("axes", "axis"),
    "dim0": ("axis1",),
    "dim1": ("axis1", "axis2"),
    "dim2": ("axis2",),
    "keepdim": ("keepdims",),
    "diagonal": ("k",),
    "size": ("shape", "size"),
    "offset": ("offset", "k"),
    "input": ("x", "input"),
    "other": ("x2", "other", "y", "b"),
    "end": ("stop",),
    "weight": ("weight", "weights"),
    "tensors": ("tensors", "arrays"),
    "repeats": ("repeats", "repetitions"),
    "rcond": ("rtol", "rcond"),
}

#: PyTorch's parameters behind the first (by their names), where ours are keywords or in another order.
ORDER = {
    **dict.fromkeys(
        ["sum", "mean", "prod", "amax", "amin", "all", "any", "logsumexp", "nansum", "nanmean", "argmax", "argmin",
         "count_nonzero"],
        ("dim", "keepdim"),
    ),
    **dict.fromkeys(["argsort"], ("dim", "descending", "stable")),
    **dict.fromkeys(["triu", "tril", "diag"], ("diagonal",)),
    "diff": ("n", "dim", "prepend", "append"),
    "unbind": ("dim",),
    "unbind_copy": ("dim",),
    "diagonal": ("offset", "dim1", "dim2"),
    "diagonal_copy": ("offset", "dim1", "dim2"),
    "linalg.diagonal": ("offset", "dim1", "dim2"),
}  # fmt: skip

#: Names of operators, or of modules of them with a dot behind, that are PyTorch's own business.
OTHERS = {
    "jiterator_": "compiles CUDA source", "masked.": "torch.masked", "sparse.": "sparse tensors",
    "to_sparse": "sparse tensors", "torch.": "single kernels of PyTorch's", "as_strided": "no such view",
    "_": "not public", "native_": "not public", "empty": "values are undefined", "new_empty": "values are undefined",
    "resize_": "changes the shape in place", "hash_tensor": "internal", "unsafe_": "not public",
}  # fmt: skip

#: Only shapes and dtypes are compared.
RANDOM = {
    "bernoulli", "multinomial", "normal", "rand_like", "randint", "randint_like", "randn", "randn_like", "uniform",
    "cauchy", "exponential", "geometric", "log_normal", "nn.functional.dropout", "nn.functional.dropout2d",
    "nn.functional.dropout3d", "nn.functional.alpha_dropout", "nn.functional.feature_alpha_dropout",
    "nn.functional.rrelu", "nn.functional.fractional_max_pool2d", "nn.functional.fractional_max_pool3d",
}  # fmt: skip

#: Values that are fixed up to a sign or a rotation: not compared, nor are their gradients.
GAUGE = {"linalg.eigh", "linalg.svd", "svd", "linalg.eig", "linalg.qr", "svd_lowrank", "pca_lowrank"}
