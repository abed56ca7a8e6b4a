#include "ops/movement/cuda/kernels.h"

#include <bit>
#include <cstring>

#include "engine/runtime/cuda/launch.h"
#include "ops/cuda/any_dtype.h"
#include "ops/cuda/pack.h"
#include "ops/cuda/strided.h"

namespace lamella::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kPerThread = 4;

struct MoveArgs {
  std::uint32_t elements;
  char* out;
  const char* in;
  StridedIndex<2> index;
};

MoveArgs make_args(const StridedLoop& loop) {
  return {static_cast<std::uint32_t>(loop.elements), loop.out, loop.operands > 0 ? loop.in[0] : nullptr,
          make_index<2>(loop)};
}

std::uint32_t block_count(std::uint32_t elements) {
  return (elements + kThreads * kPerThread - 1) / (kThreads * kPerThread);
}

/// Calls f(i) for this thread's elements; neighboring threads have neighboring elements.
template <class F>
__device__ void for_each_element(std::uint32_t elements, F&& f) {
  const std::uint32_t first = blockIdx.x * (kThreads * kPerThread) + threadIdx.x;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const std::uint32_t i = first + k * kThreads;
    if (i < elements) f(i);
  }
}

template <class W>
__global__ void __launch_bounds__(kThreads) copy_kernel(const __grid_constant__ MoveArgs args) {
  for_each_element(args.elements, [&](std::uint32_t i) {
    std::int64_t offsets[2];
    args.index.locate(i, offsets);
    reinterpret_cast<W*>(args.out)[offsets[0]] = reinterpret_cast<const W*>(args.in)[offsets[1]];
  });
}

template <class W>
__global__ void __launch_bounds__(kThreads) fill_kernel(const __grid_constant__ MoveArgs args, const W value) {
  for_each_element(args.elements, [&](std::uint32_t i) {
    std::int64_t offsets[1];
    args.index.locate(i, offsets);
    reinterpret_cast<W*>(args.out)[offsets[0]] = value;
  });
}

template <class To>
__global__ void __launch_bounds__(kThreads) cast_kernel(const __grid_constant__ MoveArgs args, const DType from) {
  for_each_element(args.elements, [&](std::uint32_t i) {
    std::int64_t offsets[2];
    args.index.locate(i, offsets);
    read_element<AnyDType>(from, args.in, offsets[1],
                           [&](auto value) { reinterpret_cast<To*>(args.out)[offsets[0]] = convert<To>(value); });
  });
}

/// Bytes that are a kernel's argument.
template <std::size_t kBytes>
struct Bytes {
  unsigned char at[kBytes];
};

template <std::size_t kBytes>
__global__ void __launch_bounds__(kThreads)
    write_kernel(unsigned char* to, unsigned count, const __grid_constant__ Bytes<kBytes> bytes) {
  for (unsigned i = threadIdx.x; i < count; i += kThreads) to[i] = bytes.at[i];
}

template <std::size_t kBytes>
void launch_write_of(void* to, const void* from, std::size_t count, cudaStream_t stream) {
  Bytes<kBytes> bytes{};
  std::memcpy(bytes.at, from, count);
  launch("copy", write_kernel<kBytes>, 1, kThreads, 0, stream, static_cast<unsigned char*>(to),
         static_cast<unsigned>(count), bytes);
}

}  // namespace

void launch_copy(const StridedLoop& loop, int item_bytes, cudaStream_t stream) {
  for_each_part(loop, item_bytes, &item_bytes, [&](const StridedLoop& part) {
    const MoveArgs args = make_args(part);
    visit_word(static_cast<std::size_t>(item_bytes), [&]<class W>() {
      launch("copy", copy_kernel<W>, block_count(args.elements), kThreads, 0, stream, args);
    });
  });
}

void launch_cast(const StridedLoop& loop, DType to, DType from, cudaStream_t stream) {
  const int to_bytes = static_cast<int>(item_size(to));
  const int from_bytes = static_cast<int>(item_size(from));
  for_each_part(loop, to_bytes, &from_bytes, [&](const StridedLoop& part) {
    const MoveArgs args = make_args(part);
    visit<AnyDType>(to, "cast", [&]<class To>() {
      launch("cast", cast_kernel<To>, block_count(args.elements), kThreads, 0, stream, args, from);
    });
  });
}

void launch_fill(const StridedLoop& loop, int item_bytes, const void* value, cudaStream_t stream) {
  for_each_part(loop, item_bytes, nullptr, [&](const StridedLoop& part) {
    const MoveArgs args = make_args(part);
    visit_word(static_cast<std::size_t>(item_bytes), [&]<class W>() {
      W word;
      std::memcpy(&word, value, sizeof word);
      launch("fill", fill_kernel<W>, block_count(args.elements), kThreads, 0, stream, args, word);
    });
  });
}

void launch_write(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  constexpr std::size_t kFew = 64;
  if (bytes <= kFew) {
    launch_write_of<kFew>(to, from, bytes, stream);
  } else {
    launch_write_of<kMostWritten>(to, from, bytes, stream);
  }
}

}  // namespace lamella::cuda
