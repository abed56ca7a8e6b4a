#include "tests/cuda/support.h"

namespace lamella::test {
namespace {

class Movement : public Cuda {};

constexpr DType kAll[] = {DType::Bool,     DType::Int8,    DType::Int16,  DType::Int32,  DType::Int64,
                          DType::UInt8,    DType::UInt16,  DType::UInt32, DType::UInt64, DType::Float16,
                          DType::BFloat16, DType::Float32, DType::Float64};

TEST_F(Movement, AllDtypesGoThereAndBack) {
  for (const DType dtype : kAll) {
    const Tensor x = sample({7, 301}, dtype, 0, 90, 1);
    const Tensor gpu = to_device(x, kGpu);
    EXPECT_EQ(gpu.device(), kGpu);
    EXPECT_TRUE(agree(to_device(gpu, kCPU), x, 0)) << dtype;
  }
}

TEST_F(Movement, ComplexNumbersGoThereAndBack) {
  Tensor x = empty({2}, DType::Complex128);
  x.data<std::complex<double>>()[0] = {1, 2};
  x.data<std::complex<double>>()[1] = {3, -4};
  const Tensor narrow = cast(to_device(x, kGpu), DType::Complex64);
  const Tensor back = to_device(cast(narrow, DType::Complex128), kCPU);
  EXPECT_EQ(back.data<std::complex<double>>()[0], (std::complex<double>{1, 2}));
  EXPECT_EQ(back.data<std::complex<double>>()[1], (std::complex<double>{3, -4}));
}

TEST_F(Movement, EveryCastAgreesWithTheCpu) {
  for (const DType from : kAll) {
    const Tensor x = sample({517}, from, 0, 120, 1);
    const Tensor gpu = to_device(x, kGpu);
    for (const DType to : kAll) EXPECT_TRUE(agree(cast(gpu, to), cast(x, to), 0)) << from << " to " << to;
  }
}

TEST_F(Movement, ValuesThatDoNotFitAreCastAsOnTheCpu) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<double> special{std::nan(""), kInfinity, -kInfinity, -1.5,  -0.0,  2.7,  1e10, -1e10,
                                    1e20,         -1e20,     65504,      65519, 65520, 6e-8, 1e-40};
  Tensor x = empty({static_cast<std::int64_t>(special.size())}, DType::Float64);
  std::copy(special.begin(), special.end(), x.data<double>());
  for (const DType to : kAll) EXPECT_TRUE(agree(cast(to_device(x, kGpu), to), cast(x, to), 0)) << to;
}

TEST_F(Movement, StridedTensorsAreCopied) {
  for (const DType dtype : {DType::UInt8, DType::Int16, DType::Float32, DType::Float64}) {
    const Tensor x = sample({5, 33, 17}, dtype, 0, 100, 1);
    const Tensor turned = permute_dims(x, {2, 0, 1});
    const Tensor gpu = to_device(x, kGpu);
    const Tensor gpu_turned = permute_dims(gpu, {2, 0, 1});
    EXPECT_TRUE(agree(contiguous(gpu_turned), turned, 0)) << "on the device";
    EXPECT_TRUE(agree(to_device(gpu_turned, kCPU), turned, 0)) << "to the host";
    EXPECT_TRUE(agree(to_device(turned, kGpu), turned, 0)) << "from the host";
    EXPECT_TRUE(agree(cast(gpu_turned, DType::Int64), cast(turned, DType::Int64), 0)) << "with a cast";
  }
}

TEST_F(Movement, CopiesGoIntoStridedTensors) {
  const Tensor source = sample({17, 5}, DType::Float64, 0, 100, 1);
  for (const Device from : {kCPU, kGpu}) {
    const Tensor target = full({5, 17}, -1, DType::Float32, kGpu);
    copy_(permute_dims(target, {1, 0}), to_device(source, from));
    EXPECT_TRUE(agree(permute_dims(target, {1, 0}), cast(source, DType::Float32), 0));
  }
  const Tensor on_host = full({5, 17}, -1, DType::Float32);
  copy_(permute_dims(on_host, {1, 0}), to_device(source, kGpu));
  EXPECT_TRUE(agree(permute_dims(on_host, {1, 0}), cast(source, DType::Float32), 0));
}

TEST_F(Movement, FillsSetEveryElementAndNoOther) {
  for (const DType dtype : kAll) {
    const Tensor x = full({40, 30}, 1, dtype, kGpu);
    EXPECT_EQ(values(x), std::vector<double>(1200, 1.0)) << dtype;
    zero_(x);
    EXPECT_EQ(values(x), std::vector<double>(1200, 0.0)) << dtype;
    fill_(make_view(x, Dims{40, 10}, Dims{30, 3}, 2), 1);
    const std::vector<double> found = values(x);
    for (std::size_t i = 0; i < found.size(); ++i) ASSERT_EQ(found[i], i % 3 == 2 ? 1 : 0) << dtype << " at " << i;
  }
}

TEST_F(Movement, EmptyTensorsAndScalars) {
  EXPECT_EQ(to_device(empty({0, 3}), kGpu).shape(), (Dims{0, 3}));
  EXPECT_EQ(values(to_device(full({}, 5, DType::Float32), kGpu)), std::vector<double>{5});
}

TEST_F(Movement, TheGradientOfATransferComesBack) {
  const Tensor x = sample({10}, DType::Float32, -1, 1, 1).set_requires_grad(true);
  const Tensor gpu = to_device(x, kGpu);
  autograd::backward(sum(gpu * gpu));
  EXPECT_TRUE(x.grad().device().is_cpu());
  EXPECT_TRUE(agree(x.grad(), x.detach() * 2));
}

}  // namespace
}  // namespace lamella::test
