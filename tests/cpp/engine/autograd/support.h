#pragma once

#include <gtest/gtest.h>
#include <lamella/lamella.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

// What the tests of the tape share. They compute with small integers, which float32 holds exactly, so values are
// compared with ==.

namespace lamella::test {

inline Tensor make(std::span<const float> values, const Dims& shape) {
  Tensor x = empty(shape);
  std::copy(values.begin(), values.end(), x.data<float>());
  return x;
}
/// A 1-d float32 tensor.
inline Tensor vec(std::initializer_list<float> values) {
  return make({values.begin(), values.size()}, Dims{static_cast<std::int64_t>(values.size())});
}
/// The same, and it wants a gradient.
inline Tensor leaf(std::initializer_list<float> values) { return vec(values).set_requires_grad(true); }
inline Tensor scalar(float value) { return make({&value, 1}, Dims{}); }
/// A 0-d tensor that wants a gradient.
inline Tensor leaf(float value) { return scalar(value).set_requires_grad(true); }

/// The elements in order, as float; nothing for an undefined tensor.
inline std::vector<float> values(const Tensor& x) {
  if (!x.defined()) return {};
  const autograd::NoGrad no_grad;
  const Tensor y = contiguous(cast(x, DType::Float32));
  return {y.data<float>(), y.data<float>() + y.numel()};
}

using Values = std::vector<float>;

/// The message of the E that `run` throws; a failure where it throws none.
template <class E, class F>
std::string message_of(F&& run) {
  try {
    run();
  } catch (const E& error) {
    return error.what();
  }
  ADD_FAILURE() << "nothing was thrown";
  return {};
}

inline testing::AssertionResult contains(const std::string& text, const std::string& part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "\"" << part << "\" is not in \"" << text << "\"";
}

/// Bytes held by tensors, nodes and the like.
inline std::int64_t live_bytes() { return memory_stats(kCPU).allocated; }

/// Fails where the scope leaves more memory in use than it found.
class NoLeak {
 public:
  NoLeak() : before_(live_bytes()) {}
  ~NoLeak() { EXPECT_EQ(live_bytes(), before_) << "memory is still held"; }
  NoLeak(const NoLeak&) = delete;
  NoLeak& operator=(const NoLeak&) = delete;

 private:
  std::int64_t before_;
};

/// x * x * x, from its input.
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

/// x, as a layer of its own.
struct Identity : Function<Identity> {
  static Tensor forward(Context&, const Tensor& x) { return clone(x); }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

}  // namespace lamella::test
