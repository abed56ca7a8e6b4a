#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>
#include <thread>
#include <vector>

#include "tests/cuda/emulation/runtime/settings.h"
#include "tests/cuda/emulation/runtime/streams.h"

extern "C" void lamella_emulation_forgive();

namespace {

template <class... P, class... A>
cudaError_t launch(void (*kernel)(P...), dim3 grid, dim3 block, cudaStream_t stream, A... given) {
  const auto call = [&](P... arguments) {
    void* addresses[sizeof...(P) + 1] = {&arguments...};
    return cudaLaunchKernel(kernel, grid, block, addresses, 0, stream);
  };
  return call(given...);
}

/// Device memory of n elements, freed at the end.
template <class T>
struct OnDevice {
  T* data = nullptr;
  std::size_t count;

  explicit OnDevice(std::size_t n) : count(n) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data), n * sizeof(T)), cudaSuccess);
  }
  explicit OnDevice(const std::vector<T>& values) : OnDevice(values.size()) {
    EXPECT_EQ(cudaMemcpy(data, values.data(), count * sizeof(T), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~OnDevice() { cudaFree(data); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  std::vector<T> values() const {
    std::vector<T> result(count);
    EXPECT_EQ(cudaMemcpy(result.data(), data, count * sizeof(T), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }
};

/// Restores the settings, and forgets errors.
class Emulation : public ::testing::Test {
 protected:
  void TearDown() override {
    emulation::settings() = before_;
    lamella_emulation_forgive();
  }

 private:
  emulation::Settings before_ = emulation::settings();
};

__global__ void count_kernel(int* out) {
  const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
  const unsigned thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads = blockDim.x * blockDim.y * blockDim.z;
  out[block * threads + thread] += static_cast<int>(block * 1000 + thread);
}

TEST_F(Emulation, EveryThreadRunsOnce) {
  const OnDevice<int> out(std::vector<int>(12 * 60, 0));
  EXPECT_EQ(launch(count_kernel, dim3(2, 3, 2), dim3(5, 4, 3), nullptr, out.data), cudaSuccess);
  const std::vector<int> found = out.values();
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_EQ(found[i], static_cast<int>(i / 60 * 1000 + i % 60));
}

__global__ void reverse_kernel(const int* in, int* out) {
  __shared__ int shared[256];
  shared[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

TEST_F(Emulation, CapturedWorkIsRepeatedByEachLaunch) {
  const OnDevice<int> in(std::vector<int>(64, 1));
  const OnDevice<int> out(std::vector<int>(64, 0));
  cudaStream_t stream = nullptr, other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreate(&event), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaEventRecord(event, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamWaitEvent(other, event), cudaSuccess);
  EXPECT_EQ(launch(reverse_kernel, 1, 64, other, in.data, out.data), cudaSuccess);
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  EXPECT_EQ(cudaStreamIsCapturing(other, &status), cudaSuccess);
  EXPECT_EQ(status, cudaStreamCaptureStatusActive);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  EXPECT_EQ(out.values()[0], 0);
  cudaGraphExec_t exec = nullptr;
  ASSERT_EQ(cudaGraphInstantiate(&exec, graph, 0), cudaSuccess);
  EXPECT_EQ(cudaGraphLaunch(exec, stream), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  EXPECT_EQ(out.values()[0], 1);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaEventDestroy(event);
  cudaStreamDestroy(other);
  cudaStreamDestroy(stream);
}

TEST_F(Emulation, WaitingForCapturedWorkEndsTheCapture) {
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaSuccess);
  EXPECT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed), cudaErrorIllegalState);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorStreamCaptureUnsupported);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaErrorStreamCaptureUnsupported);
  cudaGraph_t graph = nullptr;
  EXPECT_EQ(cudaStreamEndCapture(stream, &graph), cudaErrorStreamCaptureInvalidated);
  EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
  cudaStreamDestroy(stream);
}

__global__ void racing_reverse_kernel(const int* in, int* out) {
  __shared__ int shared[256];
  shared[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = shared[blockDim.x - 1 - threadIdx.x];
}

TEST_F(Emulation, BarriersOrderSharedMemory) {
  std::vector<int> given(256);
  std::iota(given.begin(), given.end(), 0);
  const OnDevice<int> in(given);
  const OnDevice<int> out(256);
  emulation::settings().races = true;
  EXPECT_EQ(launch(reverse_kernel, dim3(1), dim3(256), nullptr, in.data, out.data), cudaSuccess);
  EXPECT_EQ(out.values(), std::vector<int>(given.rbegin(), given.rend()));
}

TEST_F(Emulation, ARaceIsFound) {
  std::vector<int> given(256);
  std::iota(given.begin(), given.end(), 0);
  const OnDevice<int> in(given);
  const OnDevice<int> out(256);
  emulation::settings().races = true;
  static_cast<void>(launch(racing_reverse_kernel, dim3(1), dim3(256), nullptr, in.data, out.data));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

__global__ void fill_kernel(float* out, int n, float value) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < n) out[i] = value;
}

TEST_F(Emulation, TheHostCannotReadDeviceMemory) {
  const OnDevice<float> x(10);
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile float*>(x.data)), "the host touches device memory");
}

TEST_F(Emulation, AWriteBehindTheEndIsAnErrorThatStays) {
  for (const int past : {1, 5000}) {  // in the last page, and behind it
    const OnDevice<float> x(10);
    EXPECT_EQ(launch(fill_kernel, dim3(200), dim3(32), nullptr, x.data, 10 + past, 1.0f), cudaSuccess);
    EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
    void* more = nullptr;
    EXPECT_EQ(cudaMalloc(&more, 8), cudaErrorIllegalAddress);
    lamella_emulation_forgive();
  }
}

TEST_F(Emulation, AWriteToFreedMemoryIsAnError) {
  float* x = nullptr;
  ASSERT_EQ(cudaMalloc(reinterpret_cast<void**>(&x), 64), cudaSuccess);
  EXPECT_EQ(cudaFree(x), cudaSuccess);
  static_cast<void>(launch(fill_kernel, dim3(1), dim3(16), nullptr, x, 16, 1.0f));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
}

TEST_F(Emulation, MemoryOfAnotherDeviceIsOutOfReach) {
  const OnDevice<float> x(10);
  ASSERT_EQ(cudaSetDevice(1), cudaSuccess);
  static_cast<void>(launch(fill_kernel, dim3(1), dim3(16), nullptr, x.data, 10, 1.0f));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorIllegalAddress);
  lamella_emulation_forgive();
  ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
}

__global__ void scale_kernel(const float* in, float* out, int n) {
  const int i = static_cast<int>(threadIdx.x);
  if (i < n) out[i] = 2 * in[i];
}

TEST_F(Emulation, AMissingDependencyBetweenStreamsShows) {
  emulation::settings().deferred = true;
  cudaStream_t first = nullptr;
  cudaStream_t second = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking), cudaSuccess);
  ASSERT_EQ(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking), cudaSuccess);
  for (const bool ordered : {false, true}) {
    const OnDevice<float> x(16);
    const OnDevice<float> y(16);
    static_cast<void>(launch(fill_kernel, dim3(1), dim3(16), first, x.data, 16, 3.0f));
    cudaEvent_t event = nullptr;
    ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
    ASSERT_EQ(cudaEventRecord(event, first), cudaSuccess);
    if (ordered) {
      ASSERT_EQ(cudaStreamWaitEvent(second, event, 0), cudaSuccess);
    }
    static_cast<void>(launch(scale_kernel, dim3(1), dim3(16), second, x.data, y.data, 16));
    EXPECT_EQ(cudaStreamSynchronize(second), cudaSuccess);
    if (ordered) {
      EXPECT_EQ(y.values(), std::vector<float>(16, 6.0f));
    } else {
      EXPECT_TRUE(std::isnan(y.values()[0]));
    }
    EXPECT_EQ(cudaStreamSynchronize(first), cudaSuccess);
    cudaEventDestroy(event);
  }
  cudaStreamDestroy(first);
  cudaStreamDestroy(second);
}

TEST_F(Emulation, TheDefaultStreamWaitsForStreamsThatBlock) {
  emulation::settings().deferred = true;
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreate(&other), cudaSuccess);
  const OnDevice<float> x(16);
  const OnDevice<float> y(16);
  static_cast<void>(launch(fill_kernel, dim3(1), dim3(16), other, x.data, 16, 3.0f));
  static_cast<void>(launch(scale_kernel, dim3(1), dim3(16), nullptr, x.data, y.data, 16));
  EXPECT_EQ(y.values(), std::vector<float>(16, 6.0f));
  cudaStreamDestroy(other);
}

TEST_F(Emulation, DeferredWorkGoesOnWhileTheHostAsks) {
  emulation::settings().deferred = true;
  const OnDevice<float> x(16);
  static_cast<void>(launch(fill_kernel, dim3(1), dim3(16), nullptr, x.data, 16, 3.0f));
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  ASSERT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  cudaEventDestroy(event);
}

TEST_F(Emulation, WorkThatWaitsForAnotherProcessIsCalledAgain) {
  int calls = 0;
  cudaEvent_t event = nullptr;
  ASSERT_EQ(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), cudaSuccess);
  {
    const std::lock_guard guard(emulation::lock());
    const auto work = [&] { return ++calls < 3 ? cudaErrorNotReady : cudaSuccess; };
    ASSERT_EQ(emulation::enqueue(nullptr, work), cudaSuccess);
  }
  ASSERT_EQ(cudaEventRecord(event, nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaErrorNotReady);
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess);
  EXPECT_EQ(cudaEventQuery(event), cudaSuccess);
  EXPECT_EQ(calls, 3);
  cudaEventDestroy(event);
}

TEST_F(Emulation, WrongLaunchesAreErrorsThatPass) {
  const OnDevice<float> x(10);
  for (const auto& [grid, block] : {std::pair(dim3(1), dim3(1025)), std::pair(dim3(0), dim3(1)),
                                    std::pair(dim3(1, 65536), dim3(1)), std::pair(dim3(1), dim3(1, 1, 65))}) {
    EXPECT_EQ(launch(fill_kernel, grid, block, nullptr, x.data, 10, 1.0f), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaErrorInvalidConfiguration);
    EXPECT_EQ(cudaGetLastError(), cudaSuccess);
  }
  EXPECT_EQ(launch(fill_kernel, dim3(1), dim3(16), nullptr, x.data, 10, 1.0f), cudaSuccess);
}

TEST_F(Emulation, MemoryHasALimit) {
  std::size_t free = 0;
  std::size_t total = 0;
  ASSERT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  void* x = nullptr;
  EXPECT_EQ(cudaMalloc(&x, free + 1), cudaErrorMemoryAllocation);
  EXPECT_EQ(cudaGetLastError(), cudaErrorMemoryAllocation);
  std::size_t after = 0;
  EXPECT_EQ(cudaMemGetInfo(&after, &total), cudaSuccess);
  EXPECT_EQ(after, free);
}

TEST_F(Emulation, CopiesSayTheirDirection) {
  const OnDevice<float> x(4);
  float host[4] = {};
  EXPECT_EQ(cudaMemcpy(host, x.data, 16, cudaMemcpyHostToDevice), cudaErrorInvalidValue);
  EXPECT_EQ(cudaMemcpy(x.data, host, 20, cudaMemcpyHostToDevice), cudaErrorInvalidValue);  // more than there is
  EXPECT_EQ(cudaMemcpy(x.data, host, 16, cudaMemcpyDefault), cudaSuccess);
}

__global__ void warp_kernel(int* out) {
  const int lane = static_cast<int>(threadIdx.x % 32);
  int sum = lane;
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  const unsigned odd = __ballot_sync(0xffffffffu, lane % 2);
  const int below = __shfl_up_sync(0xffffffffu, lane, 1);
  const int above = __shfl_down_sync(0xffffffffu, lane, 1, 8);
  const int first = __shfl_sync(0xffffffffu, lane, 0, 16);
  if (lane == 9) {
    out[0] = sum;
    out[1] = odd == 0xaaaaaaaau;
    out[2] = below;
    out[3] = above;
    out[4] = first;
    out[5] = static_cast<int>(threadIdx.x);
  }
  atomicAdd(&out[6], 1);
}

TEST_F(Emulation, LanesExchangeValues) {
  const OnDevice<int> out(std::vector<int>(7, 0));
  EXPECT_EQ(launch(warp_kernel, dim3(1), dim3(64), nullptr, out.data), cudaSuccess);
  EXPECT_EQ(out.values(), (std::vector<int>{496, 1, 8, 10, 0, 41, 64}));
}

__global__ void divergent_kernel() {
  if (threadIdx.x == 33) {
    __syncthreads();
  } else {
    __syncwarp();
  }
}

TEST_F(Emulation, ThreadsAtDifferentBarriersAreAnError) {
  static_cast<void>(launch(divergent_kernel, dim3(1), dim3(64), nullptr));
  EXPECT_EQ(cudaDeviceSynchronize(), cudaErrorLaunchFailure);
}

TEST_F(Emulation, CallsAreCounted) {
  std::array<std::uint64_t, emulation::kCounters> before{};
  std::array<std::uint64_t, emulation::kCounters> after{};
  const OnDevice<float> x(16);
  emulation::read_counters(before.data(), emulation::kCounters);
  static_cast<void>(launch(fill_kernel, dim3(1), dim3(16), nullptr, x.data, 16, 3.0f));
  EXPECT_EQ(x.values().size(), 16u);
  emulation::read_counters(after.data(), emulation::kCounters);
  EXPECT_EQ(after[emulation::kLaunches] - before[emulation::kLaunches], 1u);
  EXPECT_EQ(after[emulation::kDeviceToHost] - before[emulation::kDeviceToHost], 1u);
  EXPECT_EQ(after[emulation::kHostToDevice] - before[emulation::kHostToDevice], 0u);
  EXPECT_EQ(after[emulation::kCopiedBytes] - before[emulation::kCopiedBytes], 64u);
  EXPECT_EQ(after[emulation::kWaits] - before[emulation::kWaits], 1u);
}

}  // namespace
