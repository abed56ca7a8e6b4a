#include "ops/nn/distances.h"

#include <cmath>

#include "engine/autograd/modes.h"
#include "engine/autograd/recorder.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/cpu/loader.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/index/take.h"
#include "ops/linalg/diagonal_forms.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/norms.h"
#include "ops/movement/cast.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/shape/arrange.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/along.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// As many rows as make the product of matrices worth its rounding.
constexpr std::int64_t kFewRows = 25;

/// x ** (1 / p), whose derivative is 0 where x is.
Tensor root(const Tensor& x, double p) {
  const Tensor none = equal(x, 0);
  const Tensor positive = where(none, 1, x);
  return where(none, 0, p == 2 ? sqrt(positive) : pow(positive, 1 / p));
}

/// The p-norm of d along the last axis.
Tensor norm_of(const Tensor& d, double p) {
  if (p == 0) return cast(sum(not_equal(d, 0), -1), d.dtype());
  if (p == 1) return sum(abs(d), -1);
  if (std::isinf(p)) return d.size(-1) == 0 ? sum(abs(d), -1) : max(abs(d), -1);
  return root(p == 2 && !is_complex(d.dtype()) ? square_sum(d, Dims{-1}) : sum(p == 2 ? square(d) : pow(abs(d), p), -1),
              p);
}

constexpr std::int64_t kGrain = 16384;  // differences that one thread takes at a time

/// Whether the kernel for distances takes x: nothing is recorded, and there are no tensors of all differences.
bool is_measured(const Tensor& x) {
  return x.device().is_cpu() && (x.dtype() == DType::Float32 || x.dtype() == DType::Float64) && !is_followed(x) &&
         !is_batched(x) && !autograd::is_tracing();
}

/// Calls run(kernel, T()) with the kernel for x's dtype.
template <class F>
void with_kernel(const Tensor& x, F&& run) {
  const cpu::DistanceTable& table = cpu_kernels().distance;
  if (x.dtype() == DType::Float32) {
    run(table.float32, float());
  } else {
    run(table.float64, double());
  }
}

/// The distances of all rows of a and b, whose leading axes broadcast.
Tensor all_distances(const Tensor& a, const Tensor& b, double p, const char* op) {
  const Dims batch =
      broadcast_shapes(DimsView(a.shape()).first(a.ndim() - 2), DimsView(b.shape()).first(b.ndim() - 2), op);
  const auto whole = [&](const Tensor& x) {
    Dims shape = batch;
    shape.push_back(x.size(-2));
    shape.push_back(x.size(-1));
    return contiguous(broadcast_to(x, shape));
  };
  const Tensor x = whole(a);
  const Tensor y = whole(b);
  const std::int64_t rows = a.size(-2);
  const std::int64_t columns = b.size(-2);
  const std::int64_t width = a.size(-1);
  Dims shape = batch;
  shape.push_back(rows);
  shape.push_back(columns);
  const Tensor out = empty(shape, x.dtype());
  if (out.numel() == 0) return out;
  const HostRelease release(out.numel() * width);
  with_kernel(x, [&]<class T>(cpu::DistanceKernel<T> kernel, T) {
    parallel_for(0, out.numel() / columns,
                 std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, columns * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     kernel(x.data<T>() + r * width, y.data<T>() + r / rows * columns * width,
                            out.data<T>() + r * columns, columns, width, p);
                   }
                 });
  });
  autograd::note_derived(pointers(a, b), out);
  return out;
}

/// The distances of each row of x from those behind it.
Tensor pair_distances(const Tensor& given, double p) {
  const Tensor x = contiguous(given);
  const std::int64_t rows = x.size(0);
  const std::int64_t width = x.size(1);
  const Tensor out = empty({rows * (rows - 1) / 2}, x.dtype());
  if (out.numel() == 0) return out;
  const HostRelease release(out.numel() * width);
  with_kernel(x, [&]<class T>(cpu::DistanceKernel<T> kernel, T) {
    parallel_for(0, rows - 1, std::max<std::int64_t>(1, 2 * kGrain / std::max<std::int64_t>(1, rows * width)),
                 [&](std::int64_t begin, std::int64_t end) {
                   for (std::int64_t r = begin; r < end; ++r) {
                     kernel(x.data<T>() + r * width, x.data<T>() + (r + 1) * width,
                            out.data<T>() + r * (2 * rows - r - 1) / 2, rows - r - 1, width, p);
                   }
                 });
  });
  autograd::note_derived(pointers(given), out);
  return out;
}

void check_p(double p, const char* op) {
  if (!(p >= 0)) fail<ValueError>("[", op, "] p must be at least 0, got ", p);
}

/// x as floating numbers where it holds integers; complex ones stay.
Tensor as_numbers(const Tensor& x, const char* op) {
  check_defined(x, op);
  return is_complex(x.dtype()) ? x : as_floating(x, op);
}

}  // namespace

Tensor Cdist::call(const Tensor& x1, const Tensor& x2, double p) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Cdist>(x1, x2, p);
  check_p(p, info.name);
  const Tensor a = as_floating(x1, info.name);
  const Tensor b = as_floating(x2, info.name);
  if (a.ndim() < 2 || b.ndim() < 2 || a.size(-1) != b.size(-1)) {
    fail<ValueError>("[cdist] needs matrices with rows of the same size, got the shapes ", x1.shape(), " and ",
                     x2.shape());
  }
  const bool measured = a.dtype() == b.dtype() && is_measured(a) && is_measured(b);
  if (p != 2 || (a.size(-2) <= kFewRows && b.size(-2) <= kFewRows)) {
    if (measured) return all_distances(a, b, p, info.name);
    return norm_of(subtract(expand_dims(a, -2), expand_dims(b, -3)), p);
  }
  // |a - b|^2 = |a|^2 - 2 ab + |b|^2, without a tensor of all differences.
  if (measured) {
    const Tensor products = matmul(multiply(a, -2), matrix_transpose(b));
    const Tensor squares = add(add(products, square_sum(a, Dims{-1}, true)), expand_dims(square_sum(b, Dims{-1}), -2));
    return sqrt(clip(squares, Scalar(0), std::nullopt));
  }
  const Tensor lengths = add(square_sum(a, Dims{-1}, true), expand_dims(square_sum(b, Dims{-1}), -2));
  return root(clip(subtract(lengths, multiply(matmul(a, matrix_transpose(b)), 2)), Scalar(0), std::nullopt), 2);
}

Tensor Pdist::call(const Tensor& given, double p) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Pdist>(given, p);
  check_p(p, info.name);
  const Tensor x = as_floating(given, info.name);
  if (x.ndim() != 2) fail<ValueError>("[pdist] takes a matrix, got shape ", x.shape());
  if (is_measured(x)) return pair_distances(x, p);
  const Tensor pairs = TriuIndices::call(x.size(0), x.size(0), 1, x.device());
  return norm_of(subtract(take(x, select(pairs, 0, 0), 0), take(x, select(pairs, 0, 1), 0)), p);
}

Tensor Dist::call(const Tensor& x1, const Tensor& x2, double p) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Dist>(x1, x2, p);
  const Tensor difference = subtract(as_numbers(x1, info.name), as_numbers(x2, info.name));
  const Tensor flat = reshape(is_complex(difference.dtype()) ? abs(difference) : difference, {-1});
  if (p >= 0) return norm_of(flat, p);
  return LinalgVectorNorm::call(flat, Dims{0}, false, p);
}

Tensor Normalize::call(const Tensor& given, double p, const Dims& axis, double eps) {
  const Tensor x = as_numbers(given, info.name);
  if (x.ndim() == 0) return reshape(call(reshape(x, {1}), p, axis, eps), Dims{});
  return divide(x, maximum(LinalgVectorNorm::call(x, axis, true, p), eps));
}

Tensor Renorm::call(const Tensor& given, double p, std::int64_t axis, double maxnorm) {
  const Tensor x = as_numbers(given, info.name);
  if (!(p > 0)) fail<ValueError>("[renorm] p must be above 0, got ", p);
  if (!(maxnorm >= 0)) fail<ValueError>("[renorm] maxnorm must not be negative, got ", maxnorm);
  if (x.ndim() < 2) fail<ValueError>("[renorm] needs at least two axes, got shape ", x.shape());
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  Dims others;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    if (i != at) others.push_back(i);
  }
  constexpr double kSmall = 1e-7;  // as PyTorch has it: the result is within maxnorm after rounding
  const Tensor norms = LinalgVectorNorm::call(x, others, true, p);
  const Tensor large = greater(norms, maxnorm);
  const Tensor factors = where(large, divide(maxnorm, add(where(large, norms, 1), kSmall)), 1);
  return multiply(x, factors);
}

}  // namespace lamella
