#include <cstdint>
#include <cstring>

#include "ops/cpu/movement_table.h"

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
  constexpr std::int64_t kTile =
      64 / static_cast<std::int64_t>(sizeof(T)) < 8 ? 8 : 64 / static_cast<std::int64_t>(sizeof(T));
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
  fill_casts(kernels);
}

}  // namespace lamella::cpu
