#include "tests/cuda/support.h"

#include <functional>

// Compares operators that compose others, or move elements, on CUDA with the CPU.

namespace lamella::test {
namespace {

class Ops : public Cuda {};

/// Calls f with each device's copies of the tensors, and compares the results and, where they are differentiable, the
/// gradients of the floating tensors.
void compare(const std::vector<Tensor>& given,
             const std::function<std::vector<Tensor>(const std::vector<Tensor>&)>& f) {
  std::vector<std::vector<Tensor>> found;
  for (const Device device : {kCPU, kGpu}) {
    std::vector<Tensor> x;
    for (const Tensor& t : given) {
      x.push_back(to_device(t, device).detach());
      if (is_floating(t.dtype())) x.back().set_requires_grad(true);
    }
    std::vector<Tensor> results = f(x);
    for (const Tensor& y : results) {
      EXPECT_EQ(y.device(), device);
      if (y.requires_grad()) autograd::backward(y, to_device(sample(y.shape(), y.dtype(), -1, 1, 9), device), true);
    }
    for (const Tensor& t : x) results.push_back(t.grad());
    found.push_back(std::move(results));
  }
  ASSERT_EQ(found[0].size(), found[1].size());
  for (std::size_t i = 0; i < found[0].size(); ++i) {
    ASSERT_EQ(found[0][i].defined(), found[1][i].defined()) << i;
    if (!found[0][i].defined()) continue;
    EXPECT_TRUE(agree(found[1][i].detach(), found[0][i].detach(), 1e-10)) << "result or gradient " << i;
  }
}

Tensor floats(const Dims& shape, std::uint64_t seed = 1) { return sample(shape, DType::Float64, -2, 2, seed); }
Tensor integers(const Dims& shape, std::int64_t below, std::uint64_t seed = 2) {
  return sample(shape, DType::Int64, 0, static_cast<double>(below - 1), seed);
}

TEST_F(Ops, CreationAgreesWithTheCpu) {
  EXPECT_TRUE(agree(arange(2, 50, 3, DType::Int64, kGpu), arange(2, 50, 3, DType::Int64, kCPU)));
  EXPECT_TRUE(agree(Linspace::call(0, 1, 33, DType::Float32, kGpu, true),
                    Linspace::call(0, 1, 33, DType::Float32, kCPU, true)));
  EXPECT_TRUE(agree(Eye::call(5, 7, 1, DType::Float32, kGpu), Eye::call(5, 7, 1, DType::Float32, kCPU)));
  seed(4);
  const Tensor order = RandPerm::call(50, std::nullopt, kGpu);
  seed(4);
  EXPECT_TRUE(agree(order, RandPerm::call(50, std::nullopt, kCPU)));
  compare({floats({5, 6})},
          [](const auto& x) { return std::vector<Tensor>{Tril::call(x[0], 1), Triu::call(x[0], -1)}; });
}

TEST_F(Ops, ShapesAgreeWithTheCpu) {
  compare({floats({4, 6}), floats({4, 2}, 2)}, [](const auto& x) {
    std::vector<Tensor> results{Concat::call({x[0], x[1], x[0]}, 1), Stack::call({x[0], x[0]}, 1),
                                Flip::call(x[0], Dims{1}),           roll(x[0], 2, 1),
                                permute_dims(x[0], {1, 0}),          reshape(permute_dims(x[0], {1, 0}), {3, 8}),
                                broadcast_to(x[1], Dims{3, 4, 2})};
    for (const Tensor& part : Split::call(x[0], Dims{2, 4}, 1)) results.push_back(part);
    return results;
  });
}

TEST_F(Ops, IndexingAgreesWithTheCpu) {
  compare({floats({6, 5, 4}), integers({7}, 6), integers({7}, 4, 3)}, [](const auto& x) {
    return std::vector<Tensor>{Take::call(x[0], x[1], 0), index(x[0], {x[1]}), index(x[0], {x[1], Slice{}, x[2]}),
                               index(x[0], {Slice{1, 5, 2}, std::int64_t{-1}}), index(x[0], {x[0] > 0})};
  });
  compare({floats({6, 5}), integers({6, 2}, 5)},
          [](const auto& x) { return std::vector<Tensor>{take_along_axis(x[0], x[1], 1)}; });
  compare({sample({9, 7}, DType::Bool, 0, 1, 1)}, [](const auto& x) { return nonzero(x[0]); });
}

TEST_F(Ops, AssignmentAgreesWithTheCpu) {
  compare({floats({6, 5}), floats({3, 5}, 2), integers({8}, 6), floats({8, 5}, 3)}, [](const auto& x) {
    const Tensor by_slice = clone(x[0]);
    set_index(by_slice, {Slice{0, 6, 2}}, x[1]);
    const Tensor by_number = clone(x[0]);
    set_index(by_number, {std::int64_t{2}}, 7.0);
    // Repeated indices: the last one counts.
    const Tensor by_tensor = clone(x[0]);
    set_index(by_tensor, {x[2]}, x[3]);
    const Tensor by_mask = clone(x[0]);
    set_index(by_mask, {x[0] > 0}, 0.5);
    const Tensor turned = permute_dims(clone(x[0].detach()), {1, 0});
    set_index(turned, {Slice{}, x[2]}, permute_dims(x[3].detach(), {1, 0}));
    return std::vector<Tensor>{by_slice, by_number, by_tensor, by_mask, turned};
  });
}

TEST_F(Ops, AnIndexOutOfRangeIsAnError) {
  const Tensor x = to_device(floats({6, 5}), kGpu);
  const auto pick_and_wait = [&] {
    static_cast<void>(index(x, {to_device(integers({4}, 100), kGpu)}));
    synchronize(kGpu);
  };
  EXPECT_THROW(pick_and_wait(), IndexError);
  EXPECT_NO_THROW(synchronize(kGpu));  // an error is raised once
}

TEST_F(Ops, LossesAndLayersAgreeWithTheCpu) {
  compare({floats({9, 5}), integers({9}, 5)}, [](const auto& x) {
    std::vector<Tensor> results;
    for (const char* reduction : {"mean", "sum", "none"})
      results.push_back(cross_entropy(x[0], x[1], std::nullopt, -100, reduction));
    return results;
  });
  compare({floats({9, 5}), floats({9, 5}, 2)}, [](const auto& x) {
    return std::vector<Tensor>{MseLoss::call(x[0], x[1], "mean"), softmax(x[0], 0), gelu(x[0]), gelu(x[1], "tanh"),
                               clip(x[0], -0.5, 1.0)};
  });
  compare({floats({9, 5}), floats({4, 5}, 2), floats({4}, 3)}, [](const auto& x) {
    return std::vector<Tensor>{Linear::call(x[0], x[1], x[2]), Linear::call(x[0], x[1], std::nullopt)};
  });
  compare({integers({9}, 5)}, [](const auto& x) { return std::vector<Tensor>{OneHot::call(x[0], 5)}; });
}

TEST_F(Ops, DropoutAndBernoulliAgreeWithTheCpu) {
  compare({sample({300}, DType::Float64, 0, 1, 1)}, [](const auto& x) {
    seed(3);
    return std::vector<Tensor>{Dropout::call(x[0], 0.4, true), bernoulli(x[0].detach())};
  });
}

TEST_F(Ops, ReductionsWithGradientsAgreeWithTheCpu) {
  compare({floats({4, 6})}, [](const auto& x) {
    return std::vector<Tensor>{sum(x[0], Dims{0}, true), mean(x[0]), Prod::call(x[0], Dims{1}, false, std::nullopt),
                               Max::call(x[0], Dims{1}, false), Min::call(x[0], std::nullopt, false)};
  });
}

}  // namespace
}  // namespace lamella::test
