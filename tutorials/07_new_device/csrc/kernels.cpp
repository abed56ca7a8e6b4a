// Kernels for built-in operators, and the fallback for those that have none.

#include "kernels.h"

#include <lamella/device.h>

#include <functional>
#include <optional>
#include <vector>

#include "simulator.h"

using lamella::DType;
using lamella::Tensor;

sim::Stream& current_stream(const Tensor& x) {
  void* const stream = lamella::backend_stream(x.device());
  return stream ? *static_cast<sim::Stream*>(stream) : sim::own_stream(x.device().index);
}

namespace {

/// Calls f for the element type of float32 and float64. A kernel that gives no tensor declines the call, and the
/// fallback takes it.
template <class F>
Tensor for_floats(DType dtype, F&& f) {
  if (dtype == DType::Float32) return f(float{});
  if (dtype == DType::Float64) return f(double{});
  return {};
}

// An elementwise operator hands over operands of one shape and dtype, contiguous, on the device: a number, or a tensor
// that is broadcast, comes as a whole tensor.
template <class Formula>
Tensor elementwise(const Tensor& a, const Tensor& b, Formula formula) {
  return for_floats(a.dtype(), [&]<class T>(T) {
    Tensor out = lamella::empty_like(a);
    const T* x = a.data<T>();
    const T* y = b.data<T>();
    T* z = out.data<T>();
    sim::launch(current_stream(a), [=, n = a.numel()] {
      for (std::int64_t i = 0; i < n; ++i) sim::on_device(z)[i] = formula(sim::on_device(x)[i], sim::on_device(y)[i]);
    });
    return out;
  });
}

Tensor add(const Tensor& a, const Tensor& b) { return elementwise(a, b, std::plus<>()); }
Tensor subtract(const Tensor& a, const Tensor& b) { return elementwise(a, b, std::minus<>()); }
Tensor multiply(const Tensor& a, const Tensor& b) { return elementwise(a, b, std::multiplies<>()); }

// Reductions are of the rows of a matrix.
Tensor sum(const Tensor& x, const std::optional<std::vector<std::int64_t>>&, bool, std::optional<DType>) {
  return for_floats(x.dtype(), [&]<class T>(T) {
    Tensor out = lamella::empty({x.size(0)}, x.dtype(), x.device());
    const T* from = x.data<T>();
    T* to = out.data<T>();
    sim::launch(current_stream(x), [=, rows = x.size(0), n = x.size(1)] {
      for (std::int64_t r = 0; r < rows; ++r) {
        double total = 0;
        for (std::int64_t i = 0; i < n; ++i) total += sim::on_device(from)[r * n + i];
        sim::on_device(to)[r] = static_cast<T>(total);
      }
    });
    return out;
  });
}

// Products are of matrices, or of stacks of as many.
Tensor matmul(const Tensor& a, const Tensor& b) {
  return for_floats(a.dtype(), [&]<class T>(T) {
    lamella::Dims shape = a.shape();
    shape.back() = b.size(-1);
    Tensor out = lamella::empty(shape, a.dtype(), a.device());
    const T* x = a.data<T>();
    const T* y = b.data<T>();
    T* z = out.data<T>();
    const std::int64_t m = a.size(-2), k = a.size(-1), n = b.size(-1);
    sim::launch(current_stream(a), [=, stacked = out.numel() / (m * n)] {
      for (std::int64_t s = 0; s < stacked; ++s) {
        const T* left = sim::on_device(x) + s * m * k;
        const T* right = sim::on_device(y) + s * k * n;
        T* to = sim::on_device(z) + s * m * n;
        for (std::int64_t i = 0; i < m; ++i) {
          for (std::int64_t j = 0; j < n; ++j) {
            double total = 0;
            for (std::int64_t l = 0; l < k; ++l) total += static_cast<double>(left[i * k + l]) * right[l * n + j];
            to[i * n + j] = static_cast<T>(total);
          }
        }
      }
    });
    return out;
  });
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
