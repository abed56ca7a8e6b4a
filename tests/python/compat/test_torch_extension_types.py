"""C++ types of kernels in PyTorch's dialect: each form of a schema's type, called from Python and by a handle."""

import itertools
import pathlib

import pytest

import lamella as lm
from lamella import compat
from lamella.utils import cpp_extension
from support import extensions

pytestmark = pytest.mark.projects

_OPTIONAL = "std::optional<at::Tensor>"
#: Of each type of schemas: the C++ types that stand for it, and values with the texts that kernels make of them.
KINDS = {
    "Tensor?[]": (
        [
            f"const c10::List<{_OPTIONAL}>&",
            "c10::List<c10::optional<at::Tensor>>",
            f"std::vector<{_OPTIONAL}>",
            f"at::ArrayRef<{_OPTIONAL}>",
            "at::TensorList",
        ],
        [([2, None, 5], "[2,none,5]"), ([], "[]"), ([None], "[none]")],
    ),
    "Tensor?[]?": (
        [f"const std::optional<c10::List<{_OPTIONAL}>>&", f"std::optional<at::ArrayRef<{_OPTIONAL}>>"],
        [([2, None], "[2,none]"), (None, "none"), ([], "[]")],
    ),
    "Tensor[]": (
        ["const c10::List<at::Tensor>&", "at::TensorList", "const at::TensorList&", "std::vector<at::Tensor>"],
        [([2, 5], "[2,5]"), ([], "[]")],
    ),
    "Tensor[]?": (
        [
            "std::optional<at::TensorList>",
            "const c10::optional<at::TensorList>&",
            "std::optional<c10::List<at::Tensor>>",
        ],
        [([2, 5], "[2,5]"), (None, "none")],
    ),
    "SymInt": (["c10::SymInt", "const c10::SymInt&", "int64_t"], [(7, "7"), (-(2**40), str(-(2**40)))]),
    "SymInt?": (["std::optional<c10::SymInt>", "c10::optional<int64_t>"], [(7, "7"), (None, "none")]),
    "SymInt[]": (
        ["c10::SymIntArrayRef", "at::IntArrayRef", "std::vector<c10::SymInt>", "c10::List<int64_t>"],
        [([1, -2], "[1,-2]"), ([], "[]")],
    ),
    "SymInt[]?": (
        ["at::OptionalSymIntArrayRef", "std::optional<c10::SymIntArrayRef>", "at::OptionalIntArrayRef"],
        [([1, -2], "[1,-2]"), (None, "none")],
    ),
    "Layout?": (["std::optional<at::Layout>", "c10::optional<c10::Layout>"], [(0, "0"), (None, "none")]),
    "MemoryFormat?": (["std::optional<at::MemoryFormat>", "c10::optional<int64_t>"], [(2, "2"), (None, "none")]),
    "float[]": (["at::ArrayRef<double>", "c10::List<double>"], [([1.0, 2.0], "[1,2]")]),
}
#: All headers but those that need CUDA's own, under the paths that published sources include.
HEADERS = sorted(
    path.relative_to(compat.HEADERS).as_posix()
    for folder in ("ATen", "c10", "torch")
    for path in pathlib.Path(compat.HEADERS, folder).rglob("*.*h")
    if path.parent.name != "cuda" or path.name in ("Atomic.cuh", "CUDAMathCompat.h")
)
FORMS = [(kind, form) for kind, (forms, _) in KINDS.items() for form in forms]

SOURCE = """
#include <torch/extension.h>
#include <torch/library.h>

#include <string>
#include <type_traits>

template <class T>
std::string show(const T& value) {
  if constexpr (std::is_same_v<T, at::Tensor>) {
    return value.defined() ? std::to_string(value.sum().template item<int64_t>()) : "none";
  } else if constexpr (std::is_arithmetic_v<T> || std::is_enum_v<T>) {
    return std::to_string(static_cast<int64_t>(value));
  } else if constexpr (std::is_same_v<T, c10::SymInt>) {
    return std::to_string(value.guard_int(__FILE__, __LINE__));
  } else if constexpr (requires { value.has_value(); }) {
    return value.has_value() ? show(*value) : "none";
  } else {
    std::string text = "[";
    for (size_t i = 0; i < value.size(); ++i) {
      const auto element = value[i];
      text += (i ? "," : "") + show(element);
    }
    return text + "]";
  }
}

#define FORM(i, schema, ...)                                                                                \\
  std::string f##i(const at::Tensor& x, __VA_ARGS__ value) { return show<std::decay_t<__VA_ARGS__>>(value); } \\
  std::string by_handle##i(const at::Tensor& x, __VA_ARGS__ value) {                                        \\
    static auto op = c10::Dispatcher::singleton()                                                           \\
                         .findSchemaOrThrow("lamella_test_types::f" #i, "")                                 \\
                         .typed<decltype(f##i)>();                                                          \\
    return op.call(x, value);                                                                               \\
  }                                                                                                         \\
  TORCH_LIBRARY_FRAGMENT(lamella_test_types, m) {                                                           \\
    m.def("f" #i "(Tensor x, " schema " value) -> str", &f##i);                                             \\
    m.def("by_handle" #i "(Tensor x, " schema " value) -> str", &by_handle##i);                             \\
  }
"""

#: Values that may be open in PyTorch's compiler, and lists: statements that raise where something is wrong.
CHECKS = """
std::string check(const at::Tensor& x) {
  c10::SymInt n = x.sym_size(0), m(3);
  const bool larger = n > 1;
  c10::SymInt chosen = larger ? n : 1;
  n += 2;
  TORCH_CHECK(n * m == 12 && (n - 1) / 3 == 1 && 2 * n % 3 == 2 && n >= 4 && -m < 0 && chosen == 2, n, m);
  TORCH_CHECK(!n.is_symbolic() && n.expect_int() == 4 && *n.maybe_as_int() == 4 && 0.5 * n == 2.0 && n.max(9) == 9);
  TORCH_CHECK(x.sym_sizes().size() == 2 && x.sym_sizes()[1] == 3 && x.sym_numel() == 6 && x.sym_stride(0) == 3);
  TORCH_CHECK(C10_AS_INTARRAYREF_SLOW(x.sym_sizes()) == x.sizes() && c10::fromIntArrayRefSlow(x.sizes())[0] == 2);
  at::Tensor y = at::empty_symint(x.sym_sizes(), x.options());
  TORCH_CHECK(y.sizes() == x.sizes() && x.new_zeros_symint({n, m}).size(0) == 4 && at::zeros_symint({m}).dim() == 1);
  TORCH_CHECK(x.view_symint({m, -1}).size(1) == 2 && x.expand_symint({n, 2, 3}).size(0) == 4);
  TORCH_CHECK(x.slice_symint(1, 1, n).size(1) == 2 && x.narrow_symint(1, 0, m - 1).size(1) == 2);
  std::vector<c10::IValue> stack{n, std::vector<std::optional<at::Tensor>>{x, std::nullopt}};
  TORCH_CHECK(stack[0].toSymInt() == 4 && stack[1].toOptionalTensorList().size() == 2);
  TORCH_CHECK(!stack[1].toOptionalTensorVector()[1] && c10::IValue(c10::List<int64_t>({1, 2})).toIntVector()[1] == 2);

  c10::List<std::optional<at::Tensor>> list;
  auto shared = list;
  list.push_back(x);
  list.emplace_back(std::nullopt);
  list.set(1, x + 1);
  list[0] = std::nullopt;
  TORCH_CHECK(shared.size() == 2 && !shared.get(0).has_value() && shared.copy().vec().size() == 2);
  int defined = 0;
  for (const std::optional<at::Tensor>& each : list) defined += each.has_value();
  list.resize(1);
  TORCH_CHECK(defined == 1 && shared.size() == 1 && !list.empty());
  bool failed = false;
  try {
    list.get(4);
  } catch (const std::exception&) {
    failed = true;
  }
  TORCH_CHECK(failed);

  const c10::IValue sizes = x.sym_sizes();
  auto parts = sizes.toList();
  TORCH_CHECK(sizes.isList() && parts.size() == 2 && parts[1].get().toSymInt() == 3 && parts.get(0).toInt() == 2);
  const c10::List<int64_t> ints = sizes.toIntList();
  TORCH_CHECK(ints[1] == 3 && sizes.toSymIntVector()[0] == 2);
  TORCH_CHECK(c10::IValue(std::array<double, 2>{1, 2}).isDoubleList());
  c10::List<at::Tensor> tensors = c10::IValue(at::TensorList({x, x})).toTensorList();
  tensors[1] = x + 1;
  const at::Tensor second = tensors[1];
  TORCH_CHECK(second.equal(x + 1) && c10::IValue(tensors).toList().get(0).toTensor().is_same(x));
  TORCH_CHECK(c10::IValue(std::vector<bool>{true, false}).toBoolList().size() == 2);

  at::Tensor turned = x.clone();
  turned.transpose_(0, 1).unsqueeze_(0);
  TORCH_CHECK(turned.sizes() == at::IntArrayRef({1, 3, 2}) && turned.squeeze_(0).t_().equal(x));
  bool others = false;
  try {
    const at::Tensor alias = turned;
    turned.transpose_(0, 1);
  } catch (const std::exception&) {
    others = true;
  }
  TORCH_CHECK(others && turned.size(0) == 2);

  const std::optional<at::Tensor> none, some = x;
  const auto otherwise = [] { return at::Tensor(); };
  TORCH_CHECK(!c10::value_or_else(none, otherwise).defined() && c10::value_or_else(some, otherwise).is_same(x));
  at::Tensor grown = at::empty({0}, x.options());
  const at::Tensor same = grown;
  grown.resize_({2, 3}).copy_(x);
  TORCH_CHECK(same.equal(x) && grown.resize_({2}).equal(at::ones({2})) && same.resize_as_(x).size(1) == 3);
  for (int i = 0; i < 100; ++i) {
    const at::Tensor begun = at::empty({0}, x.options());
    const at::Tensor large = at::ones({3000}, x.options());
    for (const std::int64_t n : {5, 3000, 7, 40000, 0, 1}) begun.resize_({n}).fill_(1);
    const at::Tensor kept = large.resize_({2, 4000}).flatten().narrow(0, 0, 3000);
    TORCH_CHECK(begun.equal(at::ones({1})) && kept.equal(at::ones({3000})));
  }
  const at::Tensor small = x.clone();
  for (const at::Tensor& each : {x.narrow(0, 0, 1), small}) {
    failed = false;
    try {
      each.resize_({7});
    } catch (const std::exception&) {
      failed = true;
    }
    TORCH_CHECK(failed);
  }
  return "checked";
}

// Gradients of which a mask leaves some out, and a layer that asks for two of three.
std::tuple<at::Tensor, at::Tensor, at::Tensor> masked(const at::Tensor& x, std::array<bool, 3> mask) {
  const auto part = [&](int i) { return mask[i] ? x.detach() * (i + 1) : at::Tensor(); };
  return {part(0), part(1), part(2)};
}
at::Tensor lost(const at::Tensor&) { return {}; }
class Scaled : public torch::autograd::Function<Scaled> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext*, const at::Tensor& x, std::optional<at::Tensor> y) {
    return y ? x + *y : x * 2;
  }
  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext*, torch::autograd::tensor_list grads) {
    static auto op =
        c10::Dispatcher::singleton().findSchemaOrThrow("lamella_test_types::masked", "").typed<decltype(masked)>();
    auto [a, b, c] = op.call(grads[0], {true, false, false});
    TORCH_CHECK(a.defined() && !b.defined() && !c.defined());
    return {a, b};
  }
};
// The older registration, with a generator of Python's and one of C++'s.
at::Tensor drawn(const at::Tensor& x, std::optional<at::Generator> generator) {
  if (!generator) generator = at::detail::createCPUGenerator(7);
  const std::uint64_t seed = generator->current_seed();
  auto* bits = at::get_generator_or_default<at::CPUGeneratorImpl>(generator, at::detail::getDefaultCPUGenerator());
  {
    const std::lock_guard<std::mutex> lock(generator->mutex());
    TORCH_CHECK(bits->random64() != bits->random64());
  }
  generator->set_current_seed(seed);
  const at::Tensor made = at::rand(x.sizes(), generator, x.options());
  generator->set_current_seed(seed);
  TORCH_CHECK(made.equal(at::empty_like(x).uniform_(0, 1, generator)) && !at::Generator().defined());
  return made;
}
int64_t plus(int64_t a, int64_t b) { return a + b; }
static auto registry = torch::RegisterOperators()
                           .op("lamella_test_types::drawn(Tensor x, Generator? generator=None) -> Tensor", &drawn)
                           .op("lamella_test_types::plus", &plus);

at::Tensor scaled(const at::Tensor& x, const std::optional<at::Tensor>& y) { return Scaled::apply(x, y); }

TORCH_LIBRARY_FRAGMENT(lamella_test_types, m) {
  m.def("check(Tensor x) -> str", &check);
  m.def("masked(Tensor x, bool[3] mask) -> (Tensor, Tensor, Tensor)", torch::dispatch(c10::DispatchKey::CPU, &masked));
  m.def("lost(Tensor x) -> Tensor", torch::dispatch(c10::DispatchKey::CPU, &lost));
  m.def("scaled(Tensor x, Tensor? y=None) -> Tensor", torch::dispatch(c10::DispatchKey::Autograd, &scaled));
}
"""


@pytest.fixture(scope="module")
def ops(tmp_path_factory):
    extensions.need_compiler()
    lines = [f'FORM({i}, "{kind}", {form})' for i, (kind, form) in enumerate(FORMS)]
    cpp_extension.load_inline(
        "lamella_test_types",
        "\n".join([*(f"#include <{each}>" for each in HEADERS), SOURCE, *lines, CHECKS]),
        no_implicit_headers=True,
        extra_cflags=["-O0"],
        extra_include_paths=[compat.HEADERS],
        build_directory=tmp_path_factory.mktemp("build"),
        is_python_module=False,
    )
    return lm.ops.lamella_test_types


def _argument(value, kind):
    if isinstance(value, list):
        return [_argument(each, kind) for each in value]
    return lm.tensor([value]) if value is not None and kind.startswith("Tensor") else value


@pytest.mark.parametrize(("i", "kind", "form"), [(i, *each) for i, each in enumerate(FORMS)])
def test_forms(ops, i, kind, form):
    for value, text in KINDS[kind][1]:
        for name in ("f", "by_handle"):
            assert getattr(ops, f"{name}{i}")(lm.ones(2), _argument(value, kind)) == text, (name, value)


def test_open_sizes_and_lists(ops):
    assert ops.check(lm.ones((2, 3))) == "checked"


@pytest.mark.parametrize("mask", list(itertools.product([True, False], repeat=3)))
def test_results_that_are_left_out(ops, mask):
    for x in (lm.ones(2), lm.ones(2).requires_grad_())[: 1 + any(mask)]:
        made = ops.masked(x, list(mask))
        assert [None if y is None else y.tolist() for y in made] == [
            [k + 1.0] * 2 if mask[k] else None for k in range(3)
        ]


def test_results_that_are_left_out_in_a_layer(ops):
    x, y = lm.ones(2).requires_grad_(), lm.ones(2).requires_grad_()
    ops.scaled(x, y).sum().backward()
    assert x.grad.tolist() == [1.0, 1.0] and y.grad is None
    with pytest.raises(RuntimeError, match=r"lost\] the kernel for CPU left result 0 undefined"):
        ops.lost(x.detach())


def test_generators_of_the_older_registration(ops):
    generator = lm.Generator().manual_seed(3)
    drawn = ops.drawn(lm.ones(4), generator)
    assert drawn.tolist() == lm.rand(4, generator=lm.Generator().manual_seed(3)).tolist()
    assert ops.drawn(lm.ones(4)).tolist() == lm.rand(4, generator=lm.Generator().manual_seed(7)).tolist()
    assert ops.plus(2, 3) == 5


def test_wrong_elements(ops):
    at = FORMS.index(("Tensor[]", "at::TensorList"))
    with pytest.raises(TypeError, match=f"f{at}.*value.*Tensor"):
        getattr(ops, f"f{at}")(lm.ones(2), [lm.ones(2), None])
