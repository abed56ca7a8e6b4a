#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/cpu/tables/pool.h"
#include "ops/nn/pool_windows.h"

namespace lamella {

/// The windows along the spatial axes of a call, shared with its gradient. Immutable.
class PoolPlan {
 public:
  static constexpr std::size_t kAxes = 3;

  /// Takes at most three axes; missing leading ones get size 1. args() needs `tables`.
  PoolPlan(const std::vector<PoolWindows>& axes, bool tables);

  std::size_t axes() const noexcept { return given_; }
  Dims in() const;
  Dims out() const;
  const std::array<PoolWindows, kAxes>& windows() const noexcept { return windows_; }
  /// Returns the arguments of the CPU's kernels.
  cpu::PoolArgs args() const;
  /// Returns the amount of work per plane.
  std::int64_t plane_work() const;

 private:
  /// One entry per window.
  struct Table {
    std::vector<std::int64_t> begin;
    std::vector<std::int64_t> end;
    std::vector<double> scale;
  };

  std::size_t given_;
  std::array<PoolWindows, kAxes> windows_;
  std::array<Table, kAxes> tables_;
};

using SharedPlan = std::shared_ptr<const PoolPlan>;

/// True if pooling x reads the tables of a plan: on the CPU, or on a device that has no kernels.
bool reads_tables(const Tensor& x);

/// The kernels of pooling, named as in cpu::PoolKernels.
enum class PoolStep : std::uint8_t { Max, Sum, Spread, Pick, Put };

/// The parameters of a kernel call.
struct PoolCall {
  const PoolPlan& plan;
  const char* op;
  PoolStep step;
};

/// Returns the largest element of each window of x [.., in..] and, if `places`, its position in the plane as int64,
/// else an undefined tensor. Recorded.
std::array<Tensor, 2> pool_max(const Tensor& x, const SharedPlan& plan, bool places, const char* op);
/// Returns the sum of each window, times the axes' scales. Recorded.
Tensor pool_sum(const Tensor& x, const SharedPlan& plan, const char* op);

}  // namespace lamella
