#include <gtest/gtest.h>

#include <limits>
#include <set>
#include <vector>

#include "engine/core/error.h"
#include "engine/core/tensor.h"
#include "engine/runtime/cuda/cublas.h"
#include "engine/runtime/cuda/cublas_lt.h"
#include "engine/runtime/device_query.h"
#include "ops/cuda/fast_divide.h"
#include "ops/cuda/strided.h"
#include "ops/cuda/wide_divide.h"

// Tests the parts of the CUDA build that need no device.

namespace lamella::cuda {
namespace {

TEST(FastDivide, IsTheQuotient) {
  constexpr std::uint32_t kTop = (1u << 31) - 1;
  std::vector<std::uint32_t> numbers;
  for (std::uint32_t i = 0; i < 70; ++i) {
    numbers.push_back(i);
    numbers.push_back(kTop - i);
    for (int shift = 7; shift < 31; ++shift) numbers.push_back((1u << shift) - 35 + i);
  }
  for (const std::uint32_t divisor : numbers) {
    if (divisor == 0) continue;
    const FastDivide divide(divisor);
    for (const std::uint32_t n : numbers) ASSERT_EQ(divide.quotient(n), n / divisor) << n << " / " << divisor;
    // Numbers around the multiples show a rounding error.
    for (const std::uint64_t factor : {1u, 2u, 3u, 1000u, 65537u}) {
      const std::uint64_t multiple = factor * divisor;
      if (multiple > kTop) break;
      const auto n = static_cast<std::uint32_t>(multiple);
      ASSERT_EQ(divide.quotient(n), factor);
      ASSERT_EQ(divide.quotient(n - 1), factor - 1);
    }
  }
}

TEST(WideDivide, IsTheQuotient) {
  constexpr std::int64_t kTop = std::numeric_limits<std::int64_t>::max();
  std::vector<std::int64_t> numbers;
  for (std::int64_t i = 0; i < 10; ++i) {
    numbers.push_back(i);
    numbers.push_back(kTop - i);
    for (int shift = 5; shift < 63; ++shift) numbers.push_back((std::int64_t{1} << shift) - 5 + i);
  }
  for (const std::int64_t divisor : numbers) {
    if (divisor == 0) continue;
    const WideDivide divide(divisor);
    for (const std::int64_t n : numbers) {
      ASSERT_EQ(divide.quotient(n), n / divisor) << n << " / " << divisor;
      // Numbers around the multiples show a rounding error.
      const std::int64_t factor = n / divisor;
      if (factor == 0) continue;
      ASSERT_EQ(divide.quotient(factor * divisor), factor);
      ASSERT_EQ(divide.quotient(factor * divisor - 1), factor - 1);
    }
  }
}

/// Returns the offsets of all elements of a loop, [output, operand 0], in order.
std::vector<std::pair<std::int64_t, std::int64_t>> all_offsets(const StridedLoop& loop) {
  const auto index = make_index<2>(loop);
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (std::uint32_t i = 0; i < loop.elements; ++i) {
    std::int64_t offsets[2];
    index.locate(i, offsets);
    found.emplace_back(offsets[0], offsets[1]);
  }
  return found;
}

StridedLoop loop_over(const Tensor& from, const Tensor& to) {
  const Tensor* const operands[] = {&from};
  return make_strided_loop(operands, to);
}

TEST(StridedIndex, FollowsTheStrides) {
  const Tensor base = empty({4, 3, 5, 2});
  const Tensor from = make_view(base, Dims{5, 3, 4}, Dims{2, 10, 30});
  const Tensor to = empty({5, 3, 4});
  const auto found = all_offsets(loop_over(from, to));
  std::size_t at = 0;
  for (std::int64_t i = 0; i < 5; ++i) {
    for (std::int64_t j = 0; j < 3; ++j) {
      for (std::int64_t k = 0; k < 4; ++k, ++at) {
        EXPECT_EQ(found[at], std::pair(i * 12 + j * 4 + k, i * 2 + j * 10 + k * 30));
      }
    }
  }
}

TEST(StridedIndex, RepeatsBroadcastOperands) {
  const Tensor row = empty({1, 3});
  const Tensor to = empty({2, 3});
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{0, 0}, {1, 1}, {2, 2}, {3, 0}, {4, 1}, {5, 2}};
  EXPECT_EQ(all_offsets(loop_over(row, to)), expected);
}

TEST(ForEachPart, CoversEveryElementOnce) {
  const Tensor base = empty({7, 50, 3});
  const Tensor from = make_view(base, Dims{50, 7, 3}, Dims{3, 150, 1});
  const Tensor to = empty({50, 7, 3});
  const StridedLoop loop = loop_over(from, to);
  const int bytes = 4;
  std::set<std::int64_t> written;
  int parts = 0;
  for_each_part(
      loop, bytes, &bytes,
      [&](const StridedLoop& part) {
        ++parts;
        EXPECT_LE(part.elements, 100);
        for (const auto& [out, in] : all_offsets(part)) {
          const std::int64_t to_at = (part.out - loop.out) / bytes + out;
          const std::int64_t from_at = (part.in[0] - loop.in[0]) / bytes + in;
          EXPECT_TRUE(written.insert(to_at).second);
          const std::int64_t i = to_at / 21;
          const std::int64_t rest = to_at % 21;
          EXPECT_EQ(from_at, i * 3 + rest / 3 * 150 + rest % 3);
        }
      },
      100);
  EXPECT_GE(parts, 11);
  EXPECT_EQ(written.size(), 1050u);
}

TEST(ForEachPart, KeepsValuesOfTheHostWhereTheyAre) {
  const Tensor to = empty({100});
  StridedLoop loop = loop_over(empty({}), to);
  loop.on_host = 1;
  const char* const value = loop.in[0];
  const int bytes = 4;
  for_each_part(loop, bytes, &bytes, [&](const StridedLoop& part) { EXPECT_EQ(part.in[0], value); }, 10);
}

TEST(DeviceQuery, NeverThrows) {
  EXPECT_EQ(device_count() > 0, is_available());
  EXPECT_NO_THROW(cuda::synchronize());
  EXPECT_EQ(lamella::device_count(DeviceType::CPU), 1);
}

TEST(DeviceQuery, ADeviceThatIsNotThereIsAnError) {
  const Device missing{DeviceType::CUDA, 63};
  EXPECT_THROW(lamella::synchronize(missing), RuntimeError);
  EXPECT_THROW(static_cast<void>(empty({2}, DType::Float32, missing)), RuntimeError);
}

// Loads cuBLAS, whose functions are found at run time, not by the linker.
TEST(Cublas, Loads) {
  EXPECT_STREQ(cublas().status_name(CUBLAS_STATUS_NOT_INITIALIZED), "CUBLAS_STATUS_NOT_INITIALIZED");
}

// The library knows the attributes that products set, in the sizes in which they are set.
TEST(CublasLt, TakesTheAttributesOfProducts) {
  const CublasLt* const lt = cublas_lt();
  ASSERT_NE(lt, nullptr);
  cublasLtMatmulDescOpaque_t product{};
  ASSERT_EQ(lt->init_product(&product, sizeof product, CUBLAS_COMPUTE_32F, CUDA_R_32F), CUBLAS_STATUS_SUCCESS);
  const auto set_product = [&](cublasLtMatmulDescAttributes_t attribute, const auto& value) {
    return lt->set_product(&product, attribute, &value, sizeof value);
  };
  EXPECT_EQ(set_product(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(set_product(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BGRADB), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(set_product(CUBLASLT_MATMUL_DESC_BIAS_POINTER, static_cast<const void*>(&product)), CUBLAS_STATUS_SUCCESS);
  cublasLtMatrixLayoutOpaque_t layout{};
  EXPECT_EQ(lt->init_layout(&layout, sizeof layout, CUDA_R_16BF, 3, 5, 3), CUBLAS_STATUS_SUCCESS);
  cublasLtMatmulPreferenceOpaque_t preference{};
  ASSERT_EQ(lt->init_preference(&preference, sizeof preference), CUBLAS_STATUS_SUCCESS);
  const auto set_preference = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
    return lt->set_preference(&preference, attribute, &value, sizeof value);
  };
  EXPECT_EQ(set_preference(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, std::uint64_t{1} << 20), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(set_preference(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                           static_cast<std::uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE)),
            CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(set_preference(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, std::uint32_t{2}), CUBLAS_STATUS_SUCCESS);
}

}  // namespace
}  // namespace lamella::cuda
