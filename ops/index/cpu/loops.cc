#include <algorithm>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

#include "ops/cpu/complex_product.h"
#include "ops/cpu/short_rows.h"
#include "ops/cpu/tables/index_loops.h"
#include "ops/simd/convert.h"
#include "ops/simd/vec.h"

namespace lamella::cpu {
namespace {

/// 16 bytes moved as one element.
struct Wide {
  std::uint64_t words[2];
};

struct Read {
  template <class T>
  static void run(T& x, T& v) {
    v = x;
  }
};
struct Write {
  template <class T>
  static void run(T& x, const T& v) {
    x = v;
  }
};
struct Add {
  template <class T>
  static void run(T& x, const T& v) {
    x = static_cast<T>(x + v);
  }
};
struct Multiply {
  template <class T>
  static void run(T& x, const T& v) {
    if constexpr (std::is_integral_v<T> && sizeof(T) < sizeof(unsigned)) {
      x = static_cast<T>(static_cast<unsigned>(x) *
                         static_cast<unsigned>(v));  // unsigned, because the product of promoted ints could overflow
    } else if constexpr (kIsComplex<T>) {
      x = complex_product(x, v);
    } else {
      x = static_cast<T>(x * v);
    }
  }
};
/// Returns a or b without a branch, which would often be mispredicted.
template <class T>
T chosen(bool first, T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    using Bits = std::conditional_t<sizeof(T) == 4, std::uint32_t, std::uint64_t>;
    const auto bits = std::bit_cast<Bits>(b);
    return std::bit_cast<T>(bits ^ ((std::bit_cast<Bits>(a) ^ bits) & (Bits{0} - Bits{first})));
  } else {
    return first ? a : b;
  }
}
struct Max {
  template <class T>
  static void run(T& x, const T& v) {
    x = chosen((x >= v) | (x != x), x, v);  // a NaN in x stays; comparison with a NaN in v is false and takes it
  }
};
struct Min {
  template <class T>
  static void run(T& x, const T& v) {
    x = chosen((x <= v) | (x != x), x, v);
  }
};

template <class T>
T& at(char* from) {
  return *reinterpret_cast<T*>(from);
}

/// Applies Action to n elements; each side has its own step.
template <class Action, class T>
void run_steps(char* data, std::int64_t data_step, char* values, std::int64_t value_step, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (data_step == kSize && value_step == kSize) {
    if constexpr (std::is_same_v<Action, Read>) {
      std::memcpy(values, data, static_cast<std::size_t>(n * kSize));
    } else if constexpr (std::is_same_v<Action, Write>) {
      std::memmove(data, values, static_cast<std::size_t>(n * kSize));
    } else {
      T* const x = &at<T>(data);
      T* const v = &at<T>(values);
      std::int64_t k = 0;
      if constexpr (std::is_same_v<Action, Add> && std::is_floating_point_v<T>) {
        // Vectorized by hand: the compiler cannot know that the two sides do not overlap.
        using V = simd::Vec<T>;
        if (n >= V::size) {
          // The last vector may overlap the one before it and is computed before that is written.
          const V last = V::load(x + n - V::size) + V::load(v + n - V::size);
          for (; k + V::size < n; k += V::size) (V::load(x + k) + V::load(v + k)).store(x + k);
          last.store(x + n - V::size);
          return;
        }
      }
      for (; k < n; ++k) Action::run(x[k], v[k]);
    }
    return;
  }
  if constexpr (std::is_same_v<Action, Read>) {
    if (data_step == 0 && value_step == kSize) {
      std::fill_n(&at<T>(values), n, at<T>(data));
      return;
    }
  }
  for (std::int64_t k = 0; k < n; ++k) Action::run(at<T>(data + k * data_step), at<T>(values + k * value_step));
}

constexpr std::int64_t kPiece = 64;         // bytes copied at once
constexpr std::int64_t kLongRow = 1 << 10;  // bytes from which a call of memcpy pays

/// Copies rows of at least kPiece bytes. The next rows are prefetched, because their addresses follow no pattern.
void copy_rows(const PickedRows& part, std::int64_t bytes) {
  constexpr std::int64_t kAhead = 8;
  for (std::int64_t p = part.first; p < part.last; ++p) {
    if (p + kAhead < part.last) {
      const char* const next = part.data + part.numbers[p + kAhead] * part.step;
      for (std::int64_t at = 0; at < bytes; at += kPiece) __builtin_prefetch(next + at);
    }
    const char* const from = part.data + part.numbers[p] * part.step;
    char* const to = part.values + p * part.value_step;
    for (std::int64_t at = 0; at + kPiece <= bytes; at += kPiece) std::memcpy(to + at, from + at, kPiece);
    // The last piece may overlap the one before it.
    if (bytes % kPiece != 0) std::memcpy(to + bytes - kPiece, from + bytes - kPiece, kPiece);
  }
}

/// Copies rows shorter than kPiece, in either direction.
template <class Action>
void copy_short_rows(const PickedRows& rows, std::int64_t bytes) {
  constexpr std::int64_t kAhead = 16;
  with_row_copy(bytes, [part = rows](auto copy_row) {
    for (std::int64_t p = part.first; p < part.last; ++p) {
      if (part.far && p + kAhead < part.last) __builtin_prefetch(part.data + part.numbers[p + kAhead] * part.step);
      char* const data = part.data + part.numbers[p] * part.step;
      char* const values = part.values + p * part.value_step;
      if constexpr (std::is_same_v<Action, Read>) {
        copy_row(values, data);
      } else {
        copy_row(data, values);
      }
    }
  });
}

template <class Action, class T>
void run_row(const PickedRows& part, std::int64_t p) {
  run_steps<Action, T>(part.data + part.numbers[p] * part.step, part.inner.data, part.values + p * part.value_step,
                       part.inner.values, part.inner.size);
}

/// Applies Action to the picks whose row is in [lowest, end). They are listed first, without a branch per pick that
/// would be mispredicted.
template <class Action, class T>
void run_some_rows(const PickedRows& part) {
  constexpr std::int64_t kAtOnce = 256;
  std::int64_t meant[kAtOnce];
  for (std::int64_t p = part.first; p < part.last;) {
    std::int64_t count = 0;
    for (const std::int64_t last = std::min(p + kAtOnce, part.last); p < last; ++p) {
      const std::int64_t number = part.numbers[p];
      meant[count] = p;
      count += (number >= part.lowest) & (number < part.end);
    }
    for (std::int64_t k = 0; k < count; ++k) run_row<Action, T>(part, meant[k]);
  }
}

template <class Action, class T>
void run_rows(const PickedRows& part) {
  if (part.some_rows) return run_some_rows<Action, T>(part);
  constexpr bool kReads = std::is_same_v<Action, Read>;
  if constexpr (kReads || std::is_same_v<Action, Write>) {
    constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
    const std::int64_t bytes = part.inner.size * kSize;
    if (part.inner.size > 1 && part.inner.data == kSize && part.inner.values == kSize) {
      if (bytes < kPiece) return copy_short_rows<Action>(part, bytes);
      if (kReads && bytes < kLongRow) return copy_rows(part, bytes);
    }
  }
  if (part.inner.size == 1) {
    constexpr std::int64_t kAhead = 32;
    std::int64_t p = part.first;
    const auto run = [&] {
      Action::run(at<T>(part.data + part.numbers[p] * part.step), at<T>(part.values + p * part.value_step));
    };
    for (; part.far && p + kAhead < part.last; ++p) {
      __builtin_prefetch(part.data + part.numbers[p + kAhead] * part.step);
      run();
    }
    for (; p < part.last; ++p) run();
    return;
  }
  for (std::int64_t p = part.first; p < part.last; ++p) run_row<Action, T>(part, p);
}

template <class Action, class T>
void run_line(const PickedLine& part) {
  const PickAxis& inner = part.inner;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (part.step == kSize && inner.data == 0 && inner.values == kSize && inner.numbers == 1) {
    T* const x = &at<T>(part.data);
    T* const v = &at<T>(part.values);
    const std::int64_t* const numbers = part.numbers;
    const std::int64_t n = inner.size;
    // Works in groups: all numbers of a group are read before anything is written.
    constexpr std::int64_t kGroup = 8;
    std::int64_t k = 0;
    for (; k + kGroup <= n; k += kGroup) {
      std::int64_t group[kGroup];
      for (std::int64_t j = 0; j < kGroup; ++j) group[j] = numbers[k + j];
      for (std::int64_t j = 0; j < kGroup; ++j) Action::run(x[group[j]], v[k + j]);
    }
    for (; k < n; ++k) Action::run(x[numbers[k]], v[k]);
    return;
  }
  char* data = part.data;
  char* value = part.values;
  const std::int64_t* number = part.numbers;
  for (std::int64_t k = 0; k < inner.size; ++k) {
    Action::run(at<T>(data + *number * part.step), at<T>(value));
    data += inner.data;
    value += inner.values;
    number += inner.numbers;
  }
}

template <class T>
void run_last(const PickedLine& part, std::int64_t* winners) {
  const T* const x = &at<T>(part.data);
  T* const v = &at<T>(part.values);
  for (std::int64_t k = 0; k < part.inner.size; ++k) winners[part.numbers[k]] = k;
  for (std::int64_t k = 0; k < part.inner.size; ++k) {
    const std::int64_t number = part.numbers[k];
    v[k] = winners[number] == k ? x[number] : T{};
  }
}

bool in_range(const std::int64_t* numbers, std::int64_t count, std::int64_t size) {
  // The sign bit is set for a number below 0 or above the last.
  const auto last = static_cast<std::uint64_t>(size) - 1;
  std::uint64_t signs = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    const auto number = static_cast<std::uint64_t>(numbers[i]);
    signs |= number | (last - number);
  }
  return (signs >> 63) == 0;
}

template <class Action, class T>
void set(IndexKernels& kernels, PickAction action, DType dtype) {
  const auto a = static_cast<std::size_t>(action);
  const auto d = static_cast<std::size_t>(dtype);
  kernels.rows[a][d] = run_rows<Action, T>;
  kernels.line[a][d] = run_line<Action, T>;
}

/// Calls f.operator()<T>(dtype) for every dtype, with a type T of its item size.
template <class F>
void for_each_moved(F&& f) {
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    switch (item_size(dtype)) {
      case 1:
        f.template operator()<std::uint8_t>(dtype);
        break;
      case 2:
        f.template operator()<std::uint16_t>(dtype);
        break;
      case 4:
        f.template operator()<std::uint32_t>(dtype);
        break;
      case 8:
        f.template operator()<std::uint64_t>(dtype);
        break;
      default:
        f.template operator()<Wide>(dtype);
    }
  }
}

/// Sums and products of integers have the same bits for signed and unsigned types.
template <class Action>
void set_arithmetic(IndexKernels& kernels, PickAction action) {
  for (const DType dtype : {DType::Int8, DType::UInt8}) set<Action, std::uint8_t>(kernels, action, dtype);
  for (const DType dtype : {DType::Int16, DType::UInt16}) set<Action, std::uint16_t>(kernels, action, dtype);
  for (const DType dtype : {DType::Int32, DType::UInt32}) set<Action, std::uint32_t>(kernels, action, dtype);
  for (const DType dtype : {DType::Int64, DType::UInt64}) set<Action, std::uint64_t>(kernels, action, dtype);
  set<Action, float>(kernels, action, DType::Float32);
  set<Action, double>(kernels, action, DType::Float64);
  set<Action, std::complex<float>>(kernels, action, DType::Complex64);
  set<Action, std::complex<double>>(kernels, action, DType::Complex128);
}

template <class Action>
void set_order(IndexKernels& kernels, PickAction action) {
  const auto fill = [&]<class... T>() { (set<Action, T>(kernels, action, dtype_of<T>), ...); };
  fill.template operator()<std::int8_t, std::int16_t, std::int32_t, std::int64_t>();
  fill.template operator()<std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>();
  fill.template operator()<float, double>();
  set<Action, std::uint8_t>(kernels, action, DType::Bool);  // a bool is a byte of 0 or 1
}

}  // namespace

void fill_index(IndexKernels& kernels) {
  for_each_moved([&]<class T>(DType dtype) {
    set<Read, T>(kernels, PickAction::Read, dtype);
    set<Write, T>(kernels, PickAction::Write, dtype);
    kernels.last[static_cast<std::size_t>(dtype)] = run_last<T>;
  });
  set_arithmetic<Add>(kernels, PickAction::Add);
  set_arithmetic<Multiply>(kernels, PickAction::Multiply);
  set_order<Max>(kernels, PickAction::Max);
  set_order<Min>(kernels, PickAction::Min);
  set<Max, std::uint8_t>(kernels, PickAction::Add, DType::Bool);
  set<Min, std::uint8_t>(kernels, PickAction::Multiply, DType::Bool);
  kernels.in_range = in_range;
}

}  // namespace lamella::cpu
