#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <thread>

#include "engine/runtime/parallel.h"
#include "ops/index/index.h"
#include "ops/registration/all_ops.h"
#include "tests/cpp/gradcheck.h"

namespace lamella::testing {
namespace {

/// Returns the product of two matrices by its definition, in double precision.
std::vector<double> product(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = values<double>(cast(a, DType::Float64));
  const std::vector<double> y = values<double>(cast(b, DType::Float64));
  const auto m = static_cast<std::size_t>(a.size(0));
  const auto k = static_cast<std::size_t>(a.size(1));
  const auto n = static_cast<std::size_t>(b.size(1));
  std::vector<double> result(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t p = 0; p < k; ++p) {
      for (std::size_t j = 0; j < n; ++j) result[i * n + j] += x[i * k + p] * y[p * n + j];
    }
  }
  return result;
}

void expect_near(const std::vector<double>& found, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(found.size(), expected.size()) << what;
  for (std::size_t i = 0; i < found.size(); ++i) ASSERT_NEAR(found[i], expected[i], tolerance) << what << " at " << i;
}

/// Returns x in a layout: 0 as it is, 1 column-major, 2 with gaps, 3 reversed along both axes.
Tensor laid_out(const Tensor& x, int layout) {
  if (layout == 1) return matrix_transpose(contiguous(matrix_transpose(x)));
  if (layout == 2) {
    const Tensor gaps = zeros({x.size(0) * 2, x.size(1) * 3}, x.dtype());
    const Tensor y = index(gaps, {Slice{{}, {}, 2}, Slice{{}, {}, 3}});
    return copy_(y, x);
  }
  if (layout == 3) return flip(contiguous(flip(x)));
  return x;
}

TEST(Matmul, EverySizeLayoutAndDtype) {
  struct Size {
    std::int64_t m, k, n;
  };
  for (const Size s : {Size{1, 1, 1},
                       {2, 3, 4},
                       {5, 1, 7},
                       {1, 9, 1},
                       {16, 16, 16},
                       {17, 16, 15},
                       {3, 70, 33},
                       {1, 64, 50},
                       {64, 1, 64},
                       {40, 65, 1},
                       {130, 40, 70},
                       {300, 20, 5}}) {
    for (const DType dtype : {DType::Float32, DType::Float64, DType::Int32, DType::Int64}) {
      const double scale = is_integral(dtype) ? 9 : 1;
      const Tensor a = cast(sample({s.m, s.k}, scale), dtype);
      const Tensor b = cast(sample({s.k, s.n}, scale, 3), dtype);
      const std::vector<double> expected = product(a, b);
      for (int la = 0; la < 4; ++la) {
        for (int lb = 0; lb < 4; ++lb) {
          const Tensor c = matmul(laid_out(a, la), laid_out(b, lb));
          ASSERT_EQ(c.shape(), (Dims{s.m, s.n}));
          ASSERT_EQ(c.dtype(), dtype);
          const double tolerance = dtype == DType::Float32 ? 1e-4 : 1e-11;
          expect_near(values<double>(cast(c, DType::Float64)), expected, tolerance,
                      str(dtype, " ", s.m, "x", s.k, "x", s.n, " layouts ", la, lb));
        }
      }
    }
  }
}

TEST(Matmul, OneAxis) {
  const Tensor a = tensor_of<float>({1, 2, 3});
  const Tensor b = tensor_of<float>({1, 0, 0, 1, 1, 1}, {3, 2});
  EXPECT_EQ(values<float>(matmul(a, a)), std::vector<float>{14});
  EXPECT_EQ(matmul(a, a).shape(), Dims{});
  EXPECT_EQ(values<float>(matmul(a, b)), (std::vector<float>{4, 5}));
  EXPECT_EQ(values<float>(matmul(matrix_transpose(b), a)), (std::vector<float>{4, 5}));
  EXPECT_EQ(matmul(zeros({4, 5, 3}), a).shape(), (Dims{4, 5}));
  EXPECT_EQ(matmul(a, zeros({4, 3, 5})).shape(), (Dims{4, 5}));
}

TEST(Matmul, BatchesBroadcast) {
  for (const DType dtype : {DType::Float32, DType::Float64, DType::Int64}) {
    for (const std::int64_t size : {2, 30}) {
      const auto make = [&](Dims shape, std::uint64_t seed) {
        shape.push_back(size);
        shape.push_back(size);
        return cast(sample(shape, is_integral(dtype) ? 9 : 1, seed), dtype);
      };
      for (const auto& [sa, sb] : {std::pair{Dims{3}, Dims{3}},
                                   {Dims{3}, Dims{}},
                                   {Dims{}, Dims{3}},
                                   {Dims{2, 1}, Dims{1, 3}},
                                   {Dims{2, 3}, Dims{3}},
                                   {Dims{1, 3}, Dims{2, 3}},
                                   {Dims{2, 3}, Dims{2, 1}}}) {
        const Tensor a = make(sa, 1);
        const Tensor b = make(sb, 2);
        for (const bool transposed : {false, true}) {
          const Tensor c = transposed ? matmul(matrix_transpose(a), matrix_transpose(b)) : matmul(a, b);
          Dims batch = broadcast_shapes(sa, sb, "test");
          Dims shape = batch;
          shape.push_back(size);
          shape.push_back(size);
          ASSERT_EQ(c.shape(), shape);
          const Tensor flat_a = reshape(broadcast_to(a, shape), {-1, size, size});
          const Tensor flat_b = reshape(broadcast_to(b, shape), {-1, size, size});
          const Tensor flat_c = reshape(c, {-1, size, size});
          for (std::int64_t i = 0; i < flat_c.size(0); ++i) {
            Tensor x = index(flat_a, {i});
            Tensor y = index(flat_b, {i});
            if (transposed) {
              x = matrix_transpose(x);
              y = matrix_transpose(y);
            }
            expect_near(values<double>(cast(index(flat_c, {i}), DType::Float64)), product(x, y),
                        dtype == DType::Float32 ? 1e-4 : 1e-11, str(dtype, sa, sb, size));
          }
        }
      }
    }
  }
}

TEST(Matmul, ZeroSizes) {
  EXPECT_EQ(values<float>(matmul(zeros({2, 0}), zeros({0, 3}))), std::vector<float>(6, 0));
  EXPECT_EQ(matmul(zeros({0, 4}), zeros({4, 3})).shape(), (Dims{0, 3}));
  EXPECT_EQ(matmul(zeros({5, 4}), zeros({4, 0})).shape(), (Dims{5, 0}));
  EXPECT_EQ(matmul(zeros({0, 2, 4}), zeros({4, 3})).shape(), (Dims{0, 2, 3}));
  EXPECT_EQ(matmul(zeros({0, 2, 4}), zeros({0, 4, 3})).shape(), (Dims{0, 2, 3}));
  const Tensor a = zeros({2, 0}).set_requires_grad(true);
  autograd::backward(sum(matmul(a, zeros({0, 3}))));
  EXPECT_EQ(a.grad().shape(), (Dims{2, 0}));
}

TEST(Matmul, Errors) {
  expect_error<ValueError>([] { matmul(zeros({2, 3}), zeros({4, 5})); },
                           "[matmul] inner sizes 3 and 4 differ (a: [2, 3], b: [4, 5])");
  expect_error<ValueError>([] { matmul(zeros({}), zeros({4})); }, "[matmul] needs at least one axis");
  expect_error<ValueError>([] { matmul(zeros({2, 3, 3}), zeros({4, 3, 3})); },
                           "[matmul] shapes [2] and [4] do not broadcast");
  expect_error<TypeError>([] { matmul(zeros({2, 2}, DType::Bool), zeros({2, 2}, DType::Bool)); },
                          "[matmul] does not take dtype bool");
  expect_error<RuntimeError>([] { matmul(zeros({2, 2}), empty({2, 2}, DType::Float32, kMeta)); },
                             "[matmul] got tensors on cpu and meta");
}

TEST(Matmul, PromotesAndRunsOnMeta) {
  EXPECT_EQ(matmul(zeros({2, 2}, DType::Int32), zeros({2, 2}, DType::Float64)).dtype(), DType::Float64);
  const Tensor m = empty({7, 2, 3}, DType::Float32, kMeta);
  EXPECT_EQ(matmul(m, empty({3, 5}, DType::Float32, kMeta)).shape(), (Dims{7, 2, 5}));
}

TEST(Matmul, Gradients) {
  const auto f = [](const auto& in) { return matmul(in[0], in[1]); };
  expect_gradients(f, {sample({2, 3}), sample({3, 2}, 2, 5)});
  expect_gradients(f, {sample({3}), sample({3}, 2, 5)});
  expect_gradients(f, {sample({3}), sample({3, 2}, 2, 5)});
  expect_gradients(f, {sample({2, 3}), sample({3}, 2, 5)});
  expect_gradients(f, {sample({2, 2, 3}), sample({3, 2}, 2, 5)});
  expect_gradients(f, {sample({2, 3}), sample({2, 3, 1}, 2, 5)});
  expect_gradients(f, {sample({2, 1, 1, 2}), sample({3, 2, 1}, 2, 5)});
  expect_gradients([](const auto& in) { return matmul(matrix_transpose(in[0]), in[0]); }, {sample({3, 2})});
}

TEST(Matmul, DoublesDoNotDependOnTheNumberOfThreads) {
  const int before = thread_count();
  const Tensor a = sample({500, 40});
  const Tensor b = sample({40, 30}, 1, 9);
  set_thread_count(1);
  const auto alone = values<double>(matmul(a, b));
  set_thread_count(4);
  EXPECT_EQ(values<double>(matmul(a, b)), alone);
  set_thread_count(before);
}

TEST(Matmul, SeveralThreadsAtOnce) {
  const Tensor a = cast(sample({50, 60}), DType::Float32);
  const Tensor b = cast(sample({60, 40}, 1, 4), DType::Float32);
  const std::vector<double> expected = product(a, b);
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < 20; ++k)
        expect_near(values<double>(cast(matmul(a, b), DType::Float64)), expected, 1e-4, "thread");
    });
  }
  for (std::thread& thread : threads) thread.join();
}

TEST(Matmul, WorksInAForkedChild) {
  const int before = thread_count();
  set_thread_count(2);
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    const Tensor a = cast(sample({300, 100}), dtype);
    const Tensor b = cast(sample({100, 200}, 1, 4), dtype);
    const std::vector<double> expected =
        values<double>(cast(matmul(a, b), DType::Float64));  // starts the parent's workers
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);  // a hang becomes a failure
      bool close = true;
      for (const int threads : {1, 2}) {
        set_thread_count(threads);
        const std::vector<double> found = values<double>(cast(matmul(a, b), DType::Float64));
        for (std::size_t i = 0; i < found.size(); ++i) close &= std::abs(found[i] - expected[i]) < 1e-4;
      }
      _exit(close ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0) << dtype;
  }
  set_thread_count(before);
}

TEST(Linear, ValuesOfBothPaths) {
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    for (const auto& [rows, in, out] : {std::tuple{2, 3, 4}, {40, 30, 50}, {1, 64, 100}}) {
      const Tensor x = cast(sample({rows, in}), dtype);
      const Tensor w = cast(sample({out, in}, 1, 3), dtype);
      const Tensor b = cast(sample({out}, 1, 4), dtype);
      std::vector<double> expected = product(x, matrix_transpose(w));
      expect_near(values<double>(cast(linear(x, w), DType::Float64)), expected, 1e-4, "without bias");
      const std::vector<double> bias = values<double>(cast(b, DType::Float64));
      for (std::size_t i = 0; i < expected.size(); ++i) expected[i] += bias[i % bias.size()];
      expect_near(values<double>(cast(linear(x, w, b), DType::Float64)), expected, 1e-4, "with bias");
      expect_near(values<double>(cast(linear(x, w, flip(flip(b))), DType::Float64)), expected, 1e-4,
                  "with a strided bias");
    }
  }
}

TEST(Linear, AnyNumberOfLeadingAxes) {
  const Tensor w = zeros({4, 3});
  EXPECT_EQ(linear(zeros({3}), w).shape(), Dims{4});
  EXPECT_EQ(linear(zeros({5, 2, 3}), w, zeros({4})).shape(), (Dims{5, 2, 4}));
  EXPECT_EQ(linear(zeros({0, 3}), w, zeros({4})).shape(), (Dims{0, 4}));
  EXPECT_EQ(values<float>(linear(zeros({2, 0}), zeros({2, 0}), ones({2}))), std::vector<float>(4, 1));
}

TEST(Linear, Errors) {
  expect_error<ValueError>([] { linear(zeros({2, 3}), zeros({4, 5})); },
                           "[linear] the last size of x and weight's differ (x: [2, 3], weight: [4, 5])");
  expect_error<ValueError>([] { linear(zeros({2, 3}), zeros({})); }, "[linear] weight must have the shape [out, in]");
  expect_error<ValueError>([] { linear(zeros({2, 3}), zeros({4, 3}), zeros({3})); },
                           "[linear] bias must have the shape [4], got [3]");
  expect_error<TypeError>([] { linear(zeros({2, 3}, DType::Bool), zeros({4, 3}, DType::Bool)); },
                          "[linear] does not take dtype bool");
}

TEST(Linear, Gradients) {
  const auto f = [](const auto& in) { return linear(in[0], in[1], in[2]); };
  expect_gradients(f, {sample({2, 3}), sample({4, 3}, 1, 3), sample({4}, 1, 4)});
  expect_gradients(f, {sample({2, 2, 3}), sample({2, 3}, 1, 3), sample({2}, 1, 4)});
  expect_gradients([](const auto& in) { return linear(in[0], in[1]); }, {sample({3}), sample({2, 3}, 1, 3)});
}

}  // namespace
}  // namespace lamella::testing
