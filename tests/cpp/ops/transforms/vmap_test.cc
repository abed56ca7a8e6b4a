#include "ops/transforms/vmap.h"

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/layers/function.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"
#include "ops/shape/hide.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

using autograd::Randomness;
using autograd::TensorFunction;
using autograd::vmap;
using autograd::VmapInfo;
using autograd::VmapOptions;

using Tensors = std::span<const Tensor>;

Tensor leaf(const Tensor& x) {
  Tensor copy = clone(x).detach();
  copy.set_requires_grad(true);
  return copy;
}

void expect_near(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  const Doubles a = values<double>(got);
  const Doubles b = values<double>(expected);
  for (std::size_t i = 0; i < a.size(); ++i) EXPECT_NEAR(a[i], b[i], 1e-10) << i;
}

/// Returns what vmap over the first axis of all arguments must compute, by a loop.
Tensor loop(const TensorFunction& f, Tensors args) {
  std::vector<Tensor> rows;
  for (std::int64_t i = 0; i < args[0].size(0); ++i) {
    std::vector<Tensor> examples;
    for (const Tensor& x : args) examples.push_back(index(x, {i}));
    rows.push_back(f(examples)[0]);
  }
  return stack(rows);
}

void expect_as_loop(const TensorFunction& f, const std::vector<Tensor>& args) {
  const Tensor got = vmap(f)(args)[0];
  expect_near(got, loop(f, args));
  std::vector<Tensor> ours;
  std::vector<Tensor> theirs;
  for (const Tensor& x : args) {
    ours.push_back(leaf(x));
    theirs.push_back(leaf(x));
  }
  const Tensor weights = sample(got.shape(), 1.0, 5);
  const Tensor y = sum(multiply(vmap(f)(ours)[0], weights));
  const Tensor z = sum(multiply(loop(f, theirs), weights));
  const auto a = autograd::grad(Tensors(&y, 1), ours, {}, {.create_graph = true});
  const auto b = autograd::grad(Tensors(&z, 1), theirs, {}, {.create_graph = true});
  for (std::size_t i = 0; i < a.size(); ++i) expect_near(a[i], b[i]);
  const Tensor again_a = sum(square(a[0]));
  const Tensor again_b = sum(square(b[0]));
  ASSERT_EQ(again_a.requires_grad(), again_b.requires_grad());
  if (!again_a.requires_grad()) return;  // a linear function
  expect_near(autograd::grad({again_a}, {ours[0]}, {.allow_unused = true, .materialize_grads = true})[0],
              autograd::grad({again_b}, {theirs[0]}, {.allow_unused = true, .materialize_grads = true})[0]);
}

TEST(Vmap, OperatorsWorkOnAllExamplesAtOnce) {
  const auto one = [](Tensor (*f)(const Tensor&)) { return [f](Tensors x) { return std::vector<Tensor>{f(x[0])}; }; };
  const Tensor x = sample({3, 2, 4});
  expect_as_loop(one([](const Tensor& a) { return multiply(tanh(a), a); }), {x});
  expect_as_loop(one([](const Tensor& a) { return sum(a, 1); }), {x});
  expect_as_loop(one([](const Tensor& a) { return prod(a, 0); }), {x});
  expect_as_loop(one([](const Tensor& a) { return max(a); }), {x});
  expect_as_loop(one([](const Tensor& a) { return softmax(a, 0); }), {x});
  expect_as_loop(one([](const Tensor& a) { return log_softmax(a); }), {x});
  expect_as_loop(one([](const Tensor& a) { return reshape(matrix_transpose(a), {-1}); }), {x});
  expect_as_loop(one([](const Tensor& a) { return concat({a, multiply(a, a)}, 1); }), {x});
  expect_as_loop(one([](const Tensor& a) { return roll(flip(a), 1, 1); }), {x});
  const auto two = [](Tensor (*f)(const Tensor&, const Tensor&)) {
    return [f](Tensors x) { return std::vector<Tensor>{f(x[0], x[1])}; };
  };
  expect_as_loop(two([](const Tensor& a, const Tensor& b) { return add(a, b); }), {x, sample({3, 4}, 1.0, 3)});
  expect_as_loop(two(matmul), {x, sample({3, 4, 5}, 1.0, 3)});
  expect_as_loop(two(matmul), {sample({3, 20, 18}), sample({3, 18, 17}, 1.0, 3)});
  expect_as_loop(two([](const Tensor& a, const Tensor& b) { return linear(a, b); }), {x, sample({3, 5, 4}, 1.0, 3)});
}

TEST(Vmap, IndicesMayDifferFromExampleToExample) {
  const Tensor rows = tensor_of<std::int64_t>({0, 1, 1, 0, 1, 0}, {3, 2});
  const Tensor x = leaf(sample({3, 2, 4}));
  const TensorFunction pick = [](Tensors a) { return std::vector<Tensor>{index(a[0], {a[1]})}; };
  const std::vector<Tensor> args{x, rows};
  const Tensor got = vmap(pick)(args)[0];
  expect_near(got.detach(), loop(pick, args).detach());
  const Tensor weights = sample(got.shape(), 1.0, 4);
  expect_near(autograd::grad({sum(multiply(got, weights))}, {x})[0],
              autograd::grad({sum(multiply(loop(pick, args), weights))}, {x})[0]);

  const Tensor target = leaf(sample({2, 4}));
  const TensorFunction shared = [&](Tensors a) { return std::vector<Tensor>{index(target, {a[0]})}; };
  const std::vector<Tensor> only{rows};
  expect_near(autograd::grad({sum(square(vmap(shared)(only)[0]))}, {target})[0],
              autograd::grad({sum(square(loop(shared, only)))}, {target})[0]);
}

TEST(Vmap, Axes) {
  const Tensor x = sample({2, 3, 4});
  const TensorFunction scaled = [](Tensors a) {
    return std::vector<Tensor>{multiply(a[0], sum(a[0])), multiply(a[1], 2)};
  };
  const Tensor w = sample({5}, 1.0, 2);
  const auto results = vmap(scaled, {.in_axes = {-1, std::nullopt}, .out_axes = {1, std::nullopt}})(std::vector{x, w});
  EXPECT_EQ(results[0].shape(), (Dims{2, 4, 3}));
  expect_near(index(results[0], {Slice{}, 1}), multiply(index(x, {Ellipsis{}, 1}), sum(index(x, {Ellipsis{}, 1}))));
  expect_near(results[1], multiply(w, 2));
  const auto chunked = vmap(scaled, {.in_axes = {-1, std::nullopt}, .out_axes = {1, std::nullopt}, .chunk_size = 3});
  expect_near(chunked(std::vector{x, w})[0], results[0]);
}

TEST(Vmap, NestsAndGivesGradientsOfExamples) {
  const Tensor x = sample({3});
  const Tensor y = sample({4}, 1.0, 2);
  const auto products = vmap([&](const Tensor& a) { return vmap([&](const Tensor& b) { return multiply(a, b); })(y); });
  expect_near(products(x), multiply(expand_dims(x, 1), y));

  const Tensor w = leaf(sample({4}, 1.0, 3));
  const auto gradient = vmap([&](const Tensor& row) { return autograd::grad({sum(exp(multiply(row, w)))}, {w})[0]; });
  const Tensor rows = sample({3, 4});
  expect_near(gradient(rows), multiply(rows, exp(multiply(rows, w.detach()))));
  EXPECT_FALSE(w.grad().defined());

  autograd::backward(sum(vmap([&](const Tensor& row) { return sum(exp(multiply(row, w))); })(rows)));
  expect_near(w.grad(), sum(multiply(rows, exp(multiply(rows, w.detach()))), 0));
}

TEST(Vmap, BatchedGradients) {
  const Tensor x = leaf(sample({3}));
  const Tensor w = leaf(sample({3}, 1.0, 2));
  const Tensor y = multiply(exp(x), w);
  const Tensor eye3 = eye(3, std::nullopt, 0, DType::Float64);
  const auto jacobians = autograd::grad(Tensors(&y, 1), std::vector{x, w}, Tensors(&eye3, 1),
                                        {.create_graph = true, .is_grads_batched = true});
  expect_near(jacobians[0].detach(), multiply(eye3, y.detach()));
  expect_near(jacobians[1].detach(), multiply(eye3, exp(x.detach())));
  // The pass was recorded with batched gradients: a second one sums over the batch.
  expect_near(autograd::grad({sum(jacobians[0])}, {x})[0], y.detach());
}

struct Cube : Function<Cube> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    ctx.save_for_backward(x);
    return multiply(x, square(x));
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    return multiply(multiply(square(x), 3), dy);
  }
};

/// Layer that reads raw memory, so that it needs a rule for vmap.
struct Doubled : Function<Doubled> {
  static inline std::vector<std::pair<std::int64_t, std::vector<bool>>> calls;

  static Tensor forward(Context&, const Tensor& x, const Tensor& scale) {
    Tensor y = empty_like(x);
    for (std::int64_t i = 0; i < x.numel(); ++i)
      y.data<double>()[i] = 2 * x.data<double>()[i] * scale.data<double>()[0];
    return y;
  }
  static TensorList backward(Context&, const Tensor& dy) { return {multiply(dy, 2), Tensor()}; }
  static Tensor vmap(const VmapInfo& info, const Tensor& x, const Tensor& scale) {
    calls.emplace_back(info.batch_size, info.mapped);
    return apply(contiguous(x), scale);
  }
};

TEST(Vmap, CustomLayers) {
  const Tensor x = leaf(sample({3, 2}));
  const Tensor y = vmap([](const Tensor& row) { return Cube::apply(row); })(x);
  expect_near(y.detach(), multiply(x.detach(), square(x.detach())));
  expect_near(autograd::grad({sum(y)}, {x})[0], multiply(square(x.detach()), 3));

  const Tensor one = tensor_of<double>({1.0});
  Doubled::calls.clear();
  const Tensor z = vmap([&](const Tensor& row) { return Doubled::apply(row, one); })(x);
  expect_near(z.detach(), multiply(x.detach(), 2));
  expect_near(autograd::grad({sum(z)}, {x})[0], multiply(ones_like(x.detach()), 2));
  ASSERT_EQ(Doubled::calls.size(), 1u);
  EXPECT_EQ(Doubled::calls[0].first, 3);
  EXPECT_EQ(Doubled::calls[0].second, (std::vector<bool>{true, false}));
}

TEST(Vmap, Randomness) {
  const Tensor x = zeros({3});
  const auto draw = [](const Tensor& row) { return add(rand({8}), row); };
  expect_error<RuntimeError>([&] { vmap(draw)(x); }, "[rand] vmap was called with randomness='error'");
  const auto rows = [](const Tensor& y, std::int64_t i) { return values<float>(index(y, {i})); };
  const Tensor different = vmap(draw, {.randomness = Randomness::Different})(x);
  EXPECT_NE(rows(different, 0), rows(different, 1));
  for (const std::optional<std::int64_t> chunk : {std::optional<std::int64_t>(), std::optional<std::int64_t>(2)}) {
    const Tensor same = vmap(draw, {.randomness = Randomness::Same, .chunk_size = chunk})(x);
    EXPECT_EQ(rows(same, 0), rows(same, 1));
    EXPECT_EQ(rows(same, 0), rows(same, 2));
  }
}

TEST(Vmap, WritesInPlace) {
  const Tensor x = zeros({3, 2});
  vmap([](const Tensor& row) { return add_(row, ones({2})); })(x);
  EXPECT_EQ(values<float>(x), (std::vector<float>(6, 1.0f)));
  const Tensor shared = zeros({2});
  expect_error<RuntimeError>([&] { vmap([&](const Tensor& row) { return add_(shared, row); })(x); },
                             "[add_] under vmap the value stands for each of 3 examples");

  const Tensor w = leaf(sample({3, 2}));
  const Tensor y = vmap([](const Tensor& row) {
    const Tensor z = multiply(row, 2);
    mul_(index(z, {1}), index(row, {0}));
    return z;
  })(w);
  const Tensor a = index(w.detach(), {Slice{}, 0});
  const Tensor b = index(w.detach(), {Slice{}, 1});
  expect_near(y.detach(), stack({multiply(a, 2), multiply(multiply(a, b), 2)}, 1));
  expect_near(autograd::grad({sum(y)}, {w})[0], stack({add(multiply(b, 2), 2), multiply(a, 2)}, 1));
}

TEST(Vmap, Errors) {
  const TensorFunction first = [](Tensors a) { return std::vector<Tensor>{a[0]}; };
  expect_error<ValueError>([&] { vmap(first)(std::vector{zeros({3}), zeros({4})}); },
                           "argument 0 has 3, argument 1 has 4");
  expect_error<ValueError>([&] { vmap(first, {.in_axes = {std::nullopt}})(std::vector{zeros({3})}); },
                           "no argument is mapped over");
  expect_error<ValueError>([&] { vmap(first, {.in_axes = {0, 0}})(std::vector{zeros({3})}); },
                           "in_axes has 2 entries for 1 tensor");
  expect_error<IndexError>([&] { vmap(first, {.in_axes = {1}})(std::vector{zeros({3})}); }, "axis 1 is out of range");
  expect_error<IndexError>([&] { vmap(first, {.out_axes = {1}})(std::vector{zeros({3})}); }, "axis 1 is out of range");
  expect_error<ValueError>([&] { vmap(first, {.out_axes = {std::nullopt}})(std::vector{zeros({3})}); },
                           "differs from example to example");
  expect_error<ValueError>([&] { vmap(first, {.chunk_size = 0})(std::vector{zeros({3})}); }, "chunk_size");
  const TensorFunction nothing = [](Tensors) { return std::vector<Tensor>(1); };
  expect_error<ValueError>([&] { vmap(nothing)(std::vector{zeros({3})}); }, "result 0 of the function is undefined");
}

TEST(Vmap, MemoryOfABatchedTensorIsNotHandedOut) {
  Tensor kept;
  const auto read = [&](auto&& f) {
    return vmap([&, f](const Tensor& row) {
      kept = row;
      f(row);
      return row;
    });
  };
  const Tensor x = zeros({3, 2});
  expect_error<RuntimeError>([&] { read([](const Tensor& row) { row.raw_data(); })(x); },
                             "[raw_data] inside of vmap this tensor stands for each of 3 examples");
  expect_error<RuntimeError>([&] { read([](const Tensor& row) { row.data<float>(); })(x); }, "[data] inside of vmap");
  expect_error<RuntimeError>([&] { kept.raw_data(); }, "kept from a call of vmap that has ended");
  EXPECT_NE(describe(kept).find("batched over 3"), std::string::npos);
  expect_error<ValueError>([] { hide_axis(zeros({}), 1); }, "0-d");
}

}  // namespace
}  // namespace lamella::testing
