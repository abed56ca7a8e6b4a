#include <cstring>

#include "ops/cpu/movement_table.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

/// 16 bytes that are moved as one.
struct Wide {
  std::uint64_t words[2];
};

template <class T>
T read(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <class T>
void write(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

/// A transposing copy, in tiles that fit the cache lines of both sides.
template <class T>
void copy_transposed(const Copy2d& c) {
  constexpr std::int64_t kTile = 64 / static_cast<std::int64_t>(sizeof(T)) < 8 ? 8 : 64 / static_cast<std::int64_t>(sizeof(T));
  for (std::int64_t i0 = 0; i0 < c.outer; i0 += kTile) {
    const std::int64_t i1 = i0 + kTile < c.outer ? i0 + kTile : c.outer;
    for (std::int64_t j0 = 0; j0 < c.inner; j0 += kTile) {
      const std::int64_t j1 = j0 + kTile < c.inner ? j0 + kTile : c.inner;
      for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) {
          write(c.to + i * c.to_outer + j * c.to_inner, read<T>(c.from + i * c.from_outer + j * c.from_inner));
        }
      }
    }
  }
}

template <class T>
void copy(const Copy2d& c) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (c.to_inner == kSize && c.from_inner == kSize) {
    for (std::int64_t i = 0; i < c.outer; ++i) {
      std::memcpy(c.to + i * c.to_outer, c.from + i * c.from_outer, static_cast<std::size_t>(c.inner * kSize));
    }
  } else if (c.outer >= 8 && c.inner >= 8 && (c.from_outer == kSize || c.to_outer == kSize)) {
    copy_transposed<T>(c);
  } else {
    for (std::int64_t i = 0; i < c.outer; ++i) {
      char* to = c.to + i * c.to_outer;
      const char* from = c.from + i * c.from_outer;
      for (std::int64_t j = 0; j < c.inner; ++j) write(to + j * c.to_inner, read<T>(from + j * c.from_inner));
    }
  }
}

template <class T>
void fill(const Copy2d& c) {
  const T value = read<T>(c.from);
  for (std::int64_t i = 0; i < c.outer; ++i) {
    char* to = c.to + i * c.to_outer;
    if (c.to_inner == static_cast<std::int64_t>(sizeof(T))) {
      for (std::int64_t j = 0; j < c.inner; ++j) write(to + j * static_cast<std::int64_t>(sizeof(T)), value);
    } else {
      for (std::int64_t j = 0; j < c.inner; ++j) write(to + j * c.to_inner, value);
    }
  }
}

template <class T, Update kUpdate>
simd::Vec<T> updated(simd::Vec<T> x, simd::Vec<T> y) {
  if constexpr (kUpdate == Update::Add) {
    return x + y;
  } else if constexpr (kUpdate == Update::Subtract) {
    return x - y;
  } else if constexpr (kUpdate == Update::Multiply) {
    return x * y;
  } else {
    return x / y;
  }
}

template <class T, Update kUpdate>
void update(void* x_data, const void* y_data, std::int64_t y_step, std::int64_t n) {
  using V = simd::Vec<T>;
  T* x = static_cast<T*>(x_data);
  const T* y = static_cast<const T*>(y_data);
  std::int64_t i = 0;
  if (y_step == 0) {
    const V value(*y);
    for (; i + V::size <= n; i += V::size) updated<T, kUpdate>(V::load(x + i), value).store(x + i);
    if (i < n) {
      const int rest = static_cast<int>(n - i);
      updated<T, kUpdate>(V::load_partial(x + i, rest, T{1}), value).store_partial(x + i, rest);
    }
  } else {
    for (; i + V::size <= n; i += V::size) updated<T, kUpdate>(V::load(x + i), V::load(y + i)).store(x + i);
    if (i < n) {
      const int rest = static_cast<int>(n - i);
      updated<T, kUpdate>(V::load_partial(x + i, rest, T{1}), V::load_partial(y + i, rest, T{1})).store_partial(x + i, rest);
    }
  }
}

template <class T>
void fill_updates(MovementKernels& kernels) {
  constexpr auto kColumn = static_cast<std::size_t>(dtype_of<T>);
  kernels.update[static_cast<int>(Update::Add)][kColumn] = update<T, Update::Add>;
  kernels.update[static_cast<int>(Update::Subtract)][kColumn] = update<T, Update::Subtract>;
  kernels.update[static_cast<int>(Update::Multiply)][kColumn] = update<T, Update::Multiply>;
  // True division has no integer result.
  if constexpr (std::is_floating_point_v<T>) kernels.update[static_cast<int>(Update::Divide)][kColumn] = update<T, Update::Divide>;
}

}  // namespace

void fill_movement(MovementKernels& kernels) {
  kernels.copy[0] = copy<std::uint8_t>;
  kernels.copy[1] = copy<std::uint16_t>;
  kernels.copy[2] = copy<std::uint32_t>;
  kernels.copy[3] = copy<std::uint64_t>;
  kernels.copy[4] = copy<Wide>;
  kernels.fill[0] = fill<std::uint8_t>;
  kernels.fill[1] = fill<std::uint16_t>;
  kernels.fill[2] = fill<std::uint32_t>;
  kernels.fill[3] = fill<std::uint64_t>;
  kernels.fill[4] = fill<Wide>;
  fill_updates<float>(kernels);
  fill_updates<double>(kernels);
  fill_updates<std::int32_t>(kernels);
  fill_updates<std::int64_t>(kernels);
  fill_casts(kernels);
}

}  // namespace lamella::cpu
