#include "ops/nn/norm_columns.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/movement/cast.h"
#include "ops/nn/norm_planes.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements that one thread takes at a time
constexpr std::int64_t kLeastRows = 32;
constexpr std::int64_t kMostParts = 64;

template <class T>
const cpu::NormKernels<T>& kernels() {
  return cpu::kernels_of<T>(cpu_kernels().norm);
}
template <class T>
const cpu::MomentKernels<T>& moment_kernels() {
  return cpu::kernels_of<T>(cpu_kernels().moments);
}

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

/// x as a matrix whose rows are split into parts by its shape alone, so that results do not depend on the number of
/// threads.
struct Matrix {
  std::int64_t rows;
  std::int64_t channels;
  std::int64_t size;  // number of columns per channel
  std::int64_t columns;
  std::int64_t rows_of_part;
  std::int64_t parts;

  explicit Matrix(const Tensor& x)
      : rows(x.size(0)),
        channels(x.size(1)),
        size(x.size(3)),
        columns(channels * size),
        rows_of_part(std::max({kLeastRows, kGrain / columns, (rows + kMostParts - 1) / kMostParts})),
        parts((rows + rows_of_part - 1) / rows_of_part) {}

  double elements() const { return static_cast<double>(rows) * static_cast<double>(size); }
  std::int64_t rows_in(std::int64_t part) const { return std::min(rows_of_part, rows - part * rows_of_part); }

  /// Calls f(part, first element, rows) for each part.
  template <class F>
  void for_each_part(F&& f) const {
    parallel_for(0, parts, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t part = begin; part < end; ++part) f(part, part * rows_of_part * columns, rows_in(part));
    });
  }
};

}  // namespace

Tensor normalize_columns(const Tensor& x, const std::optional<Tensor>& weight, const std::optional<Tensor>& bias,
                         const NormSetting& setting, NormMeasures& measures, BatchStatistics* statistics) {
  const Matrix matrix(x);
  const Tensor y = empty_like(x);
  measures = {empty({matrix.channels}, DType::Float64), empty({matrix.channels}, DType::Float64)};
  const Tensor variance = empty({matrix.channels}, DType::Float64);
  const Tensor w = weight ? contiguous(*weight) : Tensor();
  const Tensor b = bias ? contiguous(*bias) : Tensor();
  {
    const HostRelease release(x.numel());
    visit<DTypeSet{DType::Float32, DType::Float64}>(x.dtype(), setting.op, [&]<class T> {
      std::vector<double> part_mean(at(matrix.parts * matrix.columns));
      std::vector<double> part_squares(at(matrix.parts * matrix.columns));
      matrix.for_each_part([&](std::int64_t part, std::int64_t offset, std::int64_t rows) {
        moment_kernels<T>().columns(x.data<T>() + offset, matrix.columns, rows, matrix.columns,
                                    part_mean.data() + part * matrix.columns,
                                    part_squares.data() + part * matrix.columns);
      });
      double* const mean = measures.mean.data<double>();
      double* const rstd = measures.rstd.data<double>();
      double* const spread = variance.data<double>();
      std::fill_n(mean, matrix.channels, 0.0);
      std::fill_n(spread, matrix.channels, 0.0);
      const auto for_each = [&](auto&& f) {
        for (std::int64_t part = 0; part < matrix.parts; ++part) {
          const double share = static_cast<double>(matrix.rows_in(part)) / matrix.elements();
          for (std::int64_t c = 0; c < matrix.columns; ++c) f(at(part * matrix.columns + c), c / matrix.size, share);
        }
      };
      for_each([&](std::size_t i, std::int64_t channel, double share) { mean[channel] += part_mean[i] * share; });
      for_each([&](std::size_t i, std::int64_t channel, double share) {
        const double distance = part_mean[i] - mean[channel];
        spread[channel] += part_squares[i] / matrix.elements() + distance * distance * share;
      });
      for (std::int64_t c = 0; c < matrix.channels; ++c) rstd[c] = 1 / std::sqrt(spread[c] + setting.eps);
      if constexpr (std::is_same_v<T, double>) measure_widely(x, setting, mean, spread, rstd);
      std::vector<T> center(at(matrix.columns));
      std::vector<T> scale(at(matrix.columns));
      std::vector<T> shift(at(matrix.columns));
      for (std::int64_t c = 0; c < matrix.columns; ++c) {
        const std::int64_t channel = c / matrix.size;
        const double factor = rstd[channel] * (w.defined() ? static_cast<double>(w.data<T>()[channel]) : 1.0);
        center[at(c)] = static_cast<T>(mean[channel]);
        scale[at(c)] = static_cast<T>(factor);
        const double rest = mean[channel] - static_cast<double>(center[at(c)]);
        shift[at(c)] = static_cast<T>((b.defined() ? static_cast<double>(b.data<T>()[channel]) : 0.0) - rest * factor);
      }
      matrix.for_each_part([&](std::int64_t, std::int64_t offset, std::int64_t rows) {
        kernels<T>().scale_shift_columns(x.data<T>() + offset, center.data(), scale.data(), shift.data(),
                                         y.data<T>() + offset, rows, matrix.columns);
      });
    });
  }
  if (statistics) *statistics = {measures.mean, variance};
  return y;
}

// With h = (x - mean) rstd, and means over a whole channel: dx = rstd (w dy - mean(w dy) - h mean(w dy h)).
NormGrads normalize_columns_backward(const Tensor& x, const Tensor& weight, const Tensor& dy,
                                     const NormMeasures& measures, const NormSetting& setting, const Dims& shape,
                                     bool want_weight, bool want_bias) {
  const Matrix matrix(x);
  NormGrads grads;
  grads.x = empty_like(x);
  const Tensor w = weight.defined() ? contiguous(weight) : Tensor();
  if (want_weight) grads.weight = empty(shape, x.dtype());
  if (want_bias) grads.bias = empty(shape, x.dtype());
  const HostRelease release(x.numel());
  visit<DTypeSet{DType::Float32, DType::Float64}>(x.dtype(), setting.op, [&]<class T> {
    const double* const mean = measures.mean.data<double>();
    const double* const rstd = measures.rstd.data<double>();
    std::vector<T> center(at(matrix.columns));
    std::vector<T> scale(at(matrix.columns));
    for (std::int64_t c = 0; c < matrix.columns; ++c) {
      center[at(c)] = static_cast<T>(mean[c / matrix.size]);
      scale[at(c)] = static_cast<T>(rstd[c / matrix.size]);
    }
    std::vector<T> part_sum(at(matrix.parts * matrix.columns));
    std::vector<T> part_dot(at(matrix.parts * matrix.columns));
    matrix.for_each_part([&](std::int64_t part, std::int64_t offset, std::int64_t rows) {
      kernels<T>().dots_of_columns(x.data<T>() + offset, dy.data<T>() + offset, center.data(), scale.data(),
                                   part_sum.data() + part * matrix.columns, part_dot.data() + part * matrix.columns,
                                   rows, matrix.columns);
    });
    std::vector<double> sum(at(matrix.channels), 0.0);
    std::vector<double> dot(at(matrix.channels), 0.0);
    for (std::int64_t part = 0; part < matrix.parts; ++part) {
      for (std::int64_t c = 0; c < matrix.columns; ++c) {
        sum[at(c / matrix.size)] += static_cast<double>(part_sum[at(part * matrix.columns + c)]);
        dot[at(c / matrix.size)] += static_cast<double>(part_dot[at(part * matrix.columns + c)]);
      }
    }
    std::vector<T> by_dy(at(matrix.columns));
    std::vector<T> by_h(at(matrix.columns));
    std::vector<T> constant(at(matrix.columns));
    for (std::int64_t c = 0; c < matrix.channels; ++c) {
      // Corrects for the rounding of the centers.
      const double rest = mean[c] - static_cast<double>(center[at(c * matrix.size)]);
      const double dh = dot[at(c)] - rest * rstd[c] * sum[at(c)];
      if (want_weight) grads.weight.data<T>()[c] = static_cast<T>(dh);
      if (want_bias) grads.bias.data<T>()[c] = static_cast<T>(sum[at(c)]);
      const double factor = w.defined() ? static_cast<double>(w.data<T>()[c]) : 1.0;
      const double slope = -rstd[c] * factor * dh / matrix.elements();
      const double offset = -rstd[c] * factor * sum[at(c)] / matrix.elements() - slope * (rstd[c] * rest);
      for (std::int64_t k = c * matrix.size; k < (c + 1) * matrix.size; ++k) {
        by_dy[at(k)] = static_cast<T>(rstd[c] * factor);
        by_h[at(k)] = static_cast<T>(slope);
        constant[at(k)] = static_cast<T>(offset);
      }
    }
    matrix.for_each_part([&](std::int64_t, std::int64_t offset, std::int64_t rows) {
      kernels<T>().combine_columns(x.data<T>() + offset, center.data(), scale.data(), dy.data<T>() + offset,
                                   by_dy.data(), by_h.data(), constant.data(), grads.x.data<T>() + offset, rows,
                                   matrix.columns);
    });
  });
  return grads;
}

}  // namespace lamella
