"""Results of several tensors, through the front: their class, fields and texts are PyTorch's."""

from support import extensions

PROGRAM = """
import pickle
import torch
import torch.autograd.forward_ad as fwAD

x = torch.tensor([[4.0, 1.0], [3.0, 5.0]])
square = torch.tensor([[2.0, 0.0], [0.0, 3.0]])
factors = torch.linalg.lu_factor(x)
PLACES = "values indices"
BOTH = "max min median nanmedian mode sort topk kthvalue cummax cummin"
CALLS = {
    **{name: (PLACES, getattr(torch, name), getattr(torch.Tensor, name), (x, 1)) for name in BOTH.split()},
    "aminmax": ("min max", torch.aminmax, torch.Tensor.aminmax, (x,)),
    "frexp": ("mantissa exponent", torch.frexp, torch.Tensor.frexp, (x,)),
    "histogram": ("hist bin_edges", torch.histogram, torch.Tensor.histogram, (x, 2)),
    "histogramdd": ("hist bin_edges", torch.histogramdd, torch.histogramdd, (x, [1, 1])),
    "svd": ("U S V", torch.svd, torch.Tensor.svd, (x,)),
    "slogdet": ("sign logabsdet", torch.slogdet, torch.Tensor.slogdet, (x,)),
    "geqrf": ("a tau", torch.geqrf, torch.Tensor.geqrf, (x,)),
    "lu_unpack": ("P L U", torch.lu_unpack, torch.lu_unpack, tuple(factors)),
    "triangular_solve": (
        "solution cloned_coefficient", torch.triangular_solve, torch.Tensor.triangular_solve, (x, square)
    ),
    **{
        f"linalg_{name}": (fields, *[getattr(torch.linalg, name)] * 2, (square, *more))
        for name, fields, *more in (
            ("svd", "U S Vh"), ("qr", "Q R"), ("slogdet", "sign logabsdet"), ("lu", "P L U"),
            ("eig", "eigenvalues eigenvectors"), ("eigh", "eigenvalues eigenvectors"), ("polar", "U H"),
            ("lu_factor", "LU pivots"), ("lu_factor_ex", "LU pivots info"), ("ldl_factor", "LD pivots"),
            ("ldl_factor_ex", "LD pivots info"), ("cholesky_ex", "L info"), ("inv_ex", "inverse info"),
            ("solve_ex", "result info", x), ("lstsq", "solution residuals rank singular_values", x),
        )
    },
}
for name, (fields, function, method, args) in CALLS.items():
    for made in (function(*args), method(*args)):
        kind, fields_of = type(made), fields.split()
        assert kind is getattr(torch.return_types, name) and isinstance(made, tuple), (name, kind)
        assert (kind.__module__, kind.__name__) == ("torch.return_types", name)
        text = f"torch.return_types.{name}(\\n" + ",\\n".join(f"{f}={getattr(made, f)!r}" for f in fields_of) + ")"
        assert repr(made) == str(made) == text, repr(made)
        assert kind.n_fields == len(made) == len(fields_of) and made[-1] is getattr(made, fields_of[-1])
        assert type(made[:1]) is type(made + ()) is tuple and not hasattr(made, "_fields")
        again = pickle.loads(pickle.dumps(made))
        assert type(again) is kind and repr(again) == text
        first, *_ = made
        assert first is made[0]
        moved = torch.utils._pytree.tree_map(lambda each: each, made)
        assert type(moved) is kind and moved[0] is first
assert repr(torch.topk(x, 1)) == '''torch.return_types.topk(
values=tensor([[4.],
        [5.]]),
indices=tensor([[0],
        [1]]))'''
assert repr(x.max(0)) == "torch.return_types.max(\\nvalues=tensor([4., 5.]),\\nindices=tensor([0, 1]))"
assert type(torch.vmap(lambda row: row.topk(1))(x)).__name__ == "topk"
made = torch.return_types.topk((x, x))
assert made.values is made.indices is x
try:
    torch.return_types.topk((x,))
except TypeError as error:
    assert "sequence of 2" in str(error)
else:
    raise AssertionError
plain = torch.std_mean(x), torch.var_mean(x, 1), x.lu(), torch.lu(x), torch.svd_lowrank(x, 2), torch.pca_lowrank(x)
assert all(type(made) is tuple for made in plain)
wide = torch.outer(torch.arange(4.0), torch.arange(6.0) - 2)
u, s, v = torch.svd_lowrank(wide, 2)
assert v.shape == (6, 2) and torch.allclose((u * s) @ v.mT, wide, atol=1e-4)

with fwAD.dual_level():
    dual = fwAD.make_dual(torch.ones(2), torch.tensor([1.0, 2.0]))
    assert str(dual * 2) == "tensor([2., 2.], tangent=tensor([2., 4.]))"
    assert str(fwAD.unpack_dual(dual).primal) == "tensor([1., 1.])"
assert str(dual) == "tensor([1., 1.])"
"""


def test_results_of_several_tensors_are_of_the_function_s_class(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    extensions.succeed("-m", "lamella.compat", "program.py", cwd=tmp_path)
