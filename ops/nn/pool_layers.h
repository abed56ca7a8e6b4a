#pragma once

#include <array>
#include <memory>
#include <optional>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/cpu/tables/pool.h"

namespace lamella {

/// The windows of pooling along one axis.
struct PoolWindows {
  std::int64_t in = 1;
  std::int64_t out = 1;
  std::int64_t step = 1;
  // One entry per window; empty if there is nothing to compute.
  std::vector<std::int64_t> begin;
  std::vector<std::int64_t> end;
  std::vector<double> scale;
};

/// The windows along the spatial axes of a call, shared with its gradient. Immutable.
class PoolPlan {
 public:
  /// Takes at most three axes; missing leading ones get size 1.
  explicit PoolPlan(std::vector<PoolWindows> axes);

  std::size_t axes() const noexcept { return given_; }
  Dims in() const;
  Dims out() const;
  /// Returns the arguments of the kernels.
  cpu::PoolArgs args() const;
  /// Returns the amount of work per plane.
  std::int64_t plane_work() const;

 private:
  std::size_t given_;
  std::vector<PoolWindows> windows_;
};

using SharedPlan = std::shared_ptr<const PoolPlan>;

/// Returns the largest element of each window of x [.., in..] and, if `places`, its position in the plane as int64,
/// else an undefined tensor. Recorded.
std::array<Tensor, 2> pool_max(const Tensor& x, const SharedPlan& plan, bool places, const char* op);
/// Returns the sum of each window, times the axes' scales. Recorded.
Tensor pool_sum(const Tensor& x, const SharedPlan& plan, const char* op);

}  // namespace lamella
