#pragma once

#include "ops/cuda/windows.h"
#include "ops/nn/pool_layers.h"

namespace lamella::cuda {

/// The windows of a plane, with its sizes.
struct PoolShape {
  PoolWindows d;
  PoolWindows h;
  PoolWindows w;

  explicit PoolShape(const PoolPlan& plan) : d(plan.windows()[0]), h(plan.windows()[1]), w(plan.windows()[2]) {}

  ImageWindows::Sizes in() const { return {d.in, h.in, w.in}; }
  ImageWindows::Sizes out() const { return {d.out, h.out, w.out}; }
};

inline std::int64_t elements_of(const ImageWindows::Sizes& sizes) { return sizes[0] * sizes[1] * sizes[2]; }

/// Runs a kernel for windows of few neighbors, and returns true; or false where it has none.
bool pool_small_windows(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places);
/// Computes PoolStep::Max.
void pool_largest(const PoolCall& call, const Tensor& from, const Tensor& to, const Tensor& places);

}  // namespace lamella::cuda
