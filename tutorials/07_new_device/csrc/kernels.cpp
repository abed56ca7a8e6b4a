// Kernels for built-in operators, and the fallback for those that have none.

#include "kernels.h"

#include <lamella/device.h>

#include <functional>
#include <optional>
#include <stdexcept>
#include <vector>

#include "simulator.h"

using lamella::DType;
using lamella::Tensor;

sim::Stream& current_stream(const Tensor& x) {
  void* const stream = lamella::backend_stream(x.device());
  return stream ? *static_cast<sim::Stream*>(stream) : sim::own_stream(x.device().index);
}

namespace {

void check(const Tensor& x, const char* op) {
  if (x.dtype() != DType::Float32) throw std::invalid_argument(std::string(op) + " on the NPU is for float32 only");
}

// An elementwise operator hands over operands of one shape and dtype, contiguous, on the device: a number, or a tensor
// that is broadcast, comes as a whole tensor.
template <class F>
Tensor elementwise(const Tensor& a, const Tensor& b, const char* op, F f) {
  check(a, op);
  Tensor out = lamella::empty_like(a);
  const float* x = a.data<float>();
  const float* y = b.data<float>();
  float* z = out.data<float>();
  sim::launch(current_stream(a), [=, n = a.numel()] {
    for (std::int64_t i = 0; i < n; ++i) sim::on_device(z)[i] = f(sim::on_device(x)[i], sim::on_device(y)[i]);
  });
  return out;
}

Tensor add(const Tensor& a, const Tensor& b) { return elementwise(a, b, "add", std::plus<>()); }
Tensor subtract(const Tensor& a, const Tensor& b) { return elementwise(a, b, "subtract", std::minus<>()); }
Tensor multiply(const Tensor& a, const Tensor& b) { return elementwise(a, b, "multiply", std::multiplies<>()); }

// Reductions are of the rows of a matrix.
Tensor sum(const Tensor& x, const std::optional<std::vector<std::int64_t>>&, bool, std::optional<DType>) {
  check(x, "sum");
  Tensor out = lamella::empty({x.size(0)}, x.dtype(), x.device());
  const float* from = x.data<float>();
  float* to = out.data<float>();
  sim::launch(current_stream(x), [=, rows = x.size(0), n = x.size(1)] {
    for (std::int64_t r = 0; r < rows; ++r) {
      double total = 0;
      for (std::int64_t i = 0; i < n; ++i) total += sim::on_device(from)[r * n + i];
      sim::on_device(to)[r] = static_cast<float>(total);
    }
  });
  return out;
}

// Products are of matrices, or of stacks of as many.
Tensor matmul(const Tensor& a, const Tensor& b) {
  check(a, "matmul");
  lamella::Dims shape = a.shape();
  shape.back() = b.size(-1);
  Tensor out = lamella::empty(shape, a.dtype(), a.device());
  const float* x = a.data<float>();
  const float* y = b.data<float>();
  float* z = out.data<float>();
  const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
  sim::launch(current_stream(a), [=, stacked = out.numel() / (m * n)] {
    for (std::int64_t s = 0; s < stacked; ++s) {
      const float* left = sim::on_device(x) + s * m * k;
      const float* right = sim::on_device(y) + s * k * n;
      float* to = sim::on_device(z) + s * m * n;
      for (std::int64_t i = 0; i < m; ++i) {
        for (std::int64_t j = 0; j < n; ++j) {
          double total = 0;
          for (std::int64_t l = 0; l < k; ++l) total += left[i * k + l] * right[l * n + j];
          to[i * n + j] = static_cast<float>(total);
        }
      }
    }
  });
  return out;
}

}  // namespace

LAMELLA_LIBRARY_IMPL(lamella, PrivateUse1, m) {
  m.impl("add", &add);
  m.impl("subtract", &subtract);
  m.impl("multiply", &multiply);
  m.impl("sum", &sum);
  m.impl("matmul", &matmul);
}

LAMELLA_LIBRARY_IMPL(_, PrivateUse1, m) {
  m.fallback(lamella::registry::KernelFunction::boxed(lamella::host_fallback));
}
