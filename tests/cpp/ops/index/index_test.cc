#include "ops/index/index.h"

#include "engine/core/modes.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/gradcheck.h"

namespace lamella::testing {
namespace {

Tensor ints(const Ints& numbers) { return tensor_of<std::int64_t>(numbers); }
Tensor grid() { return reshape(arange(12), {3, 4}); }

TEST(Index, BasicItemsGiveViews) {
  const Tensor x = grid();
  EXPECT_EQ(values<std::int64_t>(index(x, {1})), (Ints{4, 5, 6, 7}));
  EXPECT_EQ(values<std::int64_t>(index(x, {-1, -2})), Ints{10});
  EXPECT_EQ(index(x, {-1, -2}).shape(), Dims{});
  EXPECT_EQ(values<std::int64_t>(index(x, {Slice{}, Slice{1, -1}})), (Ints{1, 2, 5, 6, 9, 10}));
  EXPECT_EQ(values<std::int64_t>(index(x, {Ellipsis{}, 0})), (Ints{0, 4, 8}));
  EXPECT_EQ(values<std::int64_t>(index(x, {Slice{{}, {}, -2}, 0})), (Ints{8, 0}));
  EXPECT_EQ(index(x, {NewAxis{}, Ellipsis{}, NewAxis{}}).shape(), (Dims{1, 3, 4, 1}));
  EXPECT_EQ(index(x, {Slice{5, 9}}).shape(), (Dims{0, 4}));
  EXPECT_EQ(index(x, {1}).raw_data(), x.data<std::int64_t>() + 4);
  expect_error<IndexError>([&] { index(x, {3}); }, "index 3 is out of range for axis 0 of size 3");
  expect_error<IndexError>([&] { index(x, {0, 0, 0}); }, "too many indices: 3 for a tensor with 2 axes");
  expect_error<IndexError>([&] { index(x, {Ellipsis{}, Ellipsis{}}); }, "only one ellipsis");
  expect_error<ValueError>([&] { index(x, {Slice{{}, {}, 0}}); }, "step cannot be zero");
}

TEST(Index, IntegerTensorsPick) {
  const Tensor x = grid();
  EXPECT_EQ(values<std::int64_t>(index(x, {ints({2, 0, -1})})), (Ints{8, 9, 10, 11, 0, 1, 2, 3, 8, 9, 10, 11}));
  EXPECT_EQ(values<std::int64_t>(index(x, {ints({0, 2}), ints({3, -4})})), (Ints{3, 8}));
  EXPECT_EQ(values<std::int64_t>(index(x, {Slice{}, ints({3, 0})})), (Ints{3, 0, 7, 4, 11, 8}));
  EXPECT_EQ(index(x, {reshape(ints({0, 1}), {2, 1}), ints({0, 1, 2})}).shape(), (Dims{2, 3}));
  expect_error<IndexError>([&] { index(x, {ints({0, 3})}); }, "3");
  expect_error<TypeError>([&] { index(x, {zeros({2})}); }, "");
  EXPECT_EQ(index(x, {zeros({0}, DType::Int64)}).shape(), (Dims{0, 4}));
}

TEST(Index, PickedAxesStandWhereNumpyPutsThem) {
  const Tensor x = zeros({2, 3, 4, 5});
  const Tensor i = ints({0, 1});
  EXPECT_EQ(index(x, {Slice{}, i, i}).shape(), (Dims{2, 2, 5}));
  EXPECT_EQ(index(x, {i, Slice{}, i}).shape(), (Dims{2, 3, 5}));
  EXPECT_EQ(index(x, {Slice{}, 0, Slice{}, i}).shape(), (Dims{2, 2, 4}));
  EXPECT_EQ(index(x, {Slice{}, 0, i}).shape(), (Dims{2, 2, 5}));
  EXPECT_EQ(index(x, {i, NewAxis{}, i}).shape(), (Dims{2, 1, 4, 5}));
}

TEST(Index, MasksPickWhereTrue) {
  const Tensor x = grid();
  EXPECT_EQ(values<std::int64_t>(index(x, {greater(x, 8)})), (Ints{9, 10, 11}));
  EXPECT_EQ(values<std::int64_t>(index(x, {tensor_of<bool>({true, false, true}), 1})), (Ints{1, 9}));
  expect_error<IndexError>([&] { index(x, {tensor_of<bool>({true, false})}); }, "");
}

TEST(Index, SetWritesThroughTheIndex) {
  const Tensor x = grid();
  set_index(x, {0}, 7);
  set_index(x, {Slice{1, 3}, -1}, ints({40, 50}));
  set_index(x, {ints({1, 2}), ints({0, 0})}, ints({-1, -2}));
  set_index(x, {equal(x, 7)}, 0);
  EXPECT_EQ(values<std::int64_t>(x), (Ints{0, 0, 0, 0, -1, 5, 6, 40, -2, 9, 10, 50}));
  const std::uint32_t version = x.version();
  set_index(x, {ints({0, 0}), 1}, ints({1, 2}));
  EXPECT_EQ(index(x, {0, 1}).data<std::int64_t>()[0], 2);
  EXPECT_GT(x.version(), version);
  expect_error<ValueError>([&] { set_index(x, {0}, ints({1, 2, 3})); }, "broadcast");
  expect_error<IndexError>([&] { set_index(x, {5}, 0); }, "out of range");
  const Tensor leaf = zeros({3}).set_requires_grad(true);
  EXPECT_THROW(set_index(leaf, {0}, 1), RuntimeError);
  const autograd::NoGrad no_grad;
  set_index(leaf, {0}, 1);
  EXPECT_EQ(values<float>(leaf), (std::vector<float>{1, 0, 0}));
}

TEST(Index, SetOfOverlappingMemory) {
  const Tensor x = arange(5);
  set_index(x, {Slice{1, 5}}, index(x, {Slice{0, 4}}));
  EXPECT_EQ(values<std::int64_t>(x), (Ints{0, 0, 1, 2, 3}));
}

TEST(Index, Gradients) {
  const auto check = [](const IndexItems& items, const Dims& shape) {
    expect_gradients([&](const auto& in) { return index(in[0], items); }, {sample(shape)});
  };
  check({1}, {3, 2});
  check({Slice{{}, {}, -2}, NewAxis{}}, {3, 2});
  check({ints({0, 2, 0, -1})}, {3, 2});
  check({ints({0, 2}), ints({1, 1})}, {3, 2});
  check({Slice{}, ints({0, 0, 1})}, {3, 2});
  check({ints({0, 0}), Slice{}, ints({1, 1})}, {2, 3, 2});
  check({tensor_of<bool>({true, false, true})}, {3, 2});
}

TEST(Index, SetIsRecorded) {
  for (const IndexItems& items :
       std::vector<IndexItems>{{1}, {Slice{}, 0}, {ints({2, 0})}, {ints({0, 1}), ints({1, 0})}}) {
    expect_gradients(
        [&](const auto& in) {
          const Tensor y = multiply(in[0], 2.0);
          set_index(y, items, in[1]);
          return multiply(y, y);
        },
        {sample({3, 2}), sample({1}, 2, 7)});
  }
}

TEST(Index, TakeAndTakeAlongAxis) {
  const Tensor x = grid();
  EXPECT_EQ(values<std::int64_t>(take(x, ints({1, -1}), 1)), (Ints{1, 3, 5, 7, 9, 11}));
  EXPECT_EQ(values<std::int64_t>(take_along_axis(x, reshape(ints({3, 0, 1}), {3, 1}), 1)), (Ints{3, 4, 9}));
  expect_error<IndexError>([&] { take(x, ints({4}), 1); }, "4");
  expect_gradients([](const auto& in) { return take(in[0], ints({1, 1, 0}), 0); }, {sample({2, 2})});
  expect_gradients([](const auto& in) { return take_along_axis(in[0], reshape(ints({1, 0, 1, 1}), {2, 2}), 0); },
                   {sample({2, 2})});
}

TEST(Index, Nonzero) {
  const auto positions = nonzero(eye(2, 3, 1));
  ASSERT_EQ(positions.size(), 2u);
  EXPECT_EQ(values<std::int64_t>(positions[0]), (Ints{0, 1}));
  EXPECT_EQ(values<std::int64_t>(positions[1]), (Ints{1, 2}));
}

TEST(Index, Meta) {
  const Tensor m = empty({3, 4}, DType::Float32, kMeta);
  EXPECT_EQ(index(m, {0}).shape(), Dims{4});
  EXPECT_TRUE(index(m, {Slice{1, 3}}).device().is_meta());
}

}  // namespace
}  // namespace lamella::testing
