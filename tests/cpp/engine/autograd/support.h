#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/backward/multi_grad_hook.h"
#include "engine/autograd/checkpoint/checkpoint.h"
#include "engine/autograd/forward_mode/forward_ad.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/layers/function.h"
#include "engine/autograd/saved/saved_tensor_hooks.h"
#include "engine/core/allocator.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"
#include "engine/runtime/fork_rng.h"
#include "engine/runtime/generator.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/exp.h"
#include "ops/elementwise/in_place.h"
#include "ops/elementwise/log.h"
#include "ops/elementwise/pow.h"
#include "ops/elementwise/sqrt.h"
#include "ops/elementwise/tanh.h"
#include "ops/elementwise/where.h"
#include "ops/index/index.h"
#include "ops/linalg/matmul.h"
#include "ops/linalg/products.h"
#include "ops/movement/cast.h"
#include "ops/nn/dropout.h"
#include "ops/random/random.h"
#include "ops/reduce/extremum.h"
#include "ops/reduce/sum.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/transforms/functional.h"
#include "ops/transforms/gradcheck.h"
#include "ops/transforms/vmap.h"
#include "tests/cpp/messages.h"

// Shared by the tests of the tape. They compute with small integers, which float32 holds exactly, so that values are
// compared with ==.

namespace lamella::test {

inline Tensor make(std::span<const float> values, const Dims& shape) {
  Tensor x = empty(shape);
  std::copy(values.begin(), values.end(), x.data<float>());
  return x;
}
/// Returns a 1-d float32 tensor.
inline Tensor vec(std::initializer_list<float> values) {
  return make({values.begin(), values.size()}, Dims{static_cast<std::int64_t>(values.size())});
}
/// Returns a 1-d float32 leaf that wants a gradient.
inline Tensor leaf(std::initializer_list<float> values) { return vec(values).set_requires_grad(true); }
inline Tensor scalar(float value) { return make({&value, 1}, Dims{}); }
/// Returns a 0-d leaf that wants a gradient.
inline Tensor leaf(float value) { return scalar(value).set_requires_grad(true); }

/// Returns the elements in row-major order as float; nothing for an undefined tensor.
inline std::vector<float> values(const Tensor& x) {
  if (!x.defined()) return {};
  const autograd::NoGrad no_grad;
  const Tensor y = contiguous(cast(x, DType::Float32));
  return {y.data<float>(), y.data<float>() + y.numel()};
}

using Values = std::vector<float>;

/// Number of bytes held by tensors, nodes and other objects of the allocator.
inline std::int64_t live_bytes() { return memory_stats(kCPU).allocated; }

/// Fails the test if the scope leaves more memory in use than it found.
class NoLeak {
 public:
  NoLeak() : before_(live_bytes()) {}
  ~NoLeak() { EXPECT_EQ(live_bytes(), before_) << "memory is still held"; }
  NoLeak(const NoLeak&) = delete;
  NoLeak& operator=(const NoLeak&) = delete;

 private:
  std::int64_t before_;
};

/// x * x * x, differentiated from its input.
struct Cube : Function<Cube> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return x * x * x;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return 3 * x * x * dy;
  }
};

/// (2x)^2, saved wrongly: from the intermediate 2x, which has no gradient of its own.
struct FromIntermediate : Function<FromIntermediate> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    const Tensor twice = x * 2;
    ctx.save_for_backward(twice);
    return twice * twice;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [twice] = ctx.saved_tensors<1>();
    return dy * 4 * twice;
  }
};

/// Layer that returns a copy of x.
struct Identity : Function<Identity> {
  static Tensor forward(Context&, const Tensor& x) { return clone(x); }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

}  // namespace lamella::test
