#include "ops/transforms/real_view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "engine/core/modes.h"
#include "ops/elementwise/in_place.h"
#include "ops/movement/cast.h"

namespace lamella::autograd {
namespace {

/// Returns the axes of x from the largest stride to the smallest.
std::vector<std::size_t> axes_by_stride(const Tensor& x) {
  std::vector<std::size_t> axes(x.ndim());
  std::iota(axes.begin(), axes.end(), 0u);
  std::ranges::stable_sort(
      axes, [&](std::size_t a, std::size_t b) { return std::abs(x.strides()[a]) > std::abs(x.strides()[b]); });
  return axes;
}

/// True if different elements may share memory: an axis has a smaller stride than the extent of the axes within it.
bool may_overlap(const Tensor& x) {
  std::int64_t span = 1;
  const std::vector<std::size_t> axes = axes_by_stride(x);
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (x.shape()[*axis] == 1) continue;
    const std::int64_t step = std::abs(x.strides()[*axis]);
    if (step < span) return true;
    span += step * (x.shape()[*axis] - 1);
  }
  return false;
}

/// Returns the dtype on the host in which components are read and written.
DType wide(DType dtype) { return is_complex(dtype) ? DType::Complex128 : DType::Float64; }

}  // namespace

Components components_of(const Tensor& x) {
  const NoGrad off;
  const Tensor host = contiguous(cast(to_device(x.detach(), kCPU), wide(x.dtype())));
  const auto* values = static_cast<const double*>(host.raw_data());  // a std::complex<double> is two doubles
  return {values, values + component_count(x)};
}

Tensor from_components(const Components& values, const Tensor& x) {
  const NoGrad off;
  const Tensor host = empty(x.shape(), wide(x.dtype()));
  std::ranges::copy(values, static_cast<double*>(host.raw_data()));
  return contiguous(to_device(cast(host, x.dtype()), x.device()));
}

Tensor copy_in_layout(const Tensor& x) {
  const NoGrad off;
  const Tensor plain = x.detach();
  if (x.numel() == 0 || x.is_contiguous() || may_overlap(x)) return clone(plain);
  std::int64_t lowest = 0;
  std::int64_t highest = 0;
  for (std::size_t axis = 0; axis < x.ndim(); ++axis) {
    const std::int64_t reach = x.strides()[axis] * (x.shape()[axis] - 1);
    (reach < 0 ? lowest : highest) += reach;
  }
  // Not a view: a function may write into it in place, which is not recorded for tensors that share memory.
  auto* const memory = new Tensor(empty({highest - lowest + 1}, x.dtype(), x.device()));
  char* const first = static_cast<char*>(memory->raw_data()) - lowest * static_cast<std::int64_t>(item_size(x.dtype()));
  const Tensor copy = from_memory(
      first, x.shape(), x.strides(), x.dtype(), x.device(), [](void* held) { delete static_cast<Tensor*>(held); },
      memory);
  copy_(copy, plain);
  return copy;
}

void add_to_components(const Tensor& x, const Components& steps) {
  const NoGrad off;
  Components values = components_of(x);
  for (std::size_t c = 0; c < values.size(); ++c) values[c] += steps[c];
  copy_(x, from_components(values, x));
}

double rounded(double value, DType dtype) {
  switch (dtype) {
    case DType::Float16:
      return static_cast<double>(static_cast<float>(Half(static_cast<float>(value))));
    case DType::BFloat16:
      return static_cast<double>(static_cast<float>(BFloat16(static_cast<float>(value))));
    case DType::Float32:
    case DType::Complex64:
      return static_cast<double>(static_cast<float>(value));
    default:
      return value;
  }
}

std::string component_name(const Tensor& x, std::size_t component) {
  const std::size_t parts = components_per_element(x);
  auto element = static_cast<std::int64_t>(component / parts);
  Dims index(x.ndim());
  for (std::size_t axis = x.ndim(); axis-- > 0;) {
    index[axis] = element % x.shape()[axis];
    element /= x.shape()[axis];
  }
  std::string text = x.ndim() == 0 ? std::string() : to_string(index);
  if (parts == 2) text += component % 2 == 0 ? ".real" : ".imag";
  return text;
}

Components random_components(std::size_t count, std::uint64_t seed, double low) {
  Components values(count);
  std::uint64_t state = (seed + 1) * 0x9E3779B97F4A7C15u;
  for (double& value : values) {
    // splitmix64 (G. Steele, D. Lea, C. Flood, OOPSLA 2014)
    state += 0x9E3779B97F4A7C15u;
    std::uint64_t bits = state;
    bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9u;
    bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EBu;
    bits ^= bits >> 31;
    value = low + static_cast<double>(bits >> 11) * 0x1p-53;
  }
  return values;
}

double Matrix::largest() const {
  double result = 0;
  for (const double value : values) {
    result = std::max(result, std::isnan(value) ? std::numeric_limits<double>::infinity() : std::abs(value));
  }
  return result;
}

}  // namespace lamella::autograd
