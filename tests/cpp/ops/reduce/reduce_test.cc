#include <cmath>
#include <limits>

#include "engine/runtime/parallel.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/gradcheck.h"

namespace lamella::testing {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Folds `axes` of x element by element.
template <class T, class F>
std::vector<T> fold(const Tensor& x, const Dims& axes, T first, F f) {
  Dims shape = x.shape();
  for (const std::int64_t axis : axes) shape[static_cast<std::size_t>(axis)] = 1;
  const Dims strides = contiguous_strides(shape);
  std::vector<T> result(static_cast<std::size_t>(count_elements(shape)), first);
  const std::vector<T> all = values<T>(x);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    std::int64_t rest = i;
    std::int64_t at = 0;
    for (std::size_t k = x.ndim(); k-- > 0;) {
      if (shape[k] != 1) at += rest % x.shape()[k] * strides[k];
      rest /= x.shape()[k];
    }
    auto& slot = result[static_cast<std::size_t>(at)];
    slot = f(slot, all[static_cast<std::size_t>(i)]);
  }
  return result;
}

template <class T>
void expect_close(const std::vector<T>& found, const std::vector<T>& expected, double tolerance,
                  const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(found[i]), static_cast<double>(expected[i]),
                tolerance * (1 + std::abs(static_cast<double>(expected[i]))))
        << what << " at " << i;
  }
}

const std::vector<Dims>& axis_sets() {
  static const std::vector<Dims> sets{{}, {0}, {1}, {2}, {0, 1}, {0, 2}, {1, 2}, {0, 1, 2}};
  return sets;
}

TEST(Reduce, SumsMaximaAndProductsOverAnyAxesOfAnyLayout) {
  for (const Dims& shape : {Dims{3, 5, 4}, Dims{2, 70, 33}, Dims{1, 9, 130}, Dims{40, 1, 17}}) {
    const Tensor base = sample(shape, 1.5);
    for (const Dims& order : {Dims{0, 1, 2}, Dims{2, 1, 0}, Dims{1, 2, 0}, Dims{0, 2, 1}}) {
      const Tensor x = permute_dims(base, order);
      for (const Dims& axes : axis_sets()) {
        const std::string what = str(shape, order, axes);
        expect_close(values<double>(sum(x, axes)), fold<double>(x, axes, 0, std::plus<>()), 1e-12, "sum " + what);
        expect_close(values<double>(max(x, axes)),
                     fold<double>(x, axes, -9, [](double a, double b) { return std::max(a, b); }), 0, "max " + what);
        expect_close(values<double>(min(x, axes)),
                     fold<double>(x, axes, 9, [](double a, double b) { return std::min(a, b); }), 0, "min " + what);
        expect_close(values<double>(prod(x, axes)), fold<double>(x, axes, 1, std::multiplies<>()), 1e-9,
                     "prod " + what);
        const Tensor f = cast(x, DType::Float32);
        expect_close(values<float>(sum(f, axes)), fold<float>(f, axes, 0, std::plus<>()), 1e-4, "float sum " + what);
        const Tensor i = cast(multiply(x, 10.0), DType::Int32);
        expect_close(values<std::int64_t>(sum(i, axes)),
                     fold<std::int64_t>(cast(i, DType::Int64), axes, 0, std::plus<>()), 0, "int sum " + what);
        expect_close(values<std::int32_t>(max(i, axes)),
                     fold<std::int32_t>(i, axes, -99, [](std::int32_t a, std::int32_t b) { return std::max(a, b); }), 0,
                     "int max " + what);
      }
    }
  }
}

TEST(Reduce, ShapesAndDtypes) {
  const Tensor x = zeros({2, 3, 4});
  EXPECT_EQ(sum(x).shape(), Dims{});
  EXPECT_EQ(sum(x, Dims{0, -1}).shape(), Dims{3});
  EXPECT_EQ(sum(x, 1, true).shape(), (Dims{2, 1, 4}));
  EXPECT_EQ(max(x, std::nullopt, true).shape(), (Dims{1, 1, 1}));
  EXPECT_EQ(sum(cast(x, DType::Int32)).dtype(), DType::Int64);
  EXPECT_EQ(sum(cast(x, DType::Bool)).dtype(), DType::Int64);
  EXPECT_EQ(prod(cast(x, DType::Int32)).dtype(), DType::Int64);
  EXPECT_EQ(max(cast(x, DType::Int32)).dtype(), DType::Int32);
  EXPECT_EQ(mean(cast(x, DType::Int32)).dtype(), DType::Float32);
  EXPECT_EQ(any(x).dtype(), DType::Bool);
  EXPECT_EQ(argmax(x, 1).dtype(), DType::Int64);
  EXPECT_EQ(sum(x, std::nullopt, false, DType::Float64).dtype(), DType::Float64);
  EXPECT_EQ(sum(cast(x, DType::Int64), std::nullopt, false, DType::Int32).dtype(), DType::Int32);
  EXPECT_EQ(sum(full({}, 3.0)).data<float>()[0], 3);
}

TEST(Reduce, IntegersAreAddedWithoutOverflow) {
  const Tensor x = full({1000}, std::int64_t{2000000000}, DType::Int32);
  EXPECT_EQ(sum(x).data<std::int64_t>()[0], 2000000000000);
  EXPECT_EQ(sum(full({3, 5}, true)).data<std::int64_t>()[0], 15);
}

TEST(Reduce, FloatSumsArePairwise) {
  const Tensor x = full({10'000'000}, 0.1f);
  EXPECT_NEAR(sum(x).data<float>()[0], 1e6f, 1);
  const Tensor columns = full({1'000'000, 3}, 0.1f);
  EXPECT_NEAR(sum(columns, 0).data<float>()[2], 1e5f, 0.1);
  EXPECT_NEAR(sum(index(columns, {Slice{}, 1})).data<float>()[0], 1e5f, 0.1);
}

TEST(Reduce, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = thread_count();
  const Tensor x = cast(sample({300, 1001}), DType::Float32);
  const Tensor flat = cast(sample({200'003}), DType::Float32);
  const Tensor tall = cast(sample({50'001, 7}), DType::Float32);
  const auto all = [&] {
    std::vector<Floats> results;
    for (const Tensor& t : {sum(x, 0), sum(x, 1), sum(x), sum(flat), sum(tall, 0), prod(tall, 0),
                            sum(matrix_transpose(x), 0), sum(tall)}) {
      results.push_back(values<float>(t));
    }
    return results;
  };
  set_thread_count(1);
  const auto alone = all();
  for (const int threads : {2, 3, 8}) {
    set_thread_count(threads);
    EXPECT_EQ(all(), alone) << threads;
  }
  set_thread_count(before);
}

TEST(Reduce, LongReductionsOfOneResult) {
  const Tensor x = sample({3, 100'000});
  expect_close(values<double>(sum(x, 1)), fold<double>(x, {1}, 0, std::plus<>()), 1e-11, "rows");
  const Tensor y = sample({100'000, 3});
  expect_close(values<double>(sum(y, 0)), fold<double>(y, {0}, 0, std::plus<>()), 1e-11, "columns");
  EXPECT_EQ(values<double>(max(y, 0)), fold<double>(y, {0}, -9, [](double a, double b) { return std::max(a, b); }));
}

TEST(Reduce, NanSpreads) {
  for (const std::size_t at : {0, 1, 40, 99}) {
    Floats numbers(100, 1);
    numbers[at] = kNan;
    for (const Dims& shape : {Dims{1, 100}, Dims{100, 1}}) {
      const Tensor x = tensor_of(numbers, shape);
      EXPECT_TRUE(std::isnan(max(x).data<float>()[0]));
      EXPECT_TRUE(std::isnan(min(x).data<float>()[0]));
      EXPECT_TRUE(std::isnan(sum(x).data<float>()[0]));
      EXPECT_EQ(argmax(x).data<std::int64_t>()[0], static_cast<std::int64_t>(at));
      EXPECT_EQ(argmin(x).data<std::int64_t>()[0], static_cast<std::int64_t>(at));
    }
    const Tensor columns = broadcast_to(tensor_of(numbers, {100, 1}), {100, 20});
    EXPECT_TRUE(std::isnan(max(contiguous(columns), 0).data<float>()[7]));
    EXPECT_EQ(argmin(contiguous(columns), 0).data<std::int64_t>()[7], static_cast<std::int64_t>(at));
  }
}

TEST(Reduce, InfinitiesAreOrdinaryExtremes) {
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_EQ(max(full({50}, -inf, DType::Float32)).data<float>()[0], -inf);
  EXPECT_EQ(min(full({50}, inf, DType::Float32)).data<float>()[0], inf);
}

TEST(Reduce, PositionsAreTheFirstOnes) {
  const Tensor x = tensor_of<float>({3, 1, 3, 0, 5, 5, 0, 0}, {2, 4});
  EXPECT_EQ(values<std::int64_t>(argmax(x)), Ints{4});
  EXPECT_EQ(values<std::int64_t>(argmin(x)), Ints{3});
  EXPECT_EQ(values<std::int64_t>(argmax(x, 1)), (Ints{0, 0}));
  EXPECT_EQ(values<std::int64_t>(argmin(x, -1)), (Ints{3, 2}));
  EXPECT_EQ(values<std::int64_t>(argmax(x, 0)), (Ints{1, 1, 0, 0}));
  EXPECT_EQ(values<std::int64_t>(argmax(matrix_transpose(x), 0)), (Ints{0, 0}));
  EXPECT_EQ(argmax(x, std::nullopt, true).shape(), (Dims{1, 1}));
  EXPECT_EQ(argmax(x, 0, true).shape(), (Dims{1, 4}));
  const Tensor big = sample({33, 700});
  const std::vector<double> v = values<double>(big);
  const Ints rows = values<std::int64_t>(argmax(big, 1));
  const Ints columns = values<std::int64_t>(argmin(cast(multiply(big, 100.0), DType::Int32), 0));
  for (std::size_t r = 0; r < 33; ++r) {
    const auto begin = v.begin() + static_cast<std::ptrdiff_t>(r * 700);
    EXPECT_EQ(rows[r], std::max_element(begin, begin + 700) - begin);
  }
  for (std::size_t c = 0; c < 700; ++c) {
    std::int64_t best = 0;
    for (std::size_t r = 1; r < 33; ++r) {
      if (static_cast<int>(v[r * 700 + c] * 100) < static_cast<int>(v[static_cast<std::size_t>(best) * 700 + c] * 100))
        best = static_cast<std::int64_t>(r);
    }
    EXPECT_EQ(columns[c], best);
  }
}

TEST(Reduce, AnyAndAll) {
  const Tensor x = tensor_of<float>({0, 0, 1, 0, kNan, 2}, {3, 2});
  EXPECT_EQ(values<bool>(any(x, Dims{1})), (std::vector<bool>{false, true, true}));
  EXPECT_EQ(values<bool>(all(x, Dims{1})), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(values<bool>(any(x, Dims{0})), (std::vector<bool>{true, true}));
  EXPECT_EQ(values<bool>(any(x, Dims{0, 1})), (std::vector<bool>{true}));
  EXPECT_TRUE(all(cast(full({100, 3}, 256), DType::Int32)).data<bool>()[0]);
  EXPECT_EQ(values<bool>(any(x, Dims{})), (std::vector<bool>{false, false, true, false, true, true}));
}

TEST(Reduce, NothingToReduce) {
  const Tensor x = zeros({0, 3});
  EXPECT_EQ(values<float>(sum(x, 0)), (Floats{0, 0, 0}));
  EXPECT_EQ(values<float>(prod(x)), Floats{1});
  EXPECT_EQ(sum(x, 1).shape(), Dims{0});
  EXPECT_TRUE(std::isnan(mean(x).data<float>()[0]));
  EXPECT_EQ(values<bool>(any(x)), std::vector<bool>{false});
  EXPECT_EQ(values<bool>(all(x)), std::vector<bool>{true});
  expect_error<ValueError>([&] { max(x); }, "[max] cannot reduce an axis of length 0; the shape is [0, 3]");
  expect_error<ValueError>([&] { argmin(x, 0); }, "[argmin] cannot reduce an axis of length 0");
  expect_error<ValueError>([&] { argmax(x); }, "[argmax]");
  EXPECT_EQ(max(x, 1).shape(), Dims{0});
  EXPECT_EQ(sum(cast(x, DType::Int32)).dtype(), DType::Int64);
}

TEST(Reduce, Errors) {
  const Tensor x = zeros({2, 3});
  expect_error<IndexError>([&] { sum(x, 2); }, "[sum] axis 2 is out of range for a tensor with 2 axes");
  expect_error<ValueError>([&] { sum(x, Dims{0, -2}); }, "[sum] an axis is named twice");
  expect_error<TypeError>([&] { max(cast(x, DType::Complex64)); }, "[max] does not take dtype complex64");
  expect_error<TypeError>([&] { argmax(cast(x, DType::Complex64)); }, "[argmax] does not take dtype complex64");
  expect_error<IndexError>([&] { argmax(x, -3); }, "[argmax] axis -3");
}

TEST(Reduce, Meta) {
  const Tensor m = empty({2, 3}, DType::Int32, kMeta);
  EXPECT_EQ(sum(m, 0).shape(), Dims{3});
  EXPECT_EQ(sum(m, 0).dtype(), DType::Int64);
  EXPECT_TRUE(mean(m).device().is_meta());
  EXPECT_EQ(argmax(m).shape(), Dims{});
  expect_error<ValueError>([&] { max(empty({0}, DType::Float32, kMeta)); }, "[max]");
}

TEST(Reduce, Gradients) {
  const auto check = [](auto f, std::vector<Tensor> inputs) {
    expect_gradients([&](const auto& in) { return f(in[0]); }, inputs);
  };
  for (const Dims& axes : axis_sets()) {
    check([&](const Tensor& x) { return sum(x, axes); }, {sample({2, 3, 2})});
    check([&](const Tensor& x) { return mean(x, axes, true); }, {sample({2, 3, 2})});
    check([&](const Tensor& x) { return max(x, axes); }, {sample({2, 3, 2})});
    check([&](const Tensor& x) { return min(x, axes, true); }, {sample({2, 3, 2})});
    check([&](const Tensor& x) { return prod(x, axes); }, {sample({2, 3, 2})});
  }
  check([](const Tensor& x) { return sum(matrix_transpose(x), 0); }, {sample({2, 3})});
  check([](const Tensor& x) { return sum(x); }, {sample({})});
}

TEST(Reduce, ProductsWithZerosHaveExactGradients) {
  for (const std::vector<double>& numbers : {std::vector<double>{2, 0, 3, 5, 7}, std::vector<double>{2, 0, 0, 5, 7}}) {
    expect_gradients([](const auto& in) { return prod(in[0]); }, {tensor_of(numbers)});
  }
}

TEST(Reduce, TiedExtremesShareTheGradient) {
  const Tensor x = tensor_of<float>({1, 3, 3, 2, 2, 0}, {2, 3}).set_requires_grad(true);
  autograd::backward(sum(max(x, 1)));
  EXPECT_EQ(values<float>(x.grad()), (Floats{0, 0.5f, 0.5f, 0.5f, 0.5f, 0}));
}

}  // namespace
}  // namespace lamella::testing
