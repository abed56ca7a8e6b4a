#include "tests/cuda/support.h"

#include <thread>

#include "engine/core/allocator.h"
#include "engine/runtime/cuda/check.h"
#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/stream.h"

namespace lamella::test {
namespace {

class Runtime : public Cuda {};

TEST_F(Runtime, FreedMemoryIsReused) {
  allocator(kGpu).empty_cache();
  void* first = nullptr;
  {
    const Tensor x = empty({1000}, DType::Float32, kGpu);
    first = x.raw_data();
  }
  const std::int64_t reserved = memory_stats(kGpu).reserved;
  const Tensor y = empty({990}, DType::Float32, kGpu);
  EXPECT_EQ(y.raw_data(), first);
  EXPECT_EQ(memory_stats(kGpu).reserved, reserved);
}

TEST_F(Runtime, StatisticsFollowTensors) {
  const std::int64_t before = memory_stats(kGpu).allocated;
  {
    const Tensor x = empty({1 << 20}, DType::Float32, kGpu);
    EXPECT_GE(memory_stats(kGpu).allocated - before, 4 << 20);
    EXPECT_GE(memory_stats(kGpu).peak_allocated, memory_stats(kGpu).allocated);
  }
  EXPECT_EQ(memory_stats(kGpu).allocated, before);
  allocator(kGpu).empty_cache();
  EXPECT_EQ(memory_stats(kGpu).reserved, memory_stats(kGpu).allocated);
}

TEST_F(Runtime, MemoryOfOneStreamIsNotGivenToAnother) {
  allocator(kGpu).empty_cache();
  const cuda::Stream stream(kGpu);
  void* first = nullptr;
  {
    const cuda::StreamGuard guard(stream);
    EXPECT_EQ(cuda::current_stream(kGpu), stream.get());
    const Tensor x = empty({1000}, DType::Float32, kGpu);
    first = x.raw_data();
  }
  EXPECT_EQ(cuda::current_stream(kGpu), nullptr);
  const Tensor y = empty({1000}, DType::Float32, kGpu);
  EXPECT_NE(y.raw_data(), first);
}

TEST_F(Runtime, WorkGoesToTheCurrentStreamOfTheThread) {
  const cuda::Stream stream(kGpu);
  const cuda::StreamGuard guard(stream);
  const Tensor x = full({1000}, 2, DType::Float32, kGpu);
  const Tensor y = x * x;
  stream.synchronize();
  EXPECT_EQ(values(y), std::vector<double>(1000, 4.0));
  cudaStream_t elsewhere = stream.get();
  std::thread([&] { elsewhere = cuda::current_stream(kGpu); }).join();
  EXPECT_EQ(elsewhere, nullptr);
}

TEST_F(Runtime, TooMuchMemoryIsAnErrorThatSaysHowMuch) {
  const std::string message =
      message_of<OutOfMemoryError>([] { static_cast<void>(empty({std::int64_t{1} << 50}, DType::UInt8, kGpu)); });
  EXPECT_NE(message.find(std::to_string(std::int64_t{1} << 50)), std::string::npos) << message;
  // The failure leaves no error behind.
  EXPECT_EQ(values(full({3}, 1, DType::Float32, kGpu)), std::vector<double>(3, 1.0));
}

TEST_F(Runtime, ErrorsCarryTheTextOfCuda) {
  const std::string message = message_of<RuntimeError>([] { cuda::check(cudaErrorInvalidValue, "test"); });
  EXPECT_NE(message.find("[test] CUDA: "), std::string::npos);
  EXPECT_NE(message.find("cudaErrorInvalidValue"), std::string::npos);
}

}  // namespace
}  // namespace lamella::test
