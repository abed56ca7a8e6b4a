#include "engine/core/tensor.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "engine/core/allocator.h"
#include "engine/core/error.h"

namespace lamella {
namespace {

TEST(DeviceTest, ParsesWhatItPrints) {
  for (const char* text : {"cpu", "meta", "cuda:0", "cuda:7", "privateuse1:2"})
    EXPECT_EQ(Device::parse(text).str(), text);
  EXPECT_EQ(Device::parse("cuda"), Device(DeviceType::CUDA, 0));
  EXPECT_EQ(Device::parse("gpu:1"), Device(DeviceType::CUDA, 1));
  EXPECT_EQ(Device::parse("cpu:0"), kCPU);
}

TEST(DeviceTest, RefusesOtherNames) {
  for (const char* text : {"", "cpu:1", "cuda:", "cuda:-1", "cuda:x", "cuda:1x", "cuda:128", "cuda:99999999999", "CPU",
                           "tpu", ":0", "meta:1", "cuda: 1"}) {
    EXPECT_THROW(Device::parse(text), ValueError) << text;
  }
}

TEST(ScalarTest, KeepsItsKindAndValue) {
  EXPECT_EQ(Scalar(true).kind(), Scalar::Kind::Bool);
  EXPECT_EQ(Scalar(3).kind(), Scalar::Kind::Int);
  EXPECT_EQ(Scalar(3.5F).kind(), Scalar::Kind::Float);
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  EXPECT_EQ(Scalar(kMax).to<std::int64_t>(), kMax);
  EXPECT_EQ(Scalar(2.75).to<float>(), 2.75F);
  EXPECT_EQ(Scalar(true).to<double>(), 1.0);
}

TEST(TensorTest, UndefinedHoldsNothing) {
  const Tensor x;
  EXPECT_FALSE(x.defined());
  EXPECT_FALSE(static_cast<bool>(x));
  EXPECT_EQ(describe(x), "an undefined tensor");
}

TEST(TensorTest, EmptyHasTheAskedShape) {
  const Tensor x = empty({2, 3}, DType::Int64);
  EXPECT_EQ(x.shape(), (Dims{2, 3}));
  EXPECT_EQ(x.strides(), (Dims{3, 1}));
  EXPECT_EQ(x.ndim(), 2u);
  EXPECT_EQ(x.numel(), 6);
  EXPECT_EQ(x.nbytes(), 48u);
  EXPECT_EQ(x.size(-1), 3);
  EXPECT_THROW(x.size(2), IndexError);
  EXPECT_TRUE(x.is_contiguous());
  EXPECT_TRUE(x.is_leaf());
  EXPECT_TRUE(x.stop_gradient());
  EXPECT_EQ(x.version(), 0u);
  EXPECT_EQ(describe(x), "int64[2, 3] on cpu");
}

TEST(TensorTest, DataIsAlignedWritableAndTyped) {
  for (const std::int64_t size : {0, 1, 10, 255, 256, 257, 5000, 300000}) {
    const Tensor x = empty({size});
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(x.raw_data()) % 64, 0u) << size;
    for (std::int64_t i = 0; i < size; ++i) x.data<float>()[i] = static_cast<float>(i);
    if (size > 0) {
      EXPECT_EQ(x.data<float>()[size - 1], static_cast<float>(size - 1));
    }
  }
  try {
    static_cast<void>(empty({2}).data<double>());
    FAIL();
  } catch (const TypeError& error) {
    EXPECT_STREQ(error.what(), "[data] the tensor is float32[2] on cpu, not float64");
  }
}

TEST(TensorTest, ImpossibleShapesAreValueErrors) {
  constexpr std::int64_t kHuge = std::int64_t{1} << 62;
  for (const Dims& shape : {Dims{-1}, Dims{kHuge, 4}, Dims{kHuge}, Dims{1 << 21, 1 << 21, 1 << 21}, Dims{kHuge / 2}}) {
    EXPECT_THROW(empty(shape), ValueError) << shape;
    EXPECT_THROW(empty(shape, DType::Float32, kMeta), ValueError) << shape;
  }
  const Tensor nothing = empty({0, kHuge, kHuge});
  EXPECT_EQ(nothing.numel(), 0);
  EXPECT_TRUE(nothing.is_contiguous());
}

TEST(TensorTest, MoreThanTheMachineHasIsOutOfMemory) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "the sanitizer's allocator ends the process";
#endif
  const MemoryStats before = memory_stats(kCPU);
  try {
    empty({std::int64_t{1} << 48});
    FAIL() << "a petabyte";
  } catch (const OutOfMemoryError& error) {
    EXPECT_NE(std::string(error.what()).find(std::to_string(std::int64_t{1} << 50)), std::string::npos) << error.what();
  }
  EXPECT_EQ(memory_stats(kCPU).allocated, before.allocated);
}

TEST(TensorTest, ViewsShareBytesAndOutliveTheirBase) {
  Tensor base = empty({4, 3});
  for (int i = 0; i < 12; ++i) base.data<float>()[i] = static_cast<float>(i);
  const Tensor column = make_view(base, Dims{4}, Dims{3}, 1);
  EXPECT_FALSE(column.is_contiguous());
  EXPECT_EQ(column.data<float>(), base.data<float>() + 1);
  const std::int64_t held = memory_stats(kCPU).allocated;
  base = Tensor();
  EXPECT_EQ(column.data<float>()[9], 10.0F);
  EXPECT_LE(memory_stats(kCPU).allocated, held);
  const Tensor row = make_view(column, Dims{1}, Dims{1}, 3);
  EXPECT_EQ(row.data<float>()[0], 4.0F);
}

TEST(TensorTest, ViewsShareTheVersion) {
  const Tensor base = empty({4});
  const Tensor view = make_alias(base);
  EXPECT_FALSE(view.same(base));
  mark_written(view, "fill_");
  EXPECT_EQ(base.version(), 1u);
  EXPECT_STREQ(base->storage->last_write().op, "fill_");
  EXPECT_FALSE(base->storage->last_write().line) << "no host language tells lines here";
}

TEST(TensorTest, ForeignMemoryIsGivenBackOnce) {
  std::array<float, 6> memory{0, 1, 2, 3, 4, 5};
  int freed = 0;
  {
    Tensor view;
    {
      const Tensor x = from_memory(
          memory.data(), Dims{2, 3}, Dims{3, 1}, DType::Float32, kCPU, [](void* count) { ++*static_cast<int*>(count); },
          &freed);
      EXPECT_EQ(x.raw_data(), memory.data());
      view = make_view(x, Dims{2}, Dims{3}, 2);
    }
    EXPECT_EQ(freed, 0);
    EXPECT_EQ(view.data<float>()[3], 5.0F);
  }
  EXPECT_EQ(freed, 1);
}

TEST(TensorTest, ForeignMemoryNeedsNoDeleter) {
  const std::int64_t before = memory_stats(kCPU).allocated;
  static std::array<float, 6> memory{};
  from_memory(memory.data(), Dims{6}, Dims{1}, DType::Float32, kCPU, nullptr, nullptr);
  EXPECT_EQ(memory_stats(kCPU).allocated, before);
}

TEST(TensorTest, MoreAxesThanFitInline) {
  const Dims shape(9, 2);
  const Tensor x = empty(shape);
  EXPECT_EQ(x.numel(), 512);
  EXPECT_EQ(x.strides()[0], 256);
  const Tensor view = make_alias(x);
  EXPECT_EQ(view.shape(), shape);
}

TEST(TensorTest, HandlesAreSharedBetweenThreads) {
  const std::int64_t before = memory_stats(kCPU).allocated;
  {
    const Tensor x = empty({100});
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([x] {
        for (int i = 0; i < 20000; ++i) {
          const Tensor copy = x;
          const Tensor view = make_alias(copy);
          if (view.numel() != 100) std::abort();
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(x->use_count(), 1u);
    EXPECT_TRUE(x->storage->unique());
  }
  EXPECT_EQ(memory_stats(kCPU).allocated, before);
}

TEST(RequiresGradTest, OnlyDifferentiableLeavesWantGradients) {
  const Tensor x = empty({2});
  EXPECT_FALSE(x.requires_grad());
  x.set_requires_grad(true);
  EXPECT_TRUE(x.requires_grad());
  EXPECT_FALSE(x.stop_gradient());
  EXPECT_TRUE(x.is_leaf());
  x.set_stop_gradient(true);
  EXPECT_FALSE(x.requires_grad());
  EXPECT_THROW(empty({2}, DType::Int64).set_requires_grad(true), RuntimeError);
  EXPECT_THROW(empty({2}, DType::Bool).set_stop_gradient(false), RuntimeError);
  empty({2}, DType::Int64).set_requires_grad(false);
  EXPECT_TRUE(empty({2}, DType::Complex64).set_requires_grad(true).requires_grad());
}

TEST(RequiresGradTest, DetachIsAnotherHandleOffTheTape) {
  const Tensor x = empty({2});
  x.set_requires_grad(true);
  const Tensor y = x.detach();
  EXPECT_FALSE(y.requires_grad());
  EXPECT_EQ(y.raw_data(), x.raw_data());
  EXPECT_TRUE(x.requires_grad());
}

TEST(GradTest, CanBeSetReadAndCleared) {
  const Tensor x = empty({2, 2});
  EXPECT_FALSE(x.grad().defined());
  const Tensor g = empty({2, 2});
  x.set_grad(g);
  EXPECT_TRUE(x.grad().same(g));
  x.set_grad({});
  EXPECT_FALSE(x.grad().defined());
  EXPECT_THROW(x.set_grad(empty({4})), ValueError);
  EXPECT_THROW(x.set_grad(empty({2, 2}, DType::Float64)), ValueError);
  EXPECT_THROW(x.set_grad(empty({2, 2}, DType::Float32, kMeta)), ValueError);
  EXPECT_THROW(x.set_grad(x), ValueError);
}

}  // namespace
}  // namespace lamella
