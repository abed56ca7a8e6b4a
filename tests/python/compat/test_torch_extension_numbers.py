"""Numbers of 16 bits, dtypes, devices and exceptions in extensions of PyTorch's dialect."""

import pathlib

import numpy as np
import pytest

import lamella as lm
from lamella import compat
from lamella.utils import cpp_extension
from support import extensions

pytestmark = pytest.mark.projects

SOURCE = r"""
#include <torch/extension.h>

// What reductions and activations of published extensions do with their element type.
template <class T>
T scaled_sum(const T* x, int64_t n) {
  T total = 0;
  float exact = 0;
  for (int64_t i = 0; i < n; ++i) {
    total += x[i] * x[i] - T(1);
    exact += x[i];
    if (x[i] > total && x[i] != 0) total = -total + 2 * x[i] / 4;
  }
  return total < std::numeric_limits<T>::lowest() ? total : static_cast<T>(total + exact * 0);
}

at::Tensor sums(const at::Tensor& x) {
  auto y = at::empty({1}, x.options());
  AT_DISPATCH_FLOATING_TYPES_AND2(at::kHalf, at::kBFloat16, x.scalar_type(), "sums", [&] {
    y.mutable_data_ptr<scalar_t>()[0] = scaled_sum(x.const_data_ptr<scalar_t>(), x.numel());
  });
  return y;
}

template <class T>
std::vector<double> limits() {
  using L = std::numeric_limits<T>;
  return {double(L::min()), double(L::max()), double(L::lowest()), double(L::epsilon()), double(L::infinity()),
          double(L::denorm_min()), double(L::digits), double(L::max_digits10)};
}

static_assert(std::is_same_v<decltype(at::Half() + at::Half()), at::Half>);
static_assert(std::is_same_v<decltype(at::Half() * 2.0f), float>);
static_assert(std::is_same_v<decltype(2.0 / at::BFloat16()), double>);
static_assert(std::is_same_v<decltype(at::BFloat16() - 3), at::BFloat16>);

void fail(const std::string& kind) {
  TORCH_CHECK_INDEX(kind != "index", "index ", 1);
  TORCH_CHECK_VALUE(kind != "value", "value ", 2);
  TORCH_CHECK_TYPE(kind != "type", "type ", 3);
  TORCH_CHECK_NOT_IMPLEMENTED(kind != "none", "none ", 4);
  TORCH_CHECK_WITH(OutOfMemoryError, kind != "memory", "memory ", 6);
  if (kind == "thrown") C10_THROW_ERROR(ValueError, "thrown");
  if (kind == "equal") TORCH_CHECK_EQ(kind.size(), 4u);
  TORCH_CHECK_LINALG(kind != "linalg", "linalg ", 7);
  TORCH_CHECK(false, "other ", 5);
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) {
  m.def("fail", &fail);
  m.def("sums", &sums);
  m.def("format", [](int64_t number) { return static_cast<int64_t>(static_cast<at::MemoryFormat>(number)); });
  m.def("half_limits", &limits<at::Half>);
  m.def("bfloat16_limits", &limits<at::BFloat16>);
  m.def("dtype", [](at::ScalarType type) { return type; });
  m.def("device", [](at::Device device) { return device; });
  m.def("is_long", [](torch::Dtype type) { return type == torch::kLong; });
}
"""

PROGRAM = """
import torch
import extension_numbers as ext

kinds = {"index": IndexError, "value": ValueError, "type": TypeError, "none": NotImplementedError, "": RuntimeError}
kinds |= {"memory": MemoryError, "thrown": ValueError, "equal": RuntimeError, "linalg": RuntimeError}
for kind, wanted in kinds.items():
    try:
        ext.fail(kind)
    except wanted as error:
        assert ("5 vs. 4" if kind == "equal" else kind or "other") in str(error)
    else:
        raise AssertionError(kind)
for dtype in (torch.int8, torch.float32, torch.bfloat16, torch.bool, torch.complex64, torch.uint8):
    assert ext.dtype(dtype) is dtype, dtype
assert ext.is_long(torch.int64) and not ext.is_long(torch.int32)
for kind, number in ((torch.strided, 0), (torch.contiguous_format, 0), (torch.channels_last, 2)):
    assert ext.format(kind) == number, kind
for device in ("cpu", torch.device("cpu"), torch.device("meta")):
    assert ext.device(device) == torch.device(device)
for call in (lambda: ext.dtype("int8"), lambda: ext.dtype(3), lambda: ext.device(3)):
    try:
        call()
    except TypeError:
        continue
    raise AssertionError
"""


@pytest.fixture(scope="module")
def ext(tmp_path_factory):
    extensions.need_compiler()
    return cpp_extension.load_inline(
        "extension_numbers",
        SOURCE,
        no_implicit_headers=True,
        extra_include_paths=[compat.HEADERS],
        build_directory=tmp_path_factory.mktemp("numbers"),
    )


def test_dtypes_devices_and_exceptions(ext):
    command = ["-m", "lamella.compat", "-c", PROGRAM]
    extensions.succeed(*command, cwd=pathlib.Path(ext.__file__).parent)


def test_arithmetic(ext):
    rng = np.random.default_rng(0)
    for name, kind in (("float16", np.float16), ("float32", np.float32), ("float64", np.float64)):
        x = rng.standard_normal(40).astype(kind)
        total, one = kind(0), kind(1)
        for each in x:
            total = kind(total + kind(kind(each * each) - one))
            if each > total and each != 0:
                total = kind(kind(-total) + kind(kind(kind(2) * each) / kind(4)))
        assert ext.sums(lm.asarray(x)).tolist() == [float(total)], name
    x = lm.asarray(rng.standard_normal(40).astype("float32")).astype("bfloat16")
    total = lm.asarray(0.0, dtype="bfloat16")
    for each in x:
        total = total + (each * each - 1)
        if each > total and each != 0:
            total = -total + 2 * each / 4
    assert ext.sums(x).tolist() == [float(total)]
    info = np.finfo(np.float16)
    half = [info.tiny, info.max, info.min, info.eps, np.inf, info.smallest_subnormal, 11, 5]
    assert ext.half_limits() == [float(n) for n in half]
    info = lm.finfo("bfloat16")
    assert ext.bfloat16_limits()[:5] == [info.smallest_normal, info.max, info.min, info.eps, np.inf]
