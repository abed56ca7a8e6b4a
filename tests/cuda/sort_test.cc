#include "tests/cuda/support.h"

namespace lamella::test {
namespace {

class Sorting : public Cuda {};

/// Short rows, alone and many.
const Dims kShapes[] = {{1}, {5}, {40, 17}, {6, 20, 4}, {3, 0}};
/// Rows of the longest kind that a block sorts, and longer ones.
const Dims kLongShapes[] = {{2, 2048}, {2049}, {3, 2100}};

/// Calls f(a tensor with equal elements, its copy on the device, an axis).
template <class F>
void for_each_axis(F&& f) {
  const auto run = [&](const Dims& shape, DType dtype) {
    // Whole numbers, so that some are equal.
    Tensor x = cast(sample(shape, DType::Int64, UnsignedInteger.contains(dtype) ? 0 : -60, 60, 1), dtype);
    if (is_floating(dtype) && x.numel() > 4) x = where(equal(x, 7), std::nan(""), x);
    const Tensor gpu = to_device(x, kGpu);
    f(x, gpu, static_cast<std::int64_t>(shape.size()) - 1);
    if (shape.size() > 2) f(x, gpu, 1);
  };
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (is_complex(static_cast<DType>(i))) continue;
    for (const Dims& shape : kShapes) run(shape, static_cast<DType>(i));
  }
  for (const Dims& shape : kLongShapes) {
    for (const DType dtype : {DType::Float16, DType::Int64}) run(shape, dtype);
  }
}

TEST_F(Sorting, AgreesWithTheCpu) {
  for_each_axis([](const Tensor& x, const Tensor& gpu, std::int64_t axis) {
    for (const bool descending : {false, true}) {
      EXPECT_TRUE(agree(sort(gpu, axis, descending), sort(x, axis, descending), 0)) << describe(x);
      EXPECT_TRUE(agree(argsort(gpu, axis, descending), argsort(x, axis, descending), 0)) << describe(x);
    }
  });
}

TEST_F(Sorting, SelectionAgreesWithTheCpu) {
  for_each_axis([](const Tensor& x, const Tensor& gpu, std::int64_t axis) {
    const std::int64_t n = x.shape()[static_cast<std::size_t>(axis)];
    for (const std::int64_t k : {std::int64_t{1}, n / 3, n}) {
      if (k == 0 || k > n) continue;
      for (const bool largest : {false, true}) {
        const std::vector<Tensor> actual = topk(gpu, k, axis, largest);
        const std::vector<Tensor> expected = topk(x, k, axis, largest);
        EXPECT_TRUE(agree(actual[0], expected[0], 0)) << describe(x) << ", k = " << k;
        EXPECT_TRUE(agree(actual[1], expected[1], 0)) << describe(x) << ", k = " << k;
      }
      EXPECT_TRUE(agree(kthvalue(gpu, k, axis)[1], kthvalue(x, k, axis)[1], 0)) << describe(x) << ", k = " << k;
    }
    if (x.numel() == 0) return;
    EXPECT_TRUE(agree(mode(gpu, axis)[1], mode(x, axis)[1], 0)) << describe(x);
    if (!is_floating(x.dtype())) return;
    EXPECT_TRUE(agree(Median::call(gpu, axis, false), Median::call(x, axis, false), 0)) << describe(x);
    EXPECT_TRUE(agree(NanMedian::call(gpu, axis, false), NanMedian::call(x, axis, false), 0)) << describe(x);
  });
}

TEST_F(Sorting, AFewLongRowsAreSortedToSelect) {
  const Tensor x = cast(sample({70001}, DType::Int64, 0, 30000, 1), DType::Float32);
  for (const std::int64_t k : {5, 3000}) EXPECT_TRUE(agree(topk(to_device(x, kGpu), k)[1], topk(x, k)[1], 0)) << k;
}

TEST_F(Sorting, UnsortedSelectionHasTheSameElements) {
  const Tensor x = sample({3, 5000}, DType::Float32, -1, 1, 1);
  const Tensor found = topk(to_device(x, kGpu), 70, 1, true, false)[0];
  EXPECT_TRUE(agree(sort(found, 1, true), topk(x, 70, 1)[0], 0));
}

TEST_F(Sorting, ManyRowsOfWideKeysAreSortedTwice) {
  const Tensor x = sample({5, 4000}, DType::Float64, -1e300, 1e300, 1);
  EXPECT_TRUE(agree(argsort(to_device(x, kGpu)), argsort(x), 0));
}

TEST_F(Sorting, SearchesAgreeWithTheCpu) {
  const Tensor x = sort(sample({3000}, DType::Float32, -1, 1, 1));
  const Tensor asked = concat({sample({500}, DType::Float32, -1.1, 1.1, 2), narrow(x, 0, 10, 50)}, 0);
  const Tensor gpu = to_device(x, kGpu);
  const Tensor asked_there = to_device(asked, kGpu);
  for (const char* side : {"left", "right"}) {
    EXPECT_TRUE(agree(searchsorted(gpu, asked_there, side), searchsorted(x, asked, side), 0));
  }
  EXPECT_TRUE(agree(isin(asked_there, gpu), isin(asked, x), 0));
}

TEST_F(Sorting, CountsAgreeWithTheCpu) {
  const Tensor x = sample({30000}, DType::Int32, 0, 90, 1);
  const Tensor weights = sample({30000}, DType::Float64, 0, 1, 2);
  const Tensor gpu = to_device(x, kGpu);
  EXPECT_TRUE(agree(bincount(gpu), bincount(x), 0));
  EXPECT_TRUE(agree(bincount(gpu, to_device(weights, kGpu), 100), bincount(x, weights, 100), 1e-12));
  const std::vector<Tensor> there = UniqueAll::call(gpu);
  const std::vector<Tensor> here = UniqueAll::call(x);
  for (std::size_t k = 0; k < here.size(); ++k) EXPECT_TRUE(agree(there[k], here[k], 0)) << k;
}

}  // namespace
}  // namespace lamella::test
