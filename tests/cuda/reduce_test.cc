#include "tests/cuda/support.h"

namespace lamella::test {
namespace {

class Reduce : public Cuda {};

struct Named {
  const char* name;
  Tensor (*run)(const Tensor& x, const std::optional<Dims>& axis);
  DTypeSet dtypes;
};

constexpr DTypeSet kOrdered = Real | Boolean;

const Named kReductions[] = {
    {"sum", [](const Tensor& x, const std::optional<Dims>& axis) { return Sum::call(x, axis, false, std::nullopt); },
     AnyDType},
    {"prod", [](const Tensor& x, const std::optional<Dims>& axis) { return Prod::call(x, axis, false, std::nullopt); },
     AnyDType},
    {"max", [](const Tensor& x, const std::optional<Dims>& axis) { return Max::call(x, axis, false); }, kOrdered},
    {"min", [](const Tensor& x, const std::optional<Dims>& axis) { return Min::call(x, axis, false); }, kOrdered},
    {"any", [](const Tensor& x, const std::optional<Dims>& axis) { return Any::call(x, axis, false); }, AnyDType},
    {"all", [](const Tensor& x, const std::optional<Dims>& axis) { return All::call(x, axis, false); }, AnyDType},
};

void check(const Tensor& x, const Tensor& gpu, const std::optional<Dims>& axis) {
  for (const Named& reduction : kReductions) {
    if (!reduction.dtypes.contains(x.dtype())) continue;
    // Products of more than a few numbers overflow.
    const bool product = std::string_view(reduction.name) == "prod";
    if (product && x.numel() > 2000 && is_floating(x.dtype())) continue;
    const double allowed = tolerance(x.dtype()) * std::sqrt(static_cast<double>(x.numel()));
    EXPECT_TRUE(agree(reduction.run(gpu, axis), reduction.run(x, axis), allowed))
        << reduction.name << " of " << describe(x);
  }
}

void check_positions(const Tensor& x, const Tensor& gpu, std::optional<std::int64_t> axis) {
  EXPECT_TRUE(agree(argmax(gpu, axis), argmax(x, axis), 0)) << describe(x);
  EXPECT_TRUE(agree(argmin(gpu, axis), argmin(x, axis), 0)) << describe(x);
}

TEST_F(Reduce, AgreesWithTheCpuAlongAnyAxes) {
  for (const DType dtype : {DType::Bool, DType::Int32, DType::Int64, DType::Float32, DType::Float64}) {
    const Tensor x = sample({6, 35, 9}, dtype, is_floating(dtype) ? 0.9 : -3, is_floating(dtype) ? 1.1 : 3, 1);
    const Tensor gpu = to_device(x, kGpu);
    for (const std::optional<Dims>& axis :
         {std::optional<Dims>(), std::optional<Dims>(Dims{0}), std::optional<Dims>(Dims{1}),
          std::optional<Dims>(Dims{2}), std::optional<Dims>(Dims{0, 2}), std::optional<Dims>(Dims{1, 2}),
          std::optional<Dims>(Dims{0, 1})}) {
      check(x, gpu, axis);
      check(permute_dims(x, {2, 0, 1}), permute_dims(gpu, {2, 0, 1}), axis);
    }
    if (dtype == DType::Bool) continue;
    for (const std::optional<std::int64_t> axis : {std::optional<std::int64_t>(), std::optional<std::int64_t>(0),
                                                   std::optional<std::int64_t>(1), std::optional<std::int64_t>(2)}) {
      check_positions(x, gpu, axis);
      check_positions(permute_dims(x, {2, 0, 1}), permute_dims(gpu, {2, 0, 1}), axis);
    }
  }
}

TEST_F(Reduce, LongReductionsAreCutIntoChunks) {
  for (const Dims& shape : {Dims{100003}, Dims{3, 40001}, Dims{30011, 5}, Dims{5003, 70}}) {
    for (const DType dtype : {DType::Int32, DType::Float32, DType::Float64}) {
      const Tensor x = sample(shape, dtype, -50, 50, 1);
      const Tensor gpu = to_device(x, kGpu);
      check(x, gpu, std::nullopt);
      check(x, gpu, Dims{0});
      check(x, gpu, Dims{static_cast<std::int64_t>(shape.size()) - 1});
      check_positions(x, gpu, std::nullopt);
      check_positions(x, gpu, 0);
    }
  }
}

TEST_F(Reduce, BroadcastTensorsAreReduced) {
  const Tensor row = sample({40}, DType::Float32, -1, 1, 1);
  const Tensor x = broadcast_to(row, Dims{30, 40});
  const Tensor gpu = broadcast_to(to_device(row, kGpu), Dims{30, 40});
  check(x, gpu, std::nullopt);
  check(x, gpu, Dims{0});
  check(x, gpu, Dims{1});
}

TEST_F(Reduce, TheFirstNanWins) {
  Tensor x = sample({3000}, DType::Float32, -1, 1, 1);
  x.data<float>()[1234] = std::nanf("");
  x.data<float>()[2345] = std::nanf("");
  const Tensor gpu = to_device(x, kGpu);
  EXPECT_TRUE(std::isnan(values(Max::call(gpu, std::nullopt, false))[0]));
  EXPECT_TRUE(std::isnan(values(Min::call(gpu, std::nullopt, false))[0]));
  check_positions(x, gpu, std::nullopt);
}

TEST_F(Reduce, OfEqualElementsTheFirstIsFound) {
  const Tensor x = sample({20000}, DType::Int32, 0, 3, 1);
  check_positions(x, to_device(x, kGpu), std::nullopt);
  const Tensor lowest = full({5}, -std::numeric_limits<double>::infinity(), DType::Float32);
  check_positions(lowest, to_device(lowest, kGpu), std::nullopt);
}

TEST_F(Reduce, HasTheSameBitsInEveryRun) {
  const Tensor x = to_device(sample({300, 1001}, DType::Float32, -1, 1, 1), kGpu);
  for (const std::optional<Dims>& axis :
       {std::optional<Dims>(), std::optional<Dims>(Dims{0}), std::optional<Dims>(Dims{1})}) {
    const Tensor first = Sum::call(x, axis, false, std::nullopt);
    for (int run = 0; run < 5; ++run) EXPECT_TRUE(agree(Sum::call(x, axis, false, std::nullopt), first, 0));
  }
}

TEST_F(Reduce, GradientsAgreeWithTheCpu) {
  std::vector<Tensor> grads;
  for (const Device device : {kCPU, kGpu}) {
    const Tensor x = to_device(sample({12, 31}, DType::Float64, -1, 1, 1), device).set_requires_grad(true);
    autograd::backward(sum(mean(x * x, Dims{0}) * Max::call(x, Dims{0}, false)));
    grads.push_back(x.grad());
  }
  EXPECT_TRUE(agree(grads[1], grads[0]));
}

TEST_F(Reduce, AgreesWithTheCpuInEveryDtype) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    const Tensor x = sample({7, 45}, dtype, is_floating(dtype) ? 0.9 : 0, is_floating(dtype) ? 1.1 : 3, 1);
    const Tensor gpu = to_device(x, kGpu);
    for (const std::optional<Dims>& axis : {std::optional<Dims>(), std::optional<Dims>(Dims{0})}) {
      check(x, gpu, axis);
      if (is_complex(dtype) || is_floating(dtype)) {
        EXPECT_TRUE(agree(mean(gpu, axis), mean(x, axis), 1e-2)) << dtype;
      }
    }
    if (!is_complex(dtype)) check_positions(x, gpu, 0);
  }
}

}  // namespace
}  // namespace lamella::test
