#include <array>
#include <cmath>
#include <limits>
#include <ostream>
#include <vector>

#include "engine/runtime/cuda/cudnn.h"
#include "engine/runtime/cudnn_setting.h"
#include "engine/runtime/deterministic.h"
#include "engine/runtime/graphs.h"
#include "ops/nn/cuda/attention_cudnn.h"
#include "ops/nn/cuda/attention_cudnn_graph.h"
#include "tests/cuda/support.h"

// Attention by cuDNN: what the installed library takes as a description, which needs no device, and what it computes.

namespace lamella::cuda {
namespace {

using test::kGpu;

struct Sizes {
  std::int64_t batch, heads, key_heads, queries, keys, width, value_width;
  bool causal;
  bool heads_inside;  ///< [batch, position, head, element] in memory
};

/// Odd lengths, more queries than keys and the other way round, widths that differ, heads that serve several.
constexpr Sizes kSizes[] = {
    {2, 2, 2, 256, 256, 64, 64, false, false},  {2, 3, 3, 250, 177, 64, 64, true, true},
    {1, 4, 2, 177, 301, 128, 64, true, true},   {3, 4, 1, 200, 136, 72, 72, false, true},
    {2, 2, 2, 8, 2100, 256, 256, false, false}, {1, 2, 2, 512, 300, 64, 64, true, false},
};

std::ostream& operator<<(std::ostream& to, const Sizes& s) {
  return to << s.batch << " x " << s.heads << "/" << s.key_heads << " heads, " << s.queries << " x " << s.keys << ", "
            << s.width << "/" << s.value_width << (s.causal ? ", causal" : "");
}

AttentionSettings settings_of(const Sizes& sizes) {
  return {.scale = 1 / std::sqrt(static_cast<double>(sizes.width)), .causal = sizes.causal};
}

/// [batch, heads, length, width] with its axes in memory as the sizes say.
Tensor laid_out(const Sizes& sizes, const Tensor& x) {
  return sizes.heads_inside ? swapaxes(contiguous(swapaxes(x, 1, 2)), 1, 2) : contiguous(x);
}

struct Case {
  CudnnAttentionOperands operands;
  Tensor totals;
  Tensor dout;
  AttentionGradients grads;

  Case(const Sizes& s, DType dtype, Device device) {
    const auto made = [&](std::int64_t heads, std::int64_t length, std::int64_t width, std::uint64_t seed) {
      return laid_out(s, to_device(test::sample({s.batch, heads, length, width}, dtype, -1.5, 1.5, seed), device));
    };
    const double nan = std::numeric_limits<double>::quiet_NaN();
    operands = {made(s.heads, s.queries, s.width, 1),
                made(s.key_heads, s.keys, s.width, 2),
                made(s.key_heads, s.keys, s.value_width, 3),
                {}};
    dout = made(s.heads, s.queries, s.value_width, 4);
    operands.out = laid_out(s, full_like(dout, nan));
    totals = full({s.batch, s.heads, s.queries}, nan, DType::Float32, device);
    grads = {laid_out(s, full_like(operands.query, nan)), laid_out(s, full_like(operands.key, nan)),
             laid_out(s, full_like(operands.value, nan))};
  }
};

TEST(AttentionByCudnn, TakesTheDescriptors) {
  if (!cudnn::api()) GTEST_SKIP() << "cuDNN 9 is not installed";
  for (const Sizes& sizes : kSizes) {
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
      const Case c(sizes, dtype, kCPU);
      auto problem = cudnn_attention(c.operands, settings_of(sizes), c.dout, c.grads);
      ASSERT_TRUE(problem) << sizes;
      const std::size_t causal = sizes.causal ? 4 : 0;
      EXPECT_EQ(describe_attention(*problem, "attention").operations.size(), 10 + causal) << sizes;
      const std::size_t shared = sizes.heads == sizes.key_heads ? 0 : 2;
      problem->deterministic = false;
      EXPECT_EQ(describe_attention_gradients(*problem, "attention").operations.size(), 18 + causal + shared) << sizes;
      problem->deterministic = true;
      EXPECT_EQ(describe_attention_gradients(*problem, "attention").operations.size(), 17 + causal + shared) << sizes;
    }
  }
}

TEST(AttentionByCudnn, RefusesWhatItIsKnownNotToTake) {
  const Sizes sizes{2, 2, 2, 16, 16, 64, 64, false, false};
  const AttentionSettings settings = settings_of(sizes);
  const CudnnAttentionOperands good = Case(sizes, DType::Float16, kCPU).operands;
  EXPECT_TRUE(cudnn_attention(good, settings));
  EXPECT_FALSE(cudnn_attention(Case(sizes, DType::Float32, kCPU).operands, settings));
  EXPECT_FALSE(cudnn_attention(good, {.scale = 0.125, .dropout = 0.5}));
  EXPECT_FALSE(cudnn_attention(good, {.scale = -0.125}));
  CudnnAttentionOperands other = good;
  other.key = swapaxes(contiguous(swapaxes(good.key, -1, -2)), -1, -2);  // its elements are apart
  EXPECT_FALSE(cudnn_attention(other, settings));
  other = good;
  other.value = make_view(good.value, Dims{2, 1, 16, 64}, good.value.strides());  // fewer heads than the key has
  EXPECT_FALSE(cudnn_attention(other, settings));
  other = good;
  other.query = broadcast_to(reshape(zeros({64}, DType::Float16), {1, 1, 1, 64}), good.query.shape());
  EXPECT_FALSE(cudnn_attention(other, settings));
  for (const std::int64_t width : {60, 264}) {
    EXPECT_FALSE(
        cudnn_attention(Case({2, 2, 2, 16, 16, width, 64, false, false}, DType::Float16, kCPU).operands, settings));
  }
  EXPECT_FALSE(cudnn_attention(Case({2, 2, 2, 1, 1, 64, 64, false, false}, DType::Float16, kCPU).operands, settings));
}

TEST(AttentionByCudnn, JoinsLeadingAxes) {
  const CudnnAttentionOperands flat = Case({6, 2, 2, 16, 24, 64, 64, false, false}, DType::Float16, kCPU).operands;
  const auto split = [](const Tensor& x) { return reshape(x, {2, 3, 2, x.size(-2), x.size(-1)}); };
  const auto problem = cudnn_attention({split(flat.query), split(flat.key), split(flat.value), split(flat.out)}, {});
  ASSERT_TRUE(problem);
  EXPECT_EQ(problem->query.sizes, (std::array<std::int64_t, 4>{6, 2, 16, 64}));
  EXPECT_EQ(problem->key.strides, (std::array<std::int64_t, 4>{2 * 24 * 64, 24 * 64, 64, 1}));
}

class AttentionByCudnnOnDevice : public test::Cuda {
 protected:
  void SetUp() override {
    Cuda::SetUp();
    if (!IsSkipped() && !cudnn::api()) GTEST_SKIP() << "cuDNN 9 is not installed";
  }
  void TearDown() override {
    use_deterministic_algorithms(false);
    set_cudnn_enabled(true);
  }
};

/// Attention of float64 on the CPU, as the library composes it: out, the totals, and the gradients.
std::vector<Tensor> exact(const Sizes& s, const Case& c) {
  const auto moved = [](const Tensor& x) { return cast(to_device(x, kCPU), DType::Float64).detach(); };
  Tensor q = moved(c.operands.query).set_requires_grad(true);
  Tensor k = moved(c.operands.key).set_requires_grad(true);
  Tensor v = moved(c.operands.value).set_requires_grad(true);
  const AttentionSettings settings = settings_of(s);
  const Tensor out = scaled_dot_product_attention(q, k, v, std::nullopt, 0, s.causal, settings.scale, true);
  autograd::backward(out, moved(c.dout));
  const std::int64_t group = s.heads / s.key_heads;
  const autograd::NoGrad no_grad;
  Tensor scores = matmul(q, matrix_transpose(repeat(k, group, 1))) * settings.scale;
  if (s.causal) {
    const Tensor row = arange(0, Scalar(s.queries), 1, DType::Int64);
    const Tensor column = arange(0, Scalar(s.keys), 1, DType::Int64);
    scores = where(expand_dims(row, -1) >= column, scores, -std::numeric_limits<double>::infinity());
  }
  return {out.detach(), logsumexp(scores, Dims{-1}), q.grad(), k.grad(), v.grad()};
}

void expect_close(const Tensor& found, const Tensor& wanted, double allowed, const Sizes& sizes) {
  EXPECT_TRUE(test::agree(cast(to_device(found, kCPU), DType::Float64), wanted, allowed)) << sizes;
}

bool forward(const Case& c, const AttentionSettings& settings) {
  const auto& [query, key, value, out] = c.operands;
  return attention_forward_by_cudnn(query, key, value, settings, out, c.totals);
}

bool backward(const Case& c, const AttentionSettings& settings) {
  const auto& [query, key, value, out] = c.operands;
  return attention_backward_by_cudnn(query, key, value, {out, c.totals}, c.dout, settings, c.grads);
}

/// Calls until a plan is made.
template <class F>
bool is_done(F&& attention) {
  for (int call = 0; call < 3; ++call) {
    if (attention()) return true;
  }
  return false;
}

TEST_F(AttentionByCudnnOnDevice, AgreesWithTheCpu) {
  for (const Sizes& sizes : kSizes) {
    for (const DType dtype : {DType::Float16, DType::BFloat16}) {
      const Case c(sizes, dtype, kGpu);
      const std::vector<Tensor> wanted = exact(sizes, c);
      const AttentionSettings settings = settings_of(sizes);
      const double allowed = dtype == DType::Float16 ? 4e-3 : 3e-2;
      use_deterministic_algorithms(dtype == DType::BFloat16);
      ASSERT_TRUE(is_done([&] { return forward(c, settings); })) << sizes;
      expect_close(c.operands.out, wanted[0], allowed, sizes);
      expect_close(c.totals, wanted[1], 1e-4, sizes);
      ASSERT_TRUE(is_done([&] { return backward(c, settings); })) << sizes;
      expect_close(c.grads.query, wanted[2], allowed, sizes);
      expect_close(c.grads.key, wanted[3], allowed, sizes);
      expect_close(c.grads.value, wanted[4], allowed, sizes);
    }
  }
}

TEST_F(AttentionByCudnnOnDevice, WaitsForThirdCallsOfLargeProblems) {
  const Sizes large{2, 2, 2, 256, 264, 64, 64, false, false};
  const Sizes small{2, 2, 2, 32, 264, 64, 64, false, false};
  const Case c(large, DType::Float16, kGpu);
  const auto run = [&](const Case& given) { return forward(given, settings_of(large)); };
  EXPECT_FALSE(run(c));
  EXPECT_FALSE(run(c));
  set_capturing(true);
  EXPECT_FALSE(run(c));
  set_capturing(false);
  EXPECT_TRUE(run(c));
  set_cudnn_enabled(false);
  EXPECT_FALSE(run(c));
  set_cudnn_enabled(true);
  EXPECT_TRUE(run(c));
  const Case other(small, DType::Float16, kGpu);
  for (int call = 0; call < 4; ++call) EXPECT_FALSE(run(other));
}

}  // namespace
}  // namespace lamella::cuda
