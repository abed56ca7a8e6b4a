#include <cmath>
#include <limits>

#include "tests/cuda/support.h"

// Tests convolutions, pools and other operators on windows on CUDA.

namespace lamella::test {
namespace {

class Spatial : public Cuda {};

/// Returns the value and the gradients of f(inputs) on a device; the gradients are those of sum(f^2).
template <class F>
std::vector<Tensor> run_on(Device device, const std::vector<Tensor>& inputs, const F& f) {
  std::vector<Tensor> moved;
  for (const Tensor& x : inputs) moved.push_back(to_device(x, device).detach().set_requires_grad(true));
  const Tensor y = f(moved);
  autograd::backward(sum(y * y));
  std::vector<Tensor> results{y.detach()};
  for (const Tensor& x : moved) results.push_back(x.grad());
  return results;
}

template <class F>
void expect_agreement(const std::vector<Tensor>& inputs, double allowed, const F& f) {
  const std::vector<Tensor> expected = run_on(kCPU, inputs, f);
  const std::vector<Tensor> actual = run_on(kGpu, inputs, f);
  for (std::size_t i = 0; i < expected.size(); ++i)
    EXPECT_TRUE(agree(actual[i], expected[i], allowed)) << describe(inputs[0]) << ", result " << i;
}

struct Shapes {
  Dims x;
  Dims weight;
  Dims stride;
  Dims padding;
  Dims dilation;
  std::int64_t groups;
};

TEST_F(Spatial, ConvolutionsAgreeWithTheCpu) {
  const Shapes cases[] = {
      {{2, 8, 9, 10}, {6, 8, 3, 3}, {1, 1}, {1, 1}, {1, 1}, 1},   // columns
      {{3, 8, 9, 10}, {6, 4, 2, 3}, {2, 3}, {0, 2}, {2, 1}, 2},   // columns in groups
      {{2, 8, 5, 7}, {9, 8, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 1},    // x is its columns
      {{2, 8, 5, 7}, {10, 4, 1, 1}, {1, 1}, {0, 0}, {1, 1}, 2},   // and in groups
      {{2, 6, 9, 10}, {12, 1, 3, 3}, {2, 1}, {1, 1}, {1, 2}, 6},  // terms summed directly
      {{1, 2, 11, 12}, {3, 2, 3, 2}, {4, 3}, {2, 1}, {6, 2}, 1},  // stride and dilation with a common divisor
  };
  for (const DType dtype : {DType::Float32, DType::Float64}) {
    for (const Shapes& shapes : cases) {
      const std::vector<Tensor> inputs{sample(shapes.x, dtype, -1, 1, 1), sample(shapes.weight, dtype, -1, 1, 2),
                                       sample({shapes.weight[0]}, dtype, -1, 1, 3)};
      expect_agreement(inputs, 20 * tolerance(dtype), [&](const std::vector<Tensor>& in) {
        return conv<2>(in[0], in[1], in[2], shapes.stride, shapes.padding, shapes.dilation, shapes.groups);
      });
    }
  }
}

// Sizes that leave parts of strips and of cells, paddings that differ, and images that are summed in parts.
TEST_F(Spatial, DepthwiseConvolutionsAgreeWithTheCpu) {
  for (const std::int64_t stride : {1, 2}) {
    for (const Dims& padding : {Dims{1, 1}, Dims{0, 2}, Dims{2, 0}}) {
      for (const Dims& shape : {Dims{2, 5, 9, 10}, Dims{3, 4, 6, 3}, Dims{5, 2, 93, 94}, Dims{1, 1, 131, 130}}) {
        const Tensor x = sample(shape, DType::Float32, -1, 1, 1);
        const Tensor weight = sample({shape[1], 1, 3, 3}, DType::Float32, -1, 1, 2);
        const Tensor bias = sample({shape[1]}, DType::Float32, -1, 1, 3);
        const auto f = [&](const std::vector<Tensor>& in) {
          return conv<2>(in[0], in[1], in[2], {stride, stride}, padding, {1, 1}, shape[1]);
        };
        expect_agreement({x, weight, bias}, 3e-3, f);
      }
    }
  }
}

TEST_F(Spatial, TapsOutsideOfTheImageAreNoProducts) {
  Tensor weight = ones({1, 1, 3, 3}, DType::Float32);
  weight.data<float>()[0] = std::numeric_limits<float>::infinity();
  for (const std::int64_t stride : {1, 2}) {
    const Tensor x = ones({1, 1, 4, 4}, DType::Float32);
    const auto f = [&](const std::vector<Tensor>& in) {
      return conv<2>(in[0], in[1], {}, {stride, stride}, Dims{1, 1}, {1, 1}, 1);
    };
    const Tensor y = to_device(f({to_device(x, kGpu), to_device(weight, kGpu)}), kCPU);
    EXPECT_EQ(y.data<float>()[0], 4);
    EXPECT_TRUE(std::isinf(y.data<float>()[y.numel() - 1]));
  }
}

TEST_F(Spatial, ConvolutionsOfOneAndThreeAxesAgreeWithTheCpu) {
  expect_agreement({sample({2, 7, 40}, DType::Float32, -1, 1, 1), sample({5, 7, 4}, DType::Float32, -1, 1, 2)}, 1e-4,
                   [](const std::vector<Tensor>& in) { return conv<1>(in[0], in[1], {}, {3}, Dims{2}, {2}); });
  expect_agreement(
      {sample({2, 6, 5, 6, 7}, DType::Float32, -1, 1, 1), sample({6, 3, 2, 3, 2}, DType::Float32, -1, 1, 2)}, 1e-4,
      [](const std::vector<Tensor>& in) {
        return conv_transpose<3>(in[0], in[1], {}, {2, 1, 3}, {1, 0, 1}, {1, 0, 2}, 2, {1, 2, 1});
      });
}

// The columns exceed the memory that is taken at once: cut into examples, positions and channels.
TEST_F(Spatial, ConvolutionsOfManyColumnsAgreeWithTheCpu) {
  for (const Dims& shape : {Dims{7, 17, 1200}, Dims{2, 17, 4096}}) {
    const std::vector<Tensor> inputs{sample(shape, DType::Float32, -1, 1, 1),
                                     sample({1, 17, 600}, DType::Float32, -0.03, 0.03, 2)};
    const auto f = [](const std::vector<Tensor>& in) { return conv<1>(in[0], in[1]); };
    expect_agreement(inputs, 1e-3, f);
    if (shape[0] == 7) {
      std::vector<Tensor> halves;
      for (const Tensor& x : inputs) halves.push_back(cast(x, DType::Float16));
      expect_agreement(halves, 1e-2, f);
    }
  }
}

TEST_F(Spatial, ConvolutionsOfIntegersWrap) {
  for (const DType dtype : {DType::Int8, DType::UInt16, DType::Int64}) {
    const Tensor x = sample({2, 20, 6, 6}, dtype, 0, 100, 1);
    const Tensor weight = sample({3, 20, 3, 3}, dtype, 0, 100, 2);
    EXPECT_TRUE(agree(conv<2>(to_device(x, kGpu), to_device(weight, kGpu)), conv<2>(x, weight), 0)) << dtype;
  }
}

// Products of 16 bits are summed in float32: 4096 + 1 + .. + 1 would stay 4096 in float16.
TEST_F(Spatial, ConvolutionsOfHalvesAreRoundedOnce) {
  for (const std::int64_t channels : {2, 64}) {
    Tensor x = ones({1, channels, 12}, DType::Float32);
    x.data<float>()[0] = 4096;
    const Tensor half = cast(x, DType::Float16);
    const Tensor weight = ones({1, channels, 9}, DType::Float16);
    const Tensor y = conv<1>(to_device(half, kGpu), to_device(weight, kGpu));
    EXPECT_TRUE(agree(y, cast(conv<1>(x, cast(weight, DType::Float32)), DType::Float16), 0)) << channels;
    const Tensor dx = conv_transpose<1>(to_device(half, kGpu), to_device(ones({channels, 8, 9}, DType::Float16), kGpu));
    const Tensor exact = conv_transpose<1>(x, ones({channels, 8, 9}, DType::Float32));
    EXPECT_TRUE(agree(dx, cast(exact, DType::Float16), 0)) << channels;
  }
}

TEST_F(Spatial, PoolsAgreeWithTheCpu) {
  const Tensor x = sample({2, 3, 9, 11}, DType::Float32, -1, 1, 1);
  x.data<float>()[40] = std::nanf("");
  const std::vector<Tensor> inputs{x};
  const auto expect = [&](const auto& f) {
    expect_agreement(inputs, 1e-5, [&](const std::vector<Tensor>& in) { return f(in[0]); });
  };
  for (const bool ceil_mode : {false, true}) {
    expect([&](const Tensor& t) { return max_pool<2>(t, {3, 2}, Dims{2, 3}, {1, 1}, {2, 1}, ceil_mode); });
    for (const bool count_padding : {false, true})
      expect([&](const Tensor& t) { return avg_pool<2>(t, {3, 4}, Dims{2, 3}, {1, 2}, ceil_mode, count_padding); });
  }
  for (const std::int64_t size : {2, 3}) {
    for (const std::int64_t stride : {1, 2, 3}) {
      for (const std::int64_t padding : {0, 1}) {
        for (const bool ceil_mode : {false, true}) {
          const Dims strides{stride, stride};
          const Dims pads{padding, padding};
          expect([&](const Tensor& t) { return max_pool<2>(t, {size, size}, strides, pads, {1, 1}, ceil_mode); });
          for (const bool padded : {false, true})
            expect([&](const Tensor& t) { return avg_pool<2>(t, {size, size}, strides, pads, ceil_mode, padded); });
        }
      }
    }
  }
  expect([&](const Tensor& t) { return adaptive_max_pool<2>(t, Dims{4, 13}); });
  expect([&](const Tensor& t) { return adaptive_avg_pool<2>(t, Dims{4, 13}); });
  expect([&](const Tensor& t) { return avg_pool<2>(t, {2}, Dims{3}, {0}, false, true, -5); });
}

TEST_F(Spatial, WindowsAgreeWithTheCpu) {
  expect_agreement({sample({2, 3, 9, 11}, DType::Float64, -1, 1, 1)}, 1e-12,
                   [](const std::vector<Tensor>& in) { return unfold(in[0], {3, 2}, {2, 3}, {1, 2}, {1, 2}); });
  const Tensor columns = unfold(zeros({2, 3, 9, 11}, DType::Float64), {3, 2}, {4, 6}, {4, 2}, {6, 4});
  expect_agreement({sample(columns.shape(), DType::Float64, -1, 1, 1)}, 1e-12,
                   [](const std::vector<Tensor>& in) { return fold(in[0], {9, 11}, {3, 2}, {4, 6}, {4, 2}, {6, 4}); });
}

}  // namespace
}  // namespace lamella::test
