#include "ops/registration/all_ops.h"
#include "tests/cpp/gradcheck.h"

namespace lamella::testing {
namespace {

TEST(Reshape, IsAViewWhereStridesAllow) {
  const Tensor x = arange(24);
  const Tensor y = reshape(x, {2, 3, -1});
  EXPECT_EQ(y.shape(), (Dims{2, 3, 4}));
  EXPECT_EQ(y.raw_data(), x.raw_data());
  const Tensor t = permute_dims(y, {2, 0, 1});  // 4, 2, 3 with the last two mergeable
  EXPECT_EQ(reshape(t, {4, 6}).raw_data(), x.raw_data());
  EXPECT_EQ(reshape(t, {4, 1, 3, 2}).raw_data(), x.raw_data());
  EXPECT_NE(reshape(t, {24}).raw_data(), x.raw_data());
}

TEST(Reshape, KeepsTheRowMajorOrder) {
  const Tensor base = reshape(arange(2 * 3 * 4 * 5), {2, 3, 4, 5});
  for (const Dims& axes : {Dims{0, 1, 2, 3}, Dims{3, 2, 1, 0}, Dims{1, 0, 2, 3}, Dims{0, 1, 3, 2}, Dims{2, 3, 0, 1}}) {
    const Tensor x = permute_dims(base, axes);
    const Ints expected = values<std::int64_t>(x);
    for (const Dims& shape : {Dims{120}, Dims{6, 20}, Dims{2, 60}, Dims{1, 120, 1}, Dims{5, 4, 3, 2},
                              Dims{2, 3, 1, 4, 5}, Dims{10, 12}, Dims{20, 6}, Dims{4, 5, 6}}) {
      EXPECT_EQ(values<std::int64_t>(reshape(x, shape)), expected) << axes << " to " << shape;
    }
  }
}

TEST(Reshape, Errors) {
  const Tensor x = zeros({2, 3});
  expect_error<ValueError>([&] { reshape(x, {4}); }, "[reshape] a tensor of shape [2, 3] cannot take the shape [4]");
  expect_error<ValueError>([&] { reshape(x, {-1, -1}); }, "more than one -1");
  expect_error<ValueError>([&] { reshape(x, {-2}); }, "negative size");
  expect_error<ValueError>([&] { reshape(x, {4, -1}); }, "cannot take");
  expect_error<ValueError>([&] { reshape(zeros({0}), {0, -1}); }, "cannot take");
  expect_error<ValueError>([&] { reshape(x, {std::int64_t{1} << 40, std::int64_t{1} << 40}); }, "63 bits");
}

TEST(Reshape, EmptyAndScalar) {
  EXPECT_EQ(reshape(zeros({0, 3}), {3, 0, 2}).shape(), (Dims{3, 0, 2}));
  EXPECT_EQ(reshape(zeros({0, 3}), {-1, 3}).shape(), (Dims{0, 3}));
  EXPECT_EQ(reshape(zeros({1, 1}), {}).shape(), Dims{});
  EXPECT_EQ(reshape(zeros({}), {1, -1}).shape(), (Dims{1, 1}));
}

TEST(Shape, FlattenSqueezeExpand) {
  const Tensor x = zeros({2, 1, 3, 1});
  EXPECT_EQ(flatten(x).shape(), Dims{6});
  EXPECT_EQ(flatten(x, 1).shape(), (Dims{2, 3}));
  EXPECT_EQ(flatten(x, 1, 2).shape(), (Dims{2, 3, 1}));
  EXPECT_EQ(flatten(zeros({})).shape(), Dims{1});
  EXPECT_EQ(squeeze(x).shape(), (Dims{2, 3}));
  EXPECT_EQ(squeeze(x, -1).shape(), (Dims{2, 1, 3}));
  EXPECT_EQ(squeeze(x, Dims{1, 3}).shape(), (Dims{2, 3}));
  EXPECT_EQ(expand_dims(zeros({2}), Dims{0, -1}).shape(), (Dims{1, 2, 1}));
  expect_error<ValueError>([&] { squeeze(x, 0); }, "[squeeze] axis 0 of shape [2, 1, 3, 1] has size 2, not 1");
  expect_error<IndexError>([&] { squeeze(x, 4); }, "[squeeze] axis 4 is out of range");
  expect_error<ValueError>([&] { flatten(x, 2, 1); }, "start_axis");
  expect_error<IndexError>([&] { expand_dims(x, 6); }, "[expand_dims]");
}

TEST(Shape, PermuteAndTranspose) {
  const Tensor x = reshape(arange(6), {1, 2, 3});
  EXPECT_EQ(permute_dims(x, {2, 0, -2}).shape(), (Dims{3, 1, 2}));
  EXPECT_EQ(values<std::int64_t>(matrix_transpose(x)), (Ints{0, 3, 1, 4, 2, 5}));
  EXPECT_EQ(swapaxes(x, 0, 2).shape(), (Dims{3, 2, 1}));
  EXPECT_EQ(reverse_axes(x).shape(), (Dims{3, 2, 1}));
  expect_error<ValueError>([&] { permute_dims(x, {0, 1}); }, "[permute_dims]");
  expect_error<ValueError>([&] { permute_dims(x, {0, 1, 1}); }, "named twice");
  expect_error<ValueError>([&] { matrix_transpose(zeros({3})); }, "[matrix_transpose]");
}

TEST(Shape, Broadcast) {
  const Tensor x = reshape(arange(2), {2, 1});
  const Tensor y = broadcast_to(x, {3, 2, 2});
  EXPECT_EQ(values<std::int64_t>(y), (Ints{0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1, 1}));
  EXPECT_EQ(y.raw_data(), x.raw_data());
  EXPECT_EQ(values<std::int64_t>(sum_to(y, {2, 1})), (Ints{0, 6}));
  EXPECT_EQ(values<std::int64_t>(sum_to(y, {})), Ints{6});
  expect_error<ValueError>(
      [&] {
        broadcast_to(x, {3, 2}).shape();
        broadcast_to(x, {3, 3});
      },
      "[broadcast_to] shape [2, 1] does not broadcast to [3");
  expect_error<ValueError>([&] { broadcast_to(x, {-1, 2}); }, "negative");
}

TEST(Shape, ConcatAndStack) {
  const Tensor a = reshape(arange(4), {2, 2});
  const Tensor b = tensor_of<std::int32_t>({10, 11}, {1, 2});
  EXPECT_EQ(values<std::int64_t>(concat({a, b})), (Ints{0, 1, 2, 3, 10, 11}));
  EXPECT_EQ(values<std::int64_t>(concat({a, matrix_transpose(a)}, 1)), (Ints{0, 1, 0, 2, 2, 3, 1, 3}));
  EXPECT_EQ(values<std::int64_t>(concat({a, b}, std::nullopt)), (Ints{0, 1, 2, 3, 10, 11}));
  EXPECT_EQ(values<std::int64_t>(stack({arange(2), arange(2)}, -1)), (Ints{0, 0, 1, 1}));
  EXPECT_EQ(concat({zeros({0, 2}), zeros({3, 2})}).shape(), (Dims{3, 2}));
  EXPECT_EQ(concat({a, zeros({2, 2})}).dtype(), DType::Float32);
  expect_error<ValueError>([&] { concat({}); }, "[concat] needs at least one tensor");
  expect_error<ValueError>([&] { concat({a, zeros({2, 3})}); },
                           "[concat] shapes [2, 2] and [2, 3] differ outside of axis 0");
  expect_error<ValueError>([&] { concat({zeros({}), zeros({})}); }, "use stack");
  expect_error<ValueError>([&] { stack({a, b}); }, "[stack] shapes");
  expect_error<IndexError>([&] { concat({a, a}, 2); }, "[concat] axis 2");
}

TEST(Shape, SplitGivesViews) {
  const Tensor x = reshape(arange(12), {2, 6});
  const auto halves = split(x, 2, 1);
  ASSERT_EQ(halves.size(), 2u);
  EXPECT_EQ(values<std::int64_t>(halves[1]), (Ints{3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(halves[0].raw_data(), x.raw_data());
  const auto parts = split(x, {1, -1, 2}, -1);
  ASSERT_EQ(parts.size(), 3u);
  EXPECT_EQ(values<std::int64_t>(parts[1]), (Ints{1, 2, 3, 7, 8, 9}));
  EXPECT_EQ(split(x, {0, 2}, 0)[0].shape(), (Dims{0, 6}));
  expect_error<ValueError>([&] { split(x, 4, 1); }, "[split] axis 1 of size 6 cannot be split into 4 equal parts");
  expect_error<ValueError>([&] { split(x, {1, 2}, 1); }, "do not add up to 6");
  expect_error<ValueError>([&] { split(x, {-1, -1}, 1); }, "[split]");
  expect_error<ValueError>([&] { split(x, 0, 1); }, "[split]");
  expect_error<IndexError>([&] { split(zeros({}), 1); }, "[split] axis 0");
}

TEST(Shape, FlipAndRoll) {
  const Tensor x = reshape(arange(6), {2, 3});
  EXPECT_EQ(values<std::int64_t>(flip(x)), (Ints{5, 4, 3, 2, 1, 0}));
  EXPECT_EQ(values<std::int64_t>(flip(x, Dims{1})), (Ints{2, 1, 0, 5, 4, 3}));
  EXPECT_EQ(values<std::int64_t>(roll(x, 1, 1)), (Ints{2, 0, 1, 5, 3, 4}));
  EXPECT_EQ(values<std::int64_t>(roll(x, -1)), (Ints{1, 2, 3, 4, 5, 0}));
  EXPECT_EQ(values<std::int64_t>(roll(x, 7, 0)), (Ints{3, 4, 5, 0, 1, 2}));
  EXPECT_EQ(roll(zeros({0}), 3).numel(), 0);
}

TEST(Shape, Gradients) {
  const auto check = [](auto f, std::vector<Tensor> inputs) {
    expect_gradients([&](const auto& in) { return f(in); }, inputs);
  };
  check([](const auto& in) { return reshape(in[0], {3, 2}); }, {sample({2, 3})});
  check([](const auto& in) { return reshape(matrix_transpose(in[0]), {6}); }, {sample({2, 3})});
  check([](const auto& in) { return permute_dims(in[0], {1, 2, 0}); }, {sample({2, 3, 2})});
  check([](const auto& in) { return broadcast_to(in[0], {2, 2, 3}); }, {sample({2, 1})});
  check([](const auto& in) { return broadcast_to(in[0], {2, 2}); }, {sample({})});
  check([](const auto& in) { return sum_to(in[0], {1, 3}); }, {sample({2, 2, 3})});
  check([](const auto& in) { return concat({in[0], in[1], in[0]}, 1); }, {sample({2, 2}), sample({2, 1}, 2, 7)});
  check([](const auto& in) { return stack({in[0], in[1]}, 1); }, {sample({2, 2}), sample({2, 2}, 2, 7)});
  check([](const auto& in) { return split(in[0], {1, 2, 1}, 1)[1]; }, {sample({2, 4})});
  check(
      [](const auto& in) {
        const auto parts = split(in[0], 2, 0);
        return multiply(parts[0], parts[1]);
      },
      {sample({4, 2})});
  check([](const auto& in) { return flip(in[0]); }, {sample({2, 3})});
  check([](const auto& in) { return roll(in[0], 2, 1); }, {sample({2, 3})});
  check([](const auto& in) { return squeeze(expand_dims(in[0], 1), 1); }, {sample({2, 3})});
}

TEST(Shape, Meta) {
  const Tensor m = empty({2, 6}, DType::Float32, kMeta);
  EXPECT_EQ(reshape(matrix_transpose(m), {3, 4}).shape(), (Dims{3, 4}));
  EXPECT_EQ(concat({m, m}, 1).shape(), (Dims{2, 12}));
  EXPECT_EQ(split(m, 3, 1)[2].shape(), (Dims{2, 2}));
  EXPECT_TRUE(broadcast_to(m, {5, 2, 6}).device().is_meta());
  expect_error<RuntimeError>([&] { concat({m, zeros({2, 6})}); }, "[concat] got tensors on meta and cpu");
}

}  // namespace
}  // namespace lamella::testing
