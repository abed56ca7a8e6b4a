#include "ops/fft/cuda/tables.h"

#include <map>
#include <mutex>
#include <tuple>

#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "engine/runtime/graphs.h"
#include "ops/creation/creation.h"
#include "ops/cuda/grid.h"
#include "ops/fft/turn.h"

namespace lamella::cuda {
namespace {

template <class T>
__device__ Parts<T> root_of(std::int64_t k, std::int64_t n) {
  const fft::Turn turn = fft::turn(k, n);
  return {static_cast<T>(turn.cosine), static_cast<T>(-turn.sine)};
}

/// Writes exp(-2 pi i k step / n) for k in [0, count).
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    roots_kernel(Parts<T>* to, std::int64_t n, std::int64_t count, std::int64_t step) {
  for_each_element(count, [&](std::int64_t k) { to[k] = root_of<T>(k * step, n); });
}

/// Writes exp(-pi i j^2 / n) for j in [0, n).
template <class T>
__global__ void __launch_bounds__(kGridThreads) chirp_kernel(Parts<T>* to, std::int64_t n) {
  for_each_element(n, [&](std::int64_t j) { to[j] = root_of<T>(j * j % (2 * n), 2 * n); });
}

/// Writes the conjugates of n numbers from both ends of `size` ones, and 0 between.
template <class T>
__global__ void __launch_bounds__(kGridThreads)
    wrap_kernel(const Parts<T>* chirp, Parts<T>* to, std::int64_t n, std::int64_t size) {
  for_each_element(size, [&](std::int64_t j) {
    const std::int64_t at = j < n ? j : size - j;
    to[j] = at < n ? Parts<T>{chirp[at].real, -chirp[at].imaginary} : Parts<T>{0, 0};
  });
}

template <class T>
Parts<T>* parts_of(const Tensor& x) {
  return static_cast<Parts<T>*>(x.raw_data());
}

/// The tables of all streams: those of one are ordered with the work that made and uses them. All are dropped where
/// they have more than kCapacity numbers together.
struct Cache {
  static constexpr std::int64_t kCapacity = std::int64_t{1} << 22;
  using Key = std::tuple<DType, int, cudaStream_t, int, std::int64_t, std::int64_t, std::int64_t>;

  std::mutex mutex;
  std::map<Key, Tensor> tables;
  std::int64_t held = 0;

  // Never destroyed: the driver may be gone before static objects are.
  static Cache& instance() {
    static auto* const cache = new Cache;
    return *cache;
  }
};

}  // namespace

template <class T>
Tensor FftTables<T>::table(Kind kind, std::int64_t n, std::int64_t count, std::int64_t step,
                           const std::function<void(const Tensor&)>& fill) {
  Cache& cache = Cache::instance();
  const cudaStream_t stream = current_stream(device_);
  const Cache::Key key{dtype_of<T>, device_.index, stream, static_cast<int>(kind), n, count, step};
  // A graph computes tables of its own: kept ones may go before it does, and its own are not there before it runs.
  const bool keeps = !is_capturing();
  if (keeps) {
    const std::lock_guard lock(cache.mutex);
    const auto found = cache.tables.find(key);
    if (found != cache.tables.end()) return held_.push_back(found->second), found->second;
  }
  // Made without the lock, because a spectrum needs other tables.
  Tensor made = empty({2 * count}, dtype_of<T>, device_);
  held_.push_back(made);
  fill(made);
  if (!keeps) return made;
  const std::lock_guard lock(cache.mutex);
  cache.held += count;
  if (cache.held > Cache::kCapacity) {
    cache.tables.clear();
    cache.held = count;
  }
  cache.tables.insert_or_assign(key, made);
  return made;
}

template <class T>
const Parts<T>* FftTables<T>::roots(std::int64_t n, std::int64_t count, std::int64_t step) {
  return parts_of<T>(table(Kind::Roots, n, count, step, [&](const Tensor& to) {
    launch(op_, roots_kernel<T>, grid_blocks(count), kGridThreads, 0, current_stream(device_), parts_of<T>(to), n,
           count, step);
  }));
}

template <class T>
const Parts<T>* FftTables<T>::roots(std::int64_t n) {
  return roots(n, n, 1);
}

template <class T>
SplitTurns<T> FftTables<T>::split(std::int64_t n) {
  constexpr std::int64_t kFine = 1 << SplitTurns<T>::kBits;
  return {roots(n, kFine, 1), roots(n, (n + kFine - 1) / kFine, kFine)};
}

template <class T>
std::pair<const Parts<T>*, const Parts<T>*> FftTables<T>::convolution(std::int64_t n, std::int64_t size,
                                                                      const std::function<void(T*, T*)>& transform) {
  const cudaStream_t stream = current_stream(device_);
  const Parts<T>* const chirp = parts_of<T>(table(Kind::Chirp, n, n, 1, [&](const Tensor& to) {
    launch(op_, chirp_kernel<T>, grid_blocks(n), kGridThreads, 0, stream, parts_of<T>(to), n);
  }));
  const Tensor spectrum = table(Kind::Spectrum, n, size, 1, [&](const Tensor& to) {
    const Tensor wrapped = empty({2 * size}, dtype_of<T>, device_);
    launch(op_, wrap_kernel<T>, grid_blocks(size), kGridThreads, 0, stream, chirp, parts_of<T>(wrapped), n, size);
    transform(wrapped.data<T>(), to.data<T>());
  });
  return {chirp, parts_of<T>(spectrum)};
}

template class FftTables<float>;
template class FftTables<double>;

}  // namespace lamella::cuda
