#include "engine/distributed/reduce_op.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <vector>

namespace lamella::distributed {
namespace {

template <class T>
std::vector<T> joined(ReduceOp op, const std::vector<T>& a, const std::vector<T>& b) {
  std::vector<T> y(a.size());
  reduction_for(op, dtype_of<T>)(y.data(), a.data(), b.data(), a.size());
  return y;
}

TEST(ReduceOp, JoinsNumbers) {
  using C = std::complex<double>;
  EXPECT_EQ(joined<float>(ReduceOp::Sum, {1, 2}, {3, -5}), (std::vector<float>{4, -3}));
  EXPECT_EQ(joined<double>(ReduceOp::Product, {1, 2}, {3, -5}), (std::vector<double>{3, -10}));
  EXPECT_EQ(joined<std::int16_t>(ReduceOp::Max, {1, 2}, {3, -5}), (std::vector<std::int16_t>{3, 2}));
  EXPECT_EQ(joined<std::uint64_t>(ReduceOp::Min, {1, ~0ull}, {3, 5}), (std::vector<std::uint64_t>{1, 5}));
  EXPECT_EQ(joined<C>(ReduceOp::Product, {{0, 1}}, {{0, 1}}), (std::vector<C>{{-1, 0}}));
}

TEST(ReduceOp, WrapsIntegersAround) {
  EXPECT_EQ(joined<std::int8_t>(ReduceOp::Sum, {127}, {1}), (std::vector<std::int8_t>{-128}));
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(joined<std::int64_t>(ReduceOp::Product, {kMost}, {2}), (std::vector<std::int64_t>{-2}));
}

TEST(ReduceOp, KeepsNaNOnEitherSide) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const ReduceOp op : {ReduceOp::Max, ReduceOp::Min}) {
    const std::vector<float> y = joined<float>(op, {nan, 1}, {1, nan});
    EXPECT_TRUE(std::isnan(y[0]) && std::isnan(y[1])) << name(op);
  }
}

TEST(ReduceOp, LeavesOutWhatIsJoinedInAnotherWay) {
  EXPECT_EQ(reduction_for(ReduceOp::Sum, DType::Float16), nullptr);
  EXPECT_EQ(reduction_for(ReduceOp::Max, DType::BFloat16), nullptr);
  EXPECT_EQ(reduction_for(ReduceOp::Max, DType::Complex64), nullptr);
  EXPECT_EQ(reduction_for(ReduceOp::Sum, DType::Bool), nullptr);
  EXPECT_NE(reduction_for(ReduceOp::Min, DType::Bool), nullptr);
}

}  // namespace
}  // namespace lamella::distributed
