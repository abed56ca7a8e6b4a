"""Methods and functions of at::Tensor in C++ beside Lamella's of Python, in one extension that is compiled once."""

import numpy as np
import pytest

import lamella as lm
from lamella import compat
from lamella.utils import cpp_extension
from support import extensions

pytestmark = pytest.mark.projects

#: Expressions of x, y (matrices of 2 by 3), w (3 by 3) and places (indices, 2 by 3), and their numbers in numpy.
RESULTS = {
    "x.amax(1)": "x.max(1)",
    "x.amin({0, 1})": "x.min()",
    "x.amax()": "x.max()",
    "at::amax(x, {0}, true)": "x.max(0, keepdims=True)",
    "x.addmm(x, w)": "x + x @ w",
    "at::addcmul(x, x, y, 0.5)": "x + 0.5 * x * y",
    "at::addcdiv(x, x, y, 2)": "x + 2 * x / y",
    "x.lerp(y, 0.25)": "x + 0.25 * (y - x)",
    "x.rsub(1)": "1 - x",
    "x.logsumexp(1)": "np.log(np.exp(x).sum(1))",
    "x.cumprod(1)": "x.cumprod(1)",
    "w.trace()": "w.trace()",
    "std::get<0>(x.sort(1, true))": "-np.sort(-x, 1)",
    "std::get<1>(at::topk(x, 2))": "np.argsort(-x, 1)[:, :2]",
    "x.argsort(0)": "np.argsort(x, 0)",
    "at::nonzero(x > 0)": "np.argwhere(x > 0)",
    "w.diagonal()": "w.diagonal()",
    "x.index({at::tensor({1, 0})})": "x[[1, 0]]",
    "x.scatter(0, places, 7)": "np.where(np.stack([(places == k).any(0) for k in (0, 1)]), 7, x)",
    "x.scatter_add(0, places, y)": "scattered(x, places, y)",
    "x.index_add(1, at::tensor({0, 2}), y.narrow(1, 0, 2))": "x + np.stack([y[:, 0], 0 * y[:, 0], y[:, 1]], 1)",
    "x.split_with_sizes({1, 2}, 1)[1]": "x[:, 1:]",
    "x.unfold(1, 2, 1)": "np.lib.stride_tricks.sliding_window_view(x, 2, 1)",
    "x.roll(1, 1)": "np.roll(x, 1, 1)",
    "x.repeat_interleave(2, 0)": "x.repeat(2, 0)",
    "x.movedim(0, 1)": "x.T",
    "x.new_full({2}, 3)": "np.full(2, 3.0)",
    "x.new_ones({1}, at::kLong)": "np.ones(1, np.int64)",
    "x.var(1, false)": "x.var(1)",
    "at::std(x, 0, true)": "x.std(0, ddof=1)",
    "x.any(1)": "(x != 0).any(1)",
    "x.max(y)": "np.maximum(x, y)",
    "x.to(at::kCPU)": "x",
    "x.clone().clamp_(0, 1)": "x.clip(0, 1)",
    "x.clone().relu_()": "np.maximum(x, 0)",
    "x.clone().index_put_({at::tensor({1})}, y[0])": "np.stack([x[0], y[0]])",
    "x.clone().scatter_(0, places, 7)": "np.where(np.stack([(places == k).any(0) for k in (0, 1)]), 7, x)",
    "at::hardtanh(x)": "x.clip(-1, 1)",
    "at::layer_norm(x, {3})": "(x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-5)",
    "at::conv1d(x.unsqueeze(0), w.narrow(0, 0, 2).unsqueeze(0).narrow(2, 0, 1)).squeeze(0)": "w[:2, :1].T @ x",
    "at::avg_pool2d(x.unsqueeze(0), {2, 1}).squeeze(0)": "x.mean(0, keepdims=True)",
    "at::mse_loss(x, y)": "((x - y) ** 2).mean()",
    "at::mse_loss(x, y, at::Reduction::None)": "(x - y) ** 2",
    "at::l1_loss(x, y, at::Reduction::Sum)": "abs(x - y).sum()",
    "at::one_hot(places, 2)": "np.eye(2, dtype=np.int64)[places]",
    "at::embedding(x, places)": "x[places]",
    'at::einsum("ij,kj->ik", {x, y})': "x @ y.T",
    "at::linspace(0, 1, 5, at::kDouble)": "np.linspace(0, 1, 5)",
    "at::norm(x, 3)": "(abs(x) ** 3).sum() ** (1 / 3)",
    "std::get<0>(at::_unique2(places))": "np.unique(places)",
    "std::get<1>(at::_unique2(places, true, true))": "np.unique(places, return_inverse=True)[1].reshape(places.shape)",
    "std::get<2>(at::_unique2(places, true, false, true))": "np.unique(places, return_counts=True)[1]",
    "std::get<2>(at::_unique2(places))": "np.zeros(0, np.int64)",
    "std::get<1>(at::unique_dim(places, 1, true, true))": "np.unique(places, axis=1, return_inverse=True)[1].ravel()",
    "std::get<1>(at::unique_consecutive(places.flatten(), false, true))": "np.zeros(0, np.int64)",
    "at::bincount(places.flatten(), {}, 4)": "np.bincount(places.ravel(), minlength=4)",
    "at::bincount(places.flatten(), y.flatten())": "np.bincount(places.ravel(), y.ravel())",
    "at::cdist(x, y)": "np.sqrt(((x[:, None] - y[None]) ** 2).sum(-1))",
    "at::cdist(x, y, 1)": "abs(x[:, None] - y[None]).sum(-1)",
    "at::searchsorted(at::tensor({0., 1.}), x, true)": "np.searchsorted([0.0, 1.0], x).astype(np.int32)",
    "at::searchsorted(at::tensor({0., 1.}), x, false, true)": "np.searchsorted([0.0, 1.0], x, 'right')",
    "at::bucketize(x, at::tensor({0., 1.}))": "np.searchsorted([0.0, 1.0], x)",
    "at::isin(places, at::tensor({1}))": "np.isin(places, [1])",
    "std::get<1>(at::expand_outplace(x, y[0]))->contiguous()": "np.broadcast_to(y[0], x.shape)",
    "x.clone().fill_(at::Half(1.5)) + (x == at::BFloat16(2))": "np.full_like(x, 1.5)",
    "at::inverse(w)": "np.linalg.inv(w)",
    "at::linalg_det(w)": "np.linalg.det(w)",
    "at::linalg_solve(w, w.mm(w))": "w",
    "at::linalg_cross(x, y)": "np.cross(x, y)",
    "at::kron(x, y)": "np.kron(x, y)",
    "at::ger(x[0], y[0])": "np.outer(x[0], y[0])",
    "at::meshgrid({x[0], y[0]})[1].contiguous()": "np.meshgrid(x[0], y[0], indexing='ij')[1]",
    "at::broadcast_tensors({x, y[0]})[1].contiguous()": "np.broadcast_to(y[0], x.shape)",
    "at::logaddexp(x, y)": "np.logaddexp(x, y)",
    "at::xlogy(x, y.abs())": "x * np.log(abs(y))",
    "at::baddbmm(x.unsqueeze(0), x.unsqueeze(0), w.unsqueeze(0), 2, 0.5).squeeze(0)": "2 * x + 0.5 * x @ w",
}

SOURCE = """
#include <ATen/ExpandUtils.h>
#include <torch/extension.h>

std::vector<at::Tensor> results(at::Tensor x, at::Tensor y, at::Tensor w, at::Tensor places) {
  return {RESULTS};
}

// Sums rows on several threads.
at::Tensor rows(const at::Tensor& x) {
  at::Tensor sums = at::zeros({x.size(0)}, x.options());
  at::parallel_for(0, x.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
    for (const auto i : c10::irange(begin, end)) {
      for (const auto j : c10::irange(x.size(1))) sums.data_ptr<double>()[i] += x.accessor<double, 2>()[i][j];
    }
  });
  return sums;
}

void twice(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const auto& schema = op.schema();
  const auto& arguments = schema.arguments();
  TORCH_CHECK(arguments.size() == 2 && schema.returns().size() == 1);
  TORCH_CHECK(schema.name() == "lamella_test_functions::times");
  TORCH_CHECK(arguments[1].name() == "k" && arguments[1].type()->kind() == c10::TypeKind::IntType);
  TORCH_CHECK(arguments[1].default_value()->toInt() == 2 && !arguments[0].default_value() && !arguments[0].is_out());
  const at::Tensor first = torch::jit::peek(*stack, 0, 2).toTensor();
  const auto times = torch::jit::pop(*stack).toInt();
  torch::jit::drop(*stack, 1);
  torch::jit::push(*stack, first * times);
}

TORCH_LIBRARY(lamella_test_functions, m) {
  m.def("times(Tensor x, int k=2) -> Tensor", torch::CppFunction::makeFromBoxedFunction<&twice>());
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("results", &results);
  m.def("rows", &rows);
}
"""


@pytest.fixture(scope="module")
def ext(tmp_path_factory):
    extensions.need_compiler()
    return cpp_extension.load_inline(
        "lamella_test_functions",
        SOURCE.replace("RESULTS", ",\n      ".join(RESULTS)),
        no_implicit_headers=True,
        extra_cflags=["-O0"],
        extra_include_paths=[compat.HEADERS],
        build_directory=tmp_path_factory.mktemp("build"),
    )


def scattered(x, places, y):
    made = x.copy()
    np.add.at(made, (places, np.arange(3)), y)
    return made


def test_numbers(ext, rng):
    x, y, w = (rng.normal(size=shape) for shape in ((2, 3), (2, 3), (3, 3)))
    places = np.array([[0, 1, 0], [1, 1, 0]])
    found = ext.results(lm.tensor(x), lm.tensor(y), lm.tensor(w), lm.tensor(places))
    names = {"np": np, "scattered": scattered, "x": x, "y": y, "w": w, "places": places}
    assert len(found) == len(RESULTS)
    for made, (expression, wanted) in zip(found, RESULTS.items(), strict=True):
        value = np.asarray(eval(wanted, names))
        assert made.numpy().dtype == value.dtype and tuple(made.shape) == value.shape, expression
        np.testing.assert_allclose(made.numpy(), value, 1e-10, err_msg=expression)


def test_threads_and_stacks(ext, rng):
    x = rng.normal(size=(50, 4))
    np.testing.assert_allclose(ext.rows(lm.tensor(x)).numpy(), x.sum(1))
    assert lm.ops.lamella_test_functions.times(lm.tensor([1.5]), 3).tolist() == [4.5]
