#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "engine/core/small_vector.h"
#include "engine/core/tensor.h"
#include "ops/cuda/accumulate.h"

namespace lamella::cuda {

/// exp(-2 pi i k / n) for all k in [0, n) as products of two factors, so that the tables of a long transform are short.
template <class T>
struct SplitTurns {
  static constexpr int kBits = 10;
  const Parts<T>* fine = nullptr;    ///< for the low bits of k
  const Parts<T>* coarse = nullptr;  ///< for the others
};

template <class T>
__device__ Parts<T> turn_at(const SplitTurns<T>& turns, std::int64_t k) {
  return turns.coarse[k >> SplitTurns<T>::kBits] * turns.fine[k & ((1 << SplitTurns<T>::kBits) - 1)];
}

/// The tables of transforms on the current stream of a device, computed there in float64 and kept for later calls on
/// that stream. They live as long as this object at least. T is float or double.
template <class T>
class FftTables {
 public:
  FftTables(Device device, const char* op) : device_(device), op_(op) {}

  Device device() const { return device_; }
  /// Returns exp(-2 pi i k / n) for k in [0, n).
  const Parts<T>* roots(std::int64_t n);
  SplitTurns<T> split(std::int64_t n);
  /// Returns exp(-pi i j^2 / n) for j in [0, n), and the transform of the conjugates as a convolution of `size` numbers
  /// takes them, computed by transform(from, to).
  std::pair<const Parts<T>*, const Parts<T>*> convolution(std::int64_t n, std::int64_t size,
                                                          const std::function<void(T*, T*)>& transform);

 private:
  enum class Kind : std::uint8_t { Roots, Chirp, Spectrum };
  Tensor table(Kind kind, std::int64_t n, std::int64_t count, std::int64_t step,
               const std::function<void(const Tensor&)>& fill);
  const Parts<T>* roots(std::int64_t n, std::int64_t count, std::int64_t step);

  Device device_;
  const char* op_;
  SmallVector<Tensor, 8> held_;
};

}  // namespace lamella::cuda
