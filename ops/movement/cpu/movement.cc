#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <type_traits>

#include "ops/cpu/short_rows.h"
#include "ops/cpu/stepped_rows.h"
#include "ops/cpu/tables/movement.h"
#include "ops/cpu/tile.h"
#include "ops/simd/native.h"

namespace lamella::cpu {
namespace {

/// 16 bytes moved as one element.
using Wide = simd::Native<std::uint64_t, 16>;

/// The lane type of a vector of elements T, and the number of lanes per element.
template <class T>
struct Lane {
  using type = T;
  static constexpr int kParts = 1;
};
template <>
struct Lane<Wide> {
  using type = std::uint64_t;
  static constexpr int kParts = 2;
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

/// Number of lanes in a tile's row: one cache line if a register holds it, and at most 16 registers.
template <class T>
inline constexpr int kTileLanes = std::min<int>(simd::kVectorBytes / static_cast<int>(sizeof(T)), 16);

/// Transposes a tile of kLanes rows and columns in registers. Every cache line is read once and written once, so rows a
/// power of two apart, which compete for the same cache lines, do no harm.
template <class T, int kLanes>
void transpose_tile(char* to, std::int64_t to_row, const char* from, std::int64_t from_row) {
  using V = simd::Native<typename Lane<T>::type, kLanes* static_cast<int>(sizeof(T))>;
  V rows[kLanes];
  for (int i = 0; i < kLanes; ++i) rows[i] = read<V>(from + i * from_row);
  transpose<Lane<T>::kParts>(rows);
  for (int i = 0; i < kLanes; ++i) write(to + i * to_row, rows[i]);
}

/// Copies the elements [i0, i1) x [j0, j1) of a transposition by the largest tiles that fit; the last tiles overlap
/// those before them. Returns false if none fits.
template <class T, int kLanes = kTileLanes<T>>
bool transpose_tiles(const Copy2d& c, std::int64_t i0, std::int64_t i1, std::int64_t j0, std::int64_t j1) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if constexpr (kLanes * kSize < 16 || kLanes < 2) {
    return false;
  } else {
    if (i1 - i0 < kLanes || j1 - j0 < kLanes) return transpose_tiles<T, kLanes / 2>(c, i0, i1, j0, j1);
    for (std::int64_t i = i0; i < i1; i += kLanes) {
      const std::int64_t row = std::min(i, i1 - kLanes);
      for (std::int64_t j = j0; j < j1; j += kLanes) {
        const std::int64_t column = std::min(j, j1 - kLanes);
        transpose_tile<T, kLanes>(c.to + row * c.to_outer + column * kSize, c.to_outer,
                                  c.from + row * kSize + column * c.from_inner, c.from_inner);
      }
    }
    return true;
  }
}

/// Copies between sides of which each is contiguous along the other's rows.
template <class T>
void copy_transposed(const Copy2d& c) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  constexpr std::int64_t kTile = std::max<std::int64_t>(8, 64 / kSize);
  const bool dense = c.to_inner == kSize && c.from_outer == kSize;
  for (std::int64_t j0 = 0; j0 < c.inner; j0 += kTile) {
    const std::int64_t j1 = std::min(j0 + kTile, c.inner);
    for (std::int64_t i0 = 0; i0 < c.outer; i0 += kTile) {
      const std::int64_t i1 = std::min(i0 + kTile, c.outer);
      if (dense && transpose_tiles<T>(c, i0, i1, j0, j1)) continue;
      for (std::int64_t i = i0; i < i1; ++i) {
        for (std::int64_t j = j0; j < j1; ++j) {
          write(c.to + i * c.to_outer + j * c.to_inner, read<T>(c.from + i * c.from_outer + j * c.from_inner));
        }
      }
    }
  }
}

/// Copies rows that are contiguous on both sides.
void copy_rows(const Copy2d& c, std::int64_t bytes) {
  const auto each = [c](auto copy_row) {
    char* to = c.to;
    const char* from = c.from;
    for (std::int64_t i = 0; i < c.outer; ++i, to += c.to_outer, from += c.from_outer) copy_row(to, from);
  };
  if (c.outer > 1 && bytes <= kShortRowBytes) return with_row_copy(bytes, each);
  each([&](char* to, const char* from) { std::memcpy(to, from, static_cast<std::size_t>(bytes)); });
}

constexpr std::int64_t kRowsAtOnce = 128;

/// True if a copy has fewer than `few` columns, and rows so close together that kRowsAtOnce of them stay in the L1
/// cache.
bool has_columns(const Copy2d& c, std::int64_t few) {
  constexpr std::int64_t kNear = 256;  // bytes
  return c.inner < few && c.outer >= 8 && std::abs(c.to_outer) <= kNear && std::abs(c.from_outer) <= kNear;
}

template <class T>
void copy_apart(char* to, std::int64_t to_step, const char* from, std::int64_t from_step, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i, to += to_step, from += from_step) write(to, read<T>(from));
}

/// Copies column by column: a loop along a short row would cost more to start than to run.
template <class T>
void copy_columns(const Copy2d& c) {
  for (std::int64_t first = 0; first < c.outer; first += kRowsAtOnce) {
    char* const to = c.to + first * c.to_outer;
    const char* const from = c.from + first * c.from_outer;
    const std::int64_t rows = std::min(kRowsAtOnce, c.outer - first);
    for (std::int64_t j = 0; j < c.inner; ++j)
      copy_apart<T>(to + j * c.to_inner, c.to_outer, from + j * c.from_inner, c.from_outer, rows);
  }
}

/// Sets n (at least one) adjacent elements by whole vectors; the last one may overlap the one before it.
template <class T, int kBytes = simd::kVectorBytes>
void fill_line(char* to, std::int64_t n, T value) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if constexpr (kBytes < 2 * kSize || kBytes < 16) {
    for (std::int64_t j = 0; j < n; ++j) write(to + j * kSize, value);
  } else {
    constexpr std::int64_t kLanes = kBytes / kSize;
    if (n < kLanes) return fill_line<T, kBytes / 2>(to, n, value);
    const auto values = simd::splat<simd::Native<T, kBytes>>(value);
    for (std::int64_t j = 0; j < n - kLanes; j += kLanes) write(to + j * kSize, values);
    write(to + (n - kLanes) * kSize, values);
  }
}

template <class T>
void fill_row(char* to, std::int64_t step, std::int64_t n, T value) {
  if constexpr (!std::is_same_v<T, Wide>) {
    if (step == static_cast<std::int64_t>(sizeof(T)) && n > 0) return fill_line(to, n, value);
  }
  for (std::int64_t j = 0; j < n; ++j) write(to + j * step, value);
}

template <class T>
void copy(const Copy2d& c) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (c.to_inner == kSize && c.from_inner == kSize) {
    copy_rows(c, c.inner * kSize);
  } else if (has_columns(c, 8)) {
    copy_columns<T>(c);
  } else if (c.from_inner == 0) {
    for (std::int64_t i = 0; i < c.outer; ++i) {
      fill_row(c.to + i * c.to_outer, c.to_inner, c.inner, read<T>(c.from + i * c.from_outer));
    }
  } else if (c.to_inner == kSize && c.from_inner == -kSize) {
    for (std::int64_t i = 0; i < c.outer; ++i)
      copy_backwards<T>(c.to + i * c.to_outer, c.from + i * c.from_outer, c.inner);
  } else if (sizeof(T) <= 8 && c.to_inner == kSize && c.from_inner == 2 * kSize && c.inner > 1) {
    if constexpr (!std::is_same_v<T, Wide>) {
      for (std::int64_t i = 0; i < c.outer; ++i)
        copy_every_second<T>(c.to + i * c.to_outer, c.from + i * c.from_outer, c.inner);
    }
  } else if (c.outer >= 4 && c.inner >= 4 && (c.from_outer == kSize || c.to_outer == kSize)) {
    copy_transposed<T>(c);
  } else if (has_columns(c, 32)) {
    copy_columns<T>(c);
  } else {
    for (std::int64_t i = 0; i < c.outer; ++i)
      copy_apart<T>(c.to + i * c.to_outer, c.to_inner, c.from + i * c.from_outer, c.from_inner, c.inner);
  }
}

template <class T>
void interleave(const char* first, const char* second, char* to, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  constexpr int kLanes = simd::kVectorBytes / static_cast<int>(kSize);
  using V = simd::Native<T>;
  std::int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const V a = read<V>(first + i * kSize);
    const V b = read<V>(second + i * kSize);
    [&]<int... I>(std::integer_sequence<int, I...>) {
      write(to + 2 * i * kSize, __builtin_shufflevector(a, b, (I / 2 + I % 2 * kLanes)...));
      write(to + (2 * i + kLanes) * kSize, __builtin_shufflevector(a, b, ((kLanes + I) / 2 + I % 2 * kLanes)...));
    }(std::make_integer_sequence<int, kLanes>());
  }
  for (; i < n; ++i) {
    write(to + 2 * i * kSize, read<T>(first + i * kSize));
    write(to + (2 * i + 1) * kSize, read<T>(second + i * kSize));
  }
}

template <class T>
void fill(const Copy2d& c) {
  const T value = read<T>(c.from);
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  const std::int64_t bytes = c.inner * kSize;
  if (c.outer > 1 && c.to_inner == kSize && bytes <= kShortRowBytes) {
    char row[kShortRowBytes];
    fill_row(row, kSize, c.inner, value);
    return copy_rows({.to = c.to, .from = row, .outer = c.outer, .to_outer = c.to_outer}, bytes);
  }
  for (std::int64_t i = 0; i < c.outer; ++i) fill_row(c.to + i * c.to_outer, c.to_inner, c.inner, value);
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
  kernels.interleave[0] = interleave<std::uint32_t>;
  kernels.interleave[1] = interleave<std::uint64_t>;
  fill_casts(kernels);
}

}  // namespace lamella::cpu
