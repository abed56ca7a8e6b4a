#include <cstring>
#include <limits>

#include "engine/core/modes.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"
#include "ops/support/strided.h"
#include "tests/cpp/gradcheck.h"

namespace lamella::testing {
namespace {

constexpr DType kAll[] = {DType::Bool,     DType::Int8,    DType::Int16,   DType::Int32,     DType::Int64,
                          DType::UInt8,    DType::UInt16,  DType::UInt32,  DType::UInt64,    DType::Float16,
                          DType::BFloat16, DType::Float32, DType::Float64, DType::Complex64, DType::Complex128};

TEST(Cast, EveryPairKeepsSmallIntegers) {
  for (const DType from : kAll) {
    for (const DType to : kAll) {
      const Tensor x = cast(tensor_of<std::int64_t>({0, 1, 1, 0, 1}), from);
      const Tensor y = cast(cast(x, to), DType::Int64);
      EXPECT_EQ(values<std::int64_t>(y), (std::vector<std::int64_t>{0, 1, 1, 0, 1})) << from << " to " << to;
    }
  }
}

TEST(Cast, KeepsValuesBetweenNumbers) {
  const std::vector<double> numbers{-3, 0, 7, 100, -128, 127};
  for (const DType middle : {DType::Int8, DType::Int16, DType::Int32, DType::Int64, DType::Float16, DType::BFloat16,
                             DType::Float32, DType::Complex64, DType::Complex128}) {
    const std::vector<double> back = values<double>(cast(cast(tensor_of(numbers), middle), DType::Float64));
    EXPECT_EQ(back, numbers) << middle;
  }
}

TEST(Cast, TruncatesAndSaturatesToIntegers) {
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor_of<double>({-1.9, 1.9, 3e9, -3e9, inf, -inf, std::nan("")});
  using I = std::int32_t;
  constexpr I kMax = std::numeric_limits<I>::max();
  constexpr I kMin = std::numeric_limits<I>::min();
  EXPECT_EQ(values<I>(cast(x, DType::Int32)), (std::vector<I>{-1, 1, kMax, kMin, kMax, kMin, 0}));
  EXPECT_EQ(values<I>(cast(cast(x, DType::Float32), DType::Int32)), (std::vector<I>{-1, 1, kMax, kMin, kMax, kMin, 0}));
  using U = std::uint8_t;
  EXPECT_EQ(values<U>(cast(x, DType::UInt8)), (std::vector<U>{0, 1, 255, 0, 255, 0, 0}));
  using L = std::int64_t;
  constexpr L kLong = std::numeric_limits<L>::max();
  EXPECT_EQ(values<L>(cast(tensor_of<float>({1e30f, -1e30f, 0x1p62f}), DType::Int64)),
            (std::vector<L>{kLong, -kLong - 1, L{1} << 62}));
}

TEST(Cast, WhateverIsNotZeroIsTrue) {
  const Tensor x = tensor_of<float>({0, -0.0f, 0.5f, -1, std::nanf("")});
  EXPECT_EQ(values<bool>(cast(x, DType::Bool)), (std::vector<bool>{false, false, true, true, true}));
}

TEST(Cast, LargeUnsignedIntegersKeepTheirSize) {
  const Tensor x = tensor_of<std::uint64_t>({std::uint64_t{1} << 63});
  EXPECT_EQ(values<double>(cast(x, DType::Float64))[0], 0x1p63);
}

TEST(Cast, SameDtypeIsTheTensorItself) {
  const Tensor x = sample({3});
  EXPECT_TRUE(cast(x, DType::Float64).same(x));
  EXPECT_FALSE(astype(x, DType::Float64).same(x));
  EXPECT_TRUE(astype(x, DType::Float64, false).same(x));
}

TEST(Cast, GradientIsCastBack) {
  const Tensor x = tensor_of<float>({1, 2, 3}).set_requires_grad(true);
  autograd::backward(sum(multiply(cast(x, DType::Float64), 2.0)));
  EXPECT_EQ(x.grad().dtype(), DType::Float32);
  EXPECT_EQ(values<float>(x.grad()), (std::vector<float>{2, 2, 2}));
  expect_gradients([](const auto& in) { return clone(in[0]); }, {sample({2, 3})});
}

TEST(Copy, EveryLayoutByItemSize) {
  for (const DType dtype : kAll) {
    const Tensor x = cast(reshape(cast(greater(sample({24, 10, 9}), 0), DType::Int64), {24, 10, 9}), dtype);
    for (const Dims& axes : {Dims{0, 1, 2}, Dims{0, 2, 1}, Dims{2, 1, 0}, Dims{1, 0, 2}, Dims{2, 0, 1}}) {
      const Tensor y = permute_dims(x, axes);
      const Tensor copy = clone(y);
      ASSERT_TRUE(copy.is_contiguous());
      std::int64_t wrong = 0;
      const std::size_t item = item_size(dtype);
      for (std::int64_t i = 0; i < y.size(0); ++i) {
        for (std::int64_t j = 0; j < y.size(1); ++j) {
          for (std::int64_t k = 0; k < y.size(2); ++k) {
            const auto from =
                (i * y.strides()[0] + j * y.strides()[1] + k * y.strides()[2]) * static_cast<std::int64_t>(item);
            const auto to = ((i * y.size(1) + j) * y.size(2) + k) * static_cast<std::int64_t>(item);
            wrong += std::memcmp(y->data + from, copy->data + to, item) != 0;
          }
        }
      }
      EXPECT_EQ(wrong, 0) << dtype << " " << axes;
    }
  }
}

TEST(Copy, LargeTransposition) {
  const Tensor x = sample({300, 700});
  const std::vector<double> from = values<double>(x);
  const std::vector<double> to = values<double>(clone(matrix_transpose(x)));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < 300; ++i) {
    for (std::size_t j = 0; j < 700; ++j) wrong += from[i * 700 + j] != to[j * 300 + i];
  }
  EXPECT_EQ(wrong, 0);
}

TEST(Copy, ReversedAndSteppedViews) {
  const Tensor x = arange(12);
  EXPECT_EQ(values<std::int64_t>(flip(x)), (std::vector<std::int64_t>{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  const Tensor stepped = index(x, {Slice{10, 1, -3}});
  EXPECT_EQ(values<std::int64_t>(stepped), (std::vector<std::int64_t>{10, 7, 4}));
}

TEST(InPlace, ArithmeticWritesIntoTheTensor) {
  const Tensor x = tensor_of<float>({1, 2, 3, 4, 5, 6}, {2, 3});
  const void* data = x.raw_data();
  const std::uint32_t version = x.version();
  EXPECT_TRUE(add_(x, tensor_of<float>({10, 20, 30})).same(x));
  EXPECT_EQ(values<float>(x), (std::vector<float>{11, 22, 33, 14, 25, 36}));
  mul_(x, 2);
  sub_(x, 1);
  div_(x, tensor_of<float>({1, 2}, {2, 1}));
  EXPECT_EQ(values<float>(x), (std::vector<float>{21, 43, 65, 13.5f, 24.5f, 35.5f}));
  EXPECT_EQ(x.raw_data(), data);
  EXPECT_EQ(x.version(), version + 4);
}

TEST(InPlace, WritesThroughViews) {
  const Tensor x = zeros({3, 4});
  add_(index(x, {Slice{}, 1}), 5);
  add_(matrix_transpose(x), tensor_of<float>({1, 2, 3}));
  EXPECT_EQ(values<float>(x), (std::vector<float>{1, 6, 1, 1, 2, 7, 2, 2, 3, 8, 3, 3}));
}

TEST(InPlace, OverlappingOperandsAreReadFirst) {
  const Tensor x = tensor_of<float>({1, 2, 3, 4});
  div_(x, index(x, {0}));
  add_(x, flip(x));
  EXPECT_EQ(values<float>(x), (std::vector<float>{5, 5, 5, 5}));
  const Tensor y = arange(5);
  copy_(index(y, {Slice{1, 5}}), index(y, {Slice{0, 4}}));
  EXPECT_EQ(values<std::int64_t>(y), (std::vector<std::int64_t>{0, 0, 1, 2, 3}));
  const Tensor z = tensor_of<float>({1, 2, 3, 4}, {2, 2});
  copy_(z, matrix_transpose(z));
  EXPECT_EQ(values<float>(z), (std::vector<float>{1, 3, 2, 4}));
  mul_(z, z);
  EXPECT_EQ(values<float>(z), (std::vector<float>{1, 9, 4, 16}));
}

TEST(InPlace, DtypesMayNotRiseInKind) {
  const Tensor x = arange(3);
  add_(x, tensor_of<std::int32_t>({1, 2, 3}));
  EXPECT_EQ(values<std::int64_t>(x), (std::vector<std::int64_t>{1, 3, 5}));
  expect_error<TypeError>([&] { add_(x, 0.5); },
                          "[add_] a result of dtype float32 cannot be written into a tensor of dtype int64");
  expect_error<TypeError>([&] { div_(x, 2); }, "[div_]");
  const Tensor y = tensor_of<float>({1, 2, 3});
  add_(y, tensor_of<double>({0.5, 0.5, 0.5}));
  add_(y, x);
  EXPECT_EQ(values<float>(y), (std::vector<float>{2.5f, 5.5f, 8.5f}));
}

TEST(InPlace, RefusesWhatCannotBeWritten) {
  const Tensor x = tensor_of<float>({1, 2});
  expect_error<ValueError>([&] { add_(x, zeros({3})); }, "[add_] shape [3] does not broadcast to the tensor's, [2]");
  expect_error<ValueError>([&] { copy_(x, zeros({2, 2})); }, "[copy_]");
  expect_error<RuntimeError>([&] { fill_(broadcast_to(x, {3, 2}), 1); },
                             "[fill_] cannot write into a broadcast tensor");
  x->storage->set_mark(Storage::kReadOnly);
  expect_error<RuntimeError>([&] { zero_(x); }, "read-only");
  x->storage->clear_mark(Storage::kReadOnly);
  expect_error<ValueError>([&] { zero_(Tensor()); }, "undefined");
}

TEST(InPlace, CopyAndFillCast) {
  const Tensor x = zeros({2, 2});
  copy_(x, tensor_of<std::int64_t>({3, 4}));
  EXPECT_EQ(values<float>(x), (std::vector<float>{3, 4, 3, 4}));
  fill_(matrix_transpose(x), 7);
  EXPECT_EQ(values<float>(x), (std::vector<float>(4, 7)));
  const Tensor b = zeros({2}, DType::Bool);
  fill_(b, 3);
  EXPECT_EQ(values<bool>(b), (std::vector<bool>{true, true}));
}

TEST(InPlace, LeafThatWantsAGradientOnlyWithoutRecording) {
  const Tensor x = tensor_of<float>({1, 2}).set_requires_grad(true);
  expect_error<RuntimeError>([&] { add_(x, 1); }, "[add_] a leaf tensor that wants a gradient");
  expect_error<RuntimeError>([&] { fill_(x, 1); }, "[fill_]");
  const autograd::NoGrad no_grad;
  add_(x, 1);
  EXPECT_EQ(values<float>(x), (std::vector<float>{2, 3}));
  EXPECT_TRUE(x.is_leaf() && x.requires_grad());
}

TEST(InPlace, IsRecorded) {
  expect_gradients(
      [](const auto& in) {
        Tensor y = multiply(in[0], in[0]);
        add_(y, in[1]);
        mul_(y, in[1]);
        div_(y, in[2]);
        sub_(y, in[0]);
        mul_(y, y);
        return y;
      },
      {sample({2, 3}), sample({3}, 2, 5), add(sample({2, 1}), 4.0)});
}

TEST(InPlace, PlainTensorTakesTheHistoryOfWhatIsAdded) {
  const Tensor w = tensor_of<float>({2, 3}).set_requires_grad(true);
  const Tensor x = tensor_of<float>({1, 1});
  add_(x, w);
  EXPECT_TRUE(x.requires_grad());
  autograd::backward(sum(multiply(x, x)));
  EXPECT_EQ(values<float>(w.grad()), (std::vector<float>{6, 8}));
}

TEST(InPlace, CopyAndFillDropTheOldHistory) {
  const Tensor w = tensor_of<float>({2, 3}).set_requires_grad(true);
  const Tensor y = multiply(w, 2.0);
  copy_(y, multiply(w, 10.0));
  autograd::backward(sum(y));
  EXPECT_EQ(values<float>(w.grad()), (std::vector<float>{10, 10}));
  const Tensor z = multiply(w, 2.0);
  fill_(z, 1);
  EXPECT_FALSE(z.requires_grad());
}

TEST(InPlace, AliasesOffTheTapeAreRefused) {
  const Tensor w = tensor_of<float>({2, 3}).set_requires_grad(true);
  const Tensor y = multiply(w, 2.0);
  const Tensor constant = y.detach();
  expect_error<RuntimeError>([&] { add_(constant, w); }, "through detach()");
  expect_error<RuntimeError>([&] { add_(reshape(w, {2, 1}), 1); }, "a view of a leaf");
}

TEST(InPlace, OverwrittenSavedTensorIsFound) {
  const Tensor w = tensor_of<float>({2, 3}).set_requires_grad(true);
  const Tensor y = multiply(w, 2.0);
  const Tensor z = multiply(y, y);
  add_(y, 1);
  EXPECT_THROW(autograd::backward(sum(z)), RuntimeError);
}

TEST(Movement, MetaAndEmpty) {
  const Tensor m = empty({2, 3}, DType::Float32, kMeta);
  EXPECT_EQ(cast(m, DType::Int32).dtype(), DType::Int32);
  EXPECT_TRUE(clone(matrix_transpose(m)).device().is_meta());
  EXPECT_TRUE(add_(m, 1).same(m));
  EXPECT_TRUE(fill_(m, 1).same(m));
  EXPECT_TRUE(to_device(zeros({2}), kMeta).device().is_meta());
  expect_error<RuntimeError>([&] { to_device(m, kCPU); }, "meta tensor has no data");
  const Tensor none = zeros({0, 3});
  EXPECT_EQ(clone(none).shape(), (Dims{0, 3}));
  EXPECT_EQ(add_(none, 1).numel(), 0);
  const Tensor scalar = full({}, 2.5);
  EXPECT_EQ(values<float>(clone(scalar)), (std::vector<float>{2.5f}));
}

TEST(Movement, OverlapIsSeen) {
  const Tensor x = zeros({10});
  EXPECT_FALSE(may_overlap(index(x, {Slice{0, 5}}), index(x, {Slice{5, 10}})));
  EXPECT_TRUE(may_overlap(index(x, {Slice{0, 6}}), index(x, {Slice{5, 10}})));
  EXPECT_TRUE(may_overlap(flip(x), index(x, {Slice{9, 10}})));
  EXPECT_FALSE(may_overlap(x, zeros({10})));
}

}  // namespace
}  // namespace lamella::testing
