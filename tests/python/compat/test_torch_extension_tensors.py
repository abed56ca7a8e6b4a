"""What tensors in PyTorch's C++ dialect do: statements that run in one extension, and what PyTorch makes of them."""

import math

import pytest

from lamella import compat
from lamella.utils import cpp_extension
from support import extensions

pytestmark = pytest.mark.projects

NAN, INF = math.nan, math.inf

#: C++ statements, in which R(value) notes a value, and the values that they note. There are x, floats of shape [2, 3]
#: that count from 0, and i, the same as integers.
CASES = {
    # Assignment to a temporary writes into what it shows.
    "x[0] = x[1]; R(x);": [[[3, 4, 5], [3, 4, 5]]],
    "for (int k : {0, 1}) { x[k] = torch::ones({3}) * k; } R(x);": [[[0, 0, 0], [1, 1, 1]]],
    "x[1] = 5; x[0][1] = torch::tensor(7.f); R(x);": [[[0, 7, 2], [5, 5, 5]]],
    "x.select(1, 0) = 9.5; x.slice(1, 1, 2) = torch::zeros({2, 1}); R(x);": [[[9.5, 0, 2], [9.5, 0, 5]]],
    "x.view({3, 2})[2] = i[0].slice(0, 0, 2); std::move(i) = torch::zeros({2, 3}); R(x); R(i);": [
        [[0, 1, 2], [3, 0, 1]],
        [[0, 0, 0], [0, 0, 0]],
    ],
    "auto row = x[1]; row = torch::ones({3}); std::vector<at::Tensor> l{x}; l[0] = i; R(x); R(row);": [
        [[0, 1, 2], [3, 4, 5]],
        [1, 1, 1],
    ],
    "auto a = G(x); auto y = torch::zeros({2, 3}); y[0] = a[1] * 2; y.sum().backward(); R(a.grad());": [
        [[0, 0, 0], [2, 2, 2]]
    ],
    # Reductions.
    "auto a = G(torch::tensor({1.f, 1.f, 0.f})); std::get<0>(a.max(0)).backward(); R(a.grad());": [[1, 0, 0]],
    "auto a = G(torch::tensor({0.f, 1.f, 0.f})); std::get<0>(at::min(a, 0)).backward(); R(a.grad());": [[1, 0, 0]],
    "auto [v, p] = x.max(1, true); R(v); R(p); auto [w, q] = torch::tensor(3.f).max(0); R(w); R(q);": [
        [[2], [5]],
        [[2], [2]],
        3,
        0,
    ],
    "auto v = torch::tensor({3.f, -4.f, 0.f}); for (auto p : {0., 1., 2., -1., HUGE_VAL}) { R(at::norm(v, p)); }": [
        2,
        7,
        5,
        0,
        4,
    ],
    "R(x.norm(2, {1})); R(x.norm(1, 0, true)); R(at::norm(x, std::nullopt, {0, 1}));": [
        [math.sqrt(5), math.sqrt(50)],
        [[3, 5, 7]],
        math.sqrt(55),
    ],
    "auto a = G(torch::zeros({2})); a.norm().backward(); R(a.grad());": [[0, 0]],
    "R(x.sum(at::IntArrayRef{})); R(x.mean(at::IntArrayRef{})); R(at::sum(x, at::IntArrayRef{}, true));": [
        15,
        2.5,
        [[15]],
    ],
    "R(x.sum(1, true, torch::kLong)); R(x.sum({0, 1})); R(i.prod(1));": [[[3], [12]], 15, [0, 60]],
    "auto b = i.to(at::kByte); R(T(b.sum())); R(T(b.prod(0))); R(T(b.cumsum(0))); R(T(b.any())); R(T(b.all(1)));": [
        "Long",
        "Long",
        "Long",
        "Byte",
        "Byte",
    ],
    "auto n = torch::full({2, 2}, NAN); R(at::addmm(n, x, x.t(), 0, 1)); n.addmm_(x, x.t(), 0, 1); R(n);": [
        [[5, 14], [14, 50]],
        [[5, 14], [14, 50]],
    ],
    "auto n = torch::full({1, 2, 2}, NAN); R(at::baddbmm(n, x.unsqueeze(0), x.t().unsqueeze(0), 0, 2));": [
        [[[10, 28], [28, 100]]]
    ],
    "auto e = torch::eye(3); R(at::cross(e, e.roll(1, 0))); R(e[0].cross(e[1]));": [
        [[0, 1, 0], [0, 0, 1], [1, 0, 0]],
        [0, 0, 1],
    ],
    # Parts.
    "R(x.narrow(0, -1, 1)); R(x.narrow(0, 2, 0)); R(x.index({torch::tensor({0, 1}, at::kByte)}));": [
        [[3, 4, 5]],
        [],
        [[3, 4, 5]],
    ],
    "R(at::cat({torch::empty({0}), i, at::Tensor()})); R(T(at::cat({torch::empty({0}), i})));": [
        [[0, 1, 2], [3, 4, 5]],
        "Float",
    ],
    "auto s = torch::tensor(2.f); R(s.squeeze(0)); R(s.nonzero().sizes().vec()); R((s - s).nonzero().sizes().vec());": [
        2,
        [1, 0],
        [0, 0],
    ],
    "x.index_fill_(-1, torch::tensor({-1}), 9); R(x); R(at::mse_loss(x, x[0]));": [[[0, 1, 9], [3, 4, 9]], 3],
    "using namespace torch::indexing; R(x.index({Slice(), 1})); R(x.index({Ellipsis, Slice(None, None, 2)}));"
    'R(x.index({None, 1, "..."})); R(x.index({1, torch::tensor({2, 0})})); R(x.index({x > 3}));': [
        [1, 4],
        [[0, 2], [3, 5]],
        [[3, 4, 5]],
        [5, 3],
        [4, 5],
    ],
    "using namespace torch::indexing; x.index_put_({Slice(0, 1), -1}, 5); x.index_put_({x > 4}, -1); R(x);"
    "x.index_put_({torch::tensor({0, 0})}, torch::ones({3}), true); R(x);": [
        [[0, 1, -1], [3, 4, -1]],
        [[2, 3, 1], [3, 4, -1]],
    ],
    "c10::List<std::optional<at::Tensor>> l; l.push_back(std::nullopt); l.push_back(torch::tensor({2, 0}));"
    "R(x.index(l)); x.index_put_(l, torch::zeros({2})); R(x); R(at::index(i, {torch::tensor({1})}));": [
        [[2, 0], [5, 3]],
        [[0, 1, 0], [0, 4, 0]],
        [[3, 4, 5]],
    ],
    "auto [v, o] = x.sort(true, 1, true); R(v); R(o); R(x.repeat_interleave(torch::tensor({0, 2}), 0));": [
        [[2, 1, 0], [5, 4, 3]],
        [[2, 1, 0], [2, 1, 0]],
        [[3, 4, 5], [3, 4, 5]],
    ],
    'R(x.scatter_reduce(1, torch::zeros({2, 3}, at::kLong), x, "amax"));'
    "x.index_copy_(1, torch::tensor({2}), torch::ones({2, 1})); R(x);": [
        [[2, 1, 2], [5, 4, 5]],
        [[0, 1, 1], [3, 4, 1]],
    ],
    # Dtypes and values of new tensors.
    "R(T(torch::tensor({true, false}))); R(T(torch::tensor(std::vector<int>{1}))); R(T(torch::scalar_tensor(3)));"
    "R(T(torch::tensor(std::vector<double>{1}))); R(T(torch::tensor(std::vector<uint8_t>{1})));"
    "R(T(torch::scalar_tensor(true))); R(T(torch::tensor({1, 2}, at::kHalf))); R(T(torch::tensor(2.5)));": [
        "Bool",
        "Long",
        "Float",
        "Float",
        "Byte",
        "Float",
        "Half",
        "Float",
    ],
    "R(torch::tensor({{1, 2}, {3, 4}})); R(torch::tensor({x.size(0), x.size(1)})); R(torch::tensor({{1.5}}));": [
        [[1, 2], [3, 4]],
        [2, 3],
        [[1.5]],
    ],
    "static float b[2] = {1, 2}; auto o = torch::TensorOptions(at::kFloat).requires_grad(true);"
    "R(torch::from_blob(b, {2}, o).requires_grad()); R(torch::from_blob(b, {2}, [](void*) {}, o).requires_grad());"
    "R(torch::randn({2}, o).requires_grad()); R(x.new_zeros({2}, o).requires_grad());": [
        True,
        True,
        True,
        False,
    ],
    "auto t = x.t(); R(t.clone().strides().vec()); R(torch::empty_like(t).strides().vec()); R(t.clone());"
    "R(torch::zeros_like(t).strides().vec()); R(torch::full_like(x[0].expand({2, 3}), 1).strides().vec());"
    "R(torch::empty_like(t, at::MemoryFormat::Contiguous).strides().vec());": [
        [1, 3],
        [1, 3],
        [[0, 3], [1, 4], [2, 5]],
        [1, 3],
        [3, 1],
        [2, 1],
    ],
    "auto f = at::MemoryFormat::ChannelsLast; auto y = torch::arange(120).view({2, 3, 4, 5}); auto z = y.contiguous(f);"
    "R(z.strides().vec()); R(z.equal(y)); R(z.is_contiguous(f)); R(y.is_contiguous(f));"
    "R(z.suggest_memory_format() == f); R(torch::empty_like(z).is_contiguous(f)); R(y.clone(f).equal(y));": [
        [60, 1, 15, 3],
        True,
        True,
        False,
        True,
        True,
        True,
    ],
    'R(i.div(2, "trunc")); R((i - 4).div(2, "floor")); R((x - 4).div_(2, "trunc")); R(at::div(i - 4, 3, "trunc"));': [
        [[0, 0, 1], [1, 2, 2]],
        [[-2, -2, -1], [-1, 0, 0]],
        [[-2, -1, -1], [0, 0, 0]],
        [[-1, -1, 0], [0, 0, 0]],
    ],
    "R(torch::arange(0, 5, 2)); R(at::pow(2, i[0])); R(at::vstack({x[0], x[1]})); R(at::hstack({x[0], x[1]}));": [
        [0, 2, 4],
        [1, 2, 4],
        [[0, 1, 2], [3, 4, 5]],
        [0, 1, 2, 3, 4, 5],
    ],
    # Numbers.
    "R(at::scalar_tensor(2.7).item<int>()); R(at::Scalar(-1).to<uint8_t>()); R(at::Scalar(0.5).toBool());"
    "R(at::Scalar(INFINITY).toFloat()); R(at::Scalar(int64_t(1) << 62).toLong());": [2, 255, True, INF, 2**62],
    "R(at::where(x > 2)); R(at::where(x > 2, 1, 0)); R(torch::complex(x, x).abs().mul(10).round().div(10)[0]);"
    "R(x.std({0, 1}, false)); R(std::get<1>(x.cummax(1))); R(at::clip(x, 1, 3)); R(at::real(torch::complex(x, x)));"
    "R(torch::empty_strided({2, 3}, {1, 2}).strides().vec()); R((x / 0 - x / 0).nan_to_num().sum());": [
        [[1, 1, 1], [0, 1, 2]],
        [[0, 0, 0], [1, 1, 1]],
        [0, 1.4, 2.8],
        math.sqrt(35 / 12),
        [[0, 1, 2], [0, 1, 2]],
        [[1, 1, 2], [3, 3, 3]],
        [[0, 1, 2], [3, 4, 5]],
        [1, 2],
        0,
    ],
    "auto y = x.clone(); y.fill_diagonal_(9); R(y); y.masked_scatter_(y > 8, torch::tensor({1.f, 2.f})); R(y);": [
        [[9, 1, 2], [3, 9, 5]],
        [[1, 1, 2], [3, 2, 5]],
    ],
    # In place, on const handles and on the tape.
    "const at::Tensor& c = x; c.add_(1).mul_(2); c.sub_(-1); c.sigmoid_();"
    "c.index_put_({torch::tensor({0})}, c[1].clone()); R(x.gt(0.9).all());": [True],
    "auto a = G(x); auto y = a * 1; y.pow_(2).clamp_(0.5, 9.5).square_(); y.sum().backward(); R(a.grad());": [
        [[0, 4, 32], [108, 0, 0]]
    ],
    "auto a = G(torch::zeros({2})); auto y = a * 1; auto z = a * 1; y.tanh_(); z.sigmoid_();"
    "z = y + z; z.sum().backward(); R(a.grad());": [[1.25, 1.25]],
    "auto a = G(x); auto y = a * 1; y.zero_(); R(y.requires_grad()); y.sum().backward(); R(a.grad());": [
        True,
        [[0, 0, 0], [0, 0, 0]],
    ],
    "auto a = G(x); auto y = a * 1; y.fill_(2); (y * a).sum().backward(); R(a.grad()); R(y.detach());": [
        [[2, 2, 2], [2, 2, 2]],
        [[2, 2, 2], [2, 2, 2]],
    ],
    "auto a = G(x); auto l = (a * a).sum(); a.data().mul_(2); l.backward(); R(a.detach()[1]); R(a.grad()[1]);": [
        [6, 8, 10],
        [12, 16, 20],
    ],
    # Undefined tensors.
    "R(u.numel()); R(u.dim()); R(u.sizes().vec()); R(u.size(0)); R(u.requires_grad()); R(u.is_cuda());"
    "R(u.is_cpu()); R(u.is_contiguous()); R(u.contiguous().defined()); R(u.is_floating_point());"
    "R(u.scalar_type() == at::ScalarType::Undefined);"
    "R(u.storage_offset()); R(u.use_count());": [
        0,
        1,
        [0],
        0,
        False,
        False,
        False,
        True,
        False,
        False,
        True,
        0,
        0,
    ],
    # Functions that write into a given tensor, and gradients of activations.
    "auto o = torch::empty({0}); at::cat_out(o, {x, x}); R(o.sizes().vec()); at::sum_out(o, x, {1}); R(o);"
    "at::addmm_out(o, torch::ones({2, 2}), x, x.t()); R(o); at::matmul_out(o, x, x[0]); R(o);": [
        [4, 3],
        [3, 12],
        [[6, 15], [15, 51]],
        [5, 14],
    ],
    "auto g = torch::ones({3}); R(at::sigmoid_backward(g, x[0])); R(at::tanh_backward(g, x[0]));"
    'R(at::threshold_backward(g, x[0], 1)); auto a = G(x); at::gelu(a, "tanh").sum().backward();'
    'R(at::gelu_backward(torch::ones({2, 3}), x, "tanh").allclose(a.grad()));': [
        [0, 0, -2],
        [1, 0, -3],
        [0, 0, 1],
        True,
    ],
    "auto g = torch::ones({3}); auto v = x[0] - 1; R(at::hardtanh_backward(g, v, -1, 1));"
    "R(at::elu_backward(g, 2, 1, 1, true, v)); R(at::softplus_backward(g, v, 1, 0.5).slice(0, 1));"
    "R(at::softplus(v, 1, 0.5).slice(0, 2)); R(at::hardshrink(x)[0]); R(at::softshrink(x)[0]);"
    "R(at::hardsigmoid(v * 4)); R(at::log_sigmoid(v * 0));"
    "R(at::binary_cross_entropy_with_logits(v * 0, g, {}, g * 2, at::Reduction::None));": [
        [0, 1, 0],
        [1, 2, 1],
        [0.5, 1],
        [1],
        [0, 1, 2],
        [0, 0.5, 1.5],
        [0, 0.5, 1],
        [-math.log(2)] * 3,
        [2 * math.log(2)] * 3,
    ],
    "R(at::smooth_l1_loss(x, x + 2)); R(at::huber_loss(x, x[0], at::Reduction::Sum)); R(at::roll(x, {1, 1}, {0, 1}));"
    "R(at::kl_div(torch::zeros({2}), torch::ones({2}))); R(at::constant_pad_nd(x[0], {1, 0}, 7));"
    "R(at::group_norm(x, 1)[0].sum()); R(at::batch_norm(x, {}, {}, {}, {}, true, 0.1, 0, true).round());"
    "R(at::result_type(x, i) == at::kFloat); R(x.permute({1, 0}).roll(1, 0));": [
        1.5,
        7.5,
        [[5, 3, 4], [2, 0, 1]],
        0,
        [7, 0, 1, 2],
        0,
        [[-1, -1, -1], [1, 1, 1]],
        True,
        [[2, 5], [0, 3], [1, 4]],
    ],
    # Loops and helpers.
    "at::set_num_threads(4); std::atomic<int> recorded{0}, wrong{0}; auto a = G(x);"
    "{ torch::NoGradGuard guard; at::parallel_for(0, 8, 1, [&](int64_t b, int64_t e) {"
    "  for (; b < e; ++b) recorded += (a * 2).requires_grad();"
    "  wrong += at::get_thread_num() >= 4; }); }"
    "R(recorded.load()); R(wrong.load()); R(at::in_parallel_region()); R((a * 2).requires_grad());"
    "R(at::parallel_reduce(0, 1000, 10, int64_t(0), [](int64_t b, int64_t e, int64_t v) {"
    "  for (; b < e; ++b) v += b; return v; }, std::plus<int64_t>())); R(at::internal::GRAIN_SIZE);"
    "at::set_num_threads(1);": [0, 0, False, True, 499500, 32768],
    'R(c10::maybe_wrap_dim(-1, 3)); R(c10::str("a", 1, 2.5)); R(std::is_same_v<at::opmath_type<c10::Half>, float>);'
    "R(std::is_same_v<at::acc_type<float, false>, double>); R(std::is_same_v<at::acc_type<float, true>, float>);": [
        2,
        "a12.5",
        True,
        True,
        True,
    ],
    'at::TensorArg a(x, "x", 1), b(i, "i", 2); at::checkDim("f", a, 2); at::checkSize("f", a, {2, 3});'
    'at::checkSameSize("f", a, b); at::checkAllDefined("f", {a, b}); at::checkContiguous("f", a);'
    'at::checkScalarType("f", b, at::kLong); R(a->numel()); R(c10::multiply_integers(x.sizes()));'
    "at::DimVector d(x.sizes().begin(), x.sizes().end()); d.push_back(1); R(x.view(d).dim());"
    "std::optional<at::Tensor> none, some = x; R(at::borrow_from_optional_tensor(none)->defined());"
    "auto held = at::borrow_from_optional_tensor(some); R(held->is_same(x)); R(at::OptionalTensorRef().has_value());"
    "R(at::OptionalTensorRef(x)->dim());": [6, 6, 3, False, True, False, 2],
    'AT_DISPATCH_INDEX_TYPES(i.scalar_type(), "f", [&] { R(sizeof(index_t)); });'
    'AT_DISPATCH_ALL_TYPES_AND3(at::kBool, at::kHalf, at::kBFloat16, x.scalar_type(), "f", [&] {'
    '  R(sizeof(scalar_t)); }); AT_DISPATCH_ALL_TYPES_AND_COMPLEX_AND2(at::kBool, at::kHalf, at::kComplexFloat, "f",'
    "  [&] { R(sizeof(scalar_t)); });": [8, 4, 8],
}

#: Expressions that raise, and a part of the exception's text. There is an undefined tensor u besides.
ERRORS = {
    "i.sigmoid_()": "result type Float can't be cast to the desired output type Long",
    "i.pow_(0.5)": "can't be cast",
    "i.clamp_(0.5, 2.7)": "can't be cast",
    "i.addcmul_(x, x)": "can't be cast",
    "i.index_put_({torch::tensor({0})}, torch::tensor({1.5f}))": "expected values of Long, got Float",
    "x.index_add_(0, torch::tensor({0}), torch::ones({1, 3}, at::kDouble))": "expected values of Float, got Double",
    'at::checkDim("f", at::TensorArg(x, "x", 1), 1)': r"1-dimensional .* for argument #1 'x' .*arguments for f",
    'at::checkSameType("f", at::TensorArg(x, "x", 1), at::TensorArg(i, "i", 2))': "the same type",
    "x.narrow(0, 1, 9)": "go beyond the size, 2",
    "x.narrow(0, 0, -1)": "expected a length of 0 or more",
    "x.narrow(0, 3, 1)": r"start 3 is not in \[-2, 2\]",
    "x.split_with_sizes({-1, 4}, 1)": "is negative",
    "x.split_with_sizes({1, 1}, 1)": "add up to 2, the axis has 3",
    "x.slice(0, 0, 2, -1)": "expected a step above 0",
    "x.mm(x[0])": "expected 2 and 2 axes",
    "x.bmm(x.t())": "expected 3 and 3 axes",
    "x.mv(x.t())": "expected 2 and 1 axes",
    "x.unsqueeze(0).t()": "expected at most 2 axes",
    "x.repeat({2})": "has fewer numbers",
    "i.floor_divide(0)": "ZeroDivisionError",
    "i.remainder(i)": "ZeroDivisionError",
    "i % 0": "ZeroDivisionError",
    "at::scalar_tensor(300).item<uint8_t>()": "value cannot be converted to type uint8_t without overflow",
    "at::scalar_tensor(-1).item<uint8_t>()": "to type uint8_t without overflow",
    "at::scalar_tensor(1e20).item<int>()": "to type int without overflow",
    "at::scalar_tensor(1e300, at::kDouble).item<float>()": "to type float without overflow",
    "at::Scalar(NAN).toLong()": "to type int64_t without overflow",
    "at::Scalar(9.3e18).toLong()": "to type int64_t without overflow",
    "at::Scalar(c10::complex<double>(1, 2)).toInt()": "to type int without overflow",
    **{
        f"u.{call}": "expected a tensor, got an undefined one"
        for call in [
            "data_ptr<float>()",
            "data_ptr()",
            "strides()",
            "stride(0)",
            "device()",
            "options()",
            "detach()",
            "set_requires_grad(true)",
            "grad()",
            "grad_fn()",
            "is_leaf()",
            "element_size()",
            "nbytes()",
            "item<float>()",
            "to(at::kFloat)",
            "new_zeros({1})",
            "data()",
            "squeeze(0)",
        ]
    },
    **dict.fromkeys(
        [
            "(u.accessor<float, 1>())",
            "torch::zeros_like(u)",
            "x.to(u)",
            "x.type_as(u)",
            "x.expand_as(u)",
            "at::equal(x, u)",
            "x.index({u})",
            "u.zero_()",
            "u.add_(1)",
            "u.clone()",
            "u.backward()",
            "u.view({1})",
            "u.index({0})",
            "u.max(0)",
            "u.sort()",
            "u.nonzero()",
            "u.sigmoid_()",
            "u.expand({2})",
            "u.split(2)",
            "at::one_hot(u)",
            "u.copy_(x)",
            "x.copy_(u)",
            "u[0] = x",
            "at::Tensor() = x",
        ],
        ".",
    ),
}

SOURCE = """
#include <torch/extension.h>

#include <atomic>

namespace py = pybind11;

template <class V>
void note(py::list& out, V value) {
  if constexpr (std::is_same_v<V, std::vector<at::Tensor>>) {
    for (at::Tensor& each : value) each = each.clone();
  }
  if constexpr (std::is_same_v<V, at::Tensor>) value = value.detach().clone();
  out.append(py::cast(std::move(value)));
}
std::string T(const at::Tensor& x) { return c10::toString(x.scalar_type()); }
at::Tensor G(const at::Tensor& x) { return x.clone().set_requires_grad(true); }
#define R(...) note(out, __VA_ARGS__)
#define BEGIN(name)                                                 \\
  py::list name() {                                                 \\
    [[maybe_unused]] at::Tensor x = torch::arange(6.).view({2, 3}); \\
    [[maybe_unused]] at::Tensor i = torch::arange(6).view({2, 3});  \\
    [[maybe_unused]] at::Tensor u;                                  \\
    py::list out;
#define END() \\
  return out; \\
  }
"""


@pytest.fixture(scope="module")
def ext(tmp_path_factory):
    extensions.need_compiler()
    bodies = [*CASES, *(f"(void)({expression});" for expression in ERRORS)]
    functions = [f"BEGIN(f{k})\n{body}\nEND()" for k, body in enumerate(bodies)]
    names = [f'm.def("f{k}", &f{k});' for k in range(len(bodies))]
    return cpp_extension.load_inline(
        "lamella_test_tensors",
        "\n".join([SOURCE, *functions, "PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {", *names, "}"]),
        no_implicit_headers=True,
        extra_cflags=["-O0", "-Wall", "-Wextra", "-Werror"],
        extra_include_paths=[compat.HEADERS],
        build_directory=tmp_path_factory.mktemp("build"),
    )


def _plain(value):
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value.tolist() if hasattr(value, "tolist") else value


def _same(a, b):
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(_same, a, b))
    return a == (pytest.approx(b) if isinstance(b, float) else b)


@pytest.mark.parametrize("k", range(len(CASES)))
def test_values(ext, k):
    code, expected = list(CASES.items())[k]
    made = [_plain(value) for value in getattr(ext, f"f{k}")()]
    assert _same(made, expected), f"{code}\n{made}\n{expected}"


@pytest.mark.parametrize("k", range(len(ERRORS)))
def test_errors(ext, k):
    expression, text = list(ERRORS.items())[k]
    with pytest.raises((RuntimeError, IndexError, ValueError), match=text):
        getattr(ext, f"f{len(CASES) + k}")()
        pytest.fail(f"{expression} did not raise")
