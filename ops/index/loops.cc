#include "ops/index/loops.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <complex>
#include <cstring>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"

namespace lamella {
namespace {

constexpr std::int64_t kGrain = 16384;  // elements that one thread takes at a time
/// Threads share a row only where each has a good part of it: a line of the cache is the least.
constexpr std::int64_t kSharedRowBytes = 128;
constexpr std::int64_t kCheckedAtOnce = 2048;  // numbers

/// 16 bytes that are moved as one.
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
      x = static_cast<T>(static_cast<unsigned>(x) * static_cast<unsigned>(v));  // promoted to int it would overflow
    } else {
      x = static_cast<T>(x * v);
    }
  }
};
/// One of two without a branch, which the compiler would have the processor guess.
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
    x = chosen((x >= v) | (x != x), x, v);  // a NaN in x stays, one in v is taken
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

/// n elements, each side with its step.
template <class Action, class T>
void run_line(char* data, std::int64_t data_step, char* values, std::int64_t value_step, std::int64_t n) {
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (data_step == kSize && value_step == kSize) {
    if constexpr (std::is_same_v<Action, Read>) {
      std::memcpy(values, data, static_cast<std::size_t>(n * kSize));
    } else if constexpr (std::is_same_v<Action, Write>) {
      std::memmove(data, values, static_cast<std::size_t>(n * kSize));
    } else {
      T* const x = &at<T>(data);
      T* const v = &at<T>(values);
      for (std::int64_t k = 0; k < n; ++k) Action::run(x[k], v[k]);
    }
    return;
  }
  for (std::int64_t k = 0; k < n; ++k) Action::run(at<T>(data + k * data_step), at<T>(values + k * value_step));
}

/// A part of RowPicks: the picks [first, last) of one place of the outer axes, and a part of the inner axis.
struct RowPart {
  char* data;
  char* values;
  const std::int64_t* numbers;
  std::int64_t first;
  std::int64_t last;
  std::int64_t step;
  std::int64_t value_step;
  PickAxis inner;
};

template <class Action, class T>
void run_rows(const RowPart& part) {
  if (part.inner.size == 1) {
    for (std::int64_t p = part.first; p < part.last; ++p) {
      Action::run(at<T>(part.data + part.numbers[p] * part.step), at<T>(part.values + p * part.value_step));
    }
    return;
  }
  for (std::int64_t p = part.first; p < part.last; ++p) {
    run_line<Action, T>(part.data + part.numbers[p] * part.step, part.inner.data, part.values + p * part.value_step,
                        part.inner.values, part.inner.size);
  }
}

/// Whether all of some numbers lie in [0, size).
bool block_in_range(const std::int64_t* numbers, std::int64_t count, std::int64_t size) {
  // The sign bit tells of a number below 0 or above the last.
  const auto last = static_cast<std::uint64_t>(size) - 1;
  constexpr std::int64_t kLanes = 8;
  std::uint64_t signs[kLanes] = {};
  std::int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (std::int64_t k = 0; k < kLanes; ++k) {
      const auto number = static_cast<std::uint64_t>(numbers[i + k]);
      signs[k] |= number | (last - number);
    }
  }
  for (; i < count; ++i)
    signs[0] |= static_cast<std::uint64_t>(numbers[i]) | (last - static_cast<std::uint64_t>(numbers[i]));
  std::uint64_t all = 0;
  for (const std::uint64_t each : signs) all |= each;
  return (all >> 63) == 0;
}

/// A part of AlongPicks: a line of numbers.
struct AlongPart {
  char* data;
  char* values;
  const std::int64_t* numbers;
  std::int64_t step;
  PickAxis inner;
};

template <class Action, class T>
void run_along(const AlongPart& part) {
  const PickAxis& inner = part.inner;
  constexpr auto kSize = static_cast<std::int64_t>(sizeof(T));
  if (part.step == kSize && inner.data == 0 && inner.values == kSize) {
    T* const x = &at<T>(part.data);
    T* const v = &at<T>(part.values);
    for (std::int64_t k = 0; k < inner.size; ++k) Action::run(x[part.numbers[k]], v[k]);
    return;
  }
  for (std::int64_t k = 0; k < inner.size; ++k) {
    Action::run(at<T>(part.data + part.numbers[k] * part.step + k * inner.data), at<T>(part.values + k * inner.values));
  }
}

struct Kernels {
  void (*rows)(const RowPart&);
  void (*along)(const AlongPart&);
};

template <class Action, class T>
constexpr Kernels kKernels{run_rows<Action, T>, run_along<Action, T>};

template <class Action>
Kernels move_kernels(DType dtype) {
  switch (item_size(dtype)) {
    case 1:
      return kKernels<Action, std::uint8_t>;
    case 2:
      return kKernels<Action, std::uint16_t>;
    case 4:
      return kKernels<Action, std::uint32_t>;
    case 8:
      return kKernels<Action, std::uint64_t>;
    default:
      return kKernels<Action, Wide>;
  }
}

/// Sums and products of integers do not depend on their sign.
template <class Action>
Kernels arithmetic_kernels(DType dtype) {
  switch (dtype) {
    case DType::Int8:
    case DType::UInt8:
      return kKernels<Action, std::uint8_t>;
    case DType::Int16:
    case DType::UInt16:
      return kKernels<Action, std::uint16_t>;
    case DType::Int32:
    case DType::UInt32:
      return kKernels<Action, std::uint32_t>;
    case DType::Int64:
    case DType::UInt64:
      return kKernels<Action, std::uint64_t>;
    default:
      return visit < DTypeSet{DType::Float32, DType::Float64} |
             Complex > (dtype, "scatter", [&]<class T> { return kKernels<Action, T>; });
  }
}

template <class Action>
Kernels order_kernels(DType dtype) {
  // Bools are bytes of 0 and 1.
  if (dtype == DType::Bool) return kKernels<Action, std::uint8_t>;
  return visit < Integral |
         DTypeSet{DType::Float32, DType::Float64} > (dtype, "scatter", [&]<class T> { return kKernels<Action, T>; });
}

Kernels kernels_of(PickAction action, DType dtype) {
  switch (action) {
    case PickAction::Read:
      return move_kernels<Read>(dtype);
    case PickAction::Write:
      return move_kernels<Write>(dtype);
    case PickAction::Add:
      return dtype == DType::Bool ? order_kernels<Max>(dtype) : arithmetic_kernels<Add>(dtype);
    case PickAction::Multiply:
      return dtype == DType::Bool ? order_kernels<Min>(dtype) : arithmetic_kernels<Multiply>(dtype);
    case PickAction::Max:
      return order_kernels<Max>(dtype);
    default:
      return order_kernels<Min>(dtype);
  }
}

/// The axes without those of size 1, neighbors merged where all sides allow.
PickAxes merged(const PickAxes& axes) {
  PickAxes result;
  for (const PickAxis& axis : axes) {
    if (axis.size == 1) continue;
    PickAxis* const last = result.empty() ? nullptr : &result.back();
    if (last && last->data == axis.data * axis.size && last->values == axis.values * axis.size &&
        last->numbers == axis.numbers * axis.size) {
      *last = {last->size * axis.size, axis.data, axis.values, axis.numbers};
    } else {
      result.push_back(axis);
    }
  }
  return result;
}

std::int64_t product(const PickAxes& axes) {
  std::int64_t result = 1;
  for (const PickAxis& axis : axes) result *= axis.size;
  return result;
}

/// Where place number `place` of the axes lies on each side.
PickAxis offsets_at(const PickAxes& axes, std::int64_t place) {
  PickAxis at{.size = 0};
  for (std::size_t i = axes.size(); i-- > 0;) {
    const std::int64_t k = place % axes[i].size;
    place /= axes[i].size;
    at.data += k * axes[i].data;
    at.values += k * axes[i].values;
    at.numbers += k * axes[i].numbers;
  }
  return at;
}

std::int64_t grain_for(std::int64_t elements) {
  return std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(1, elements));
}

}  // namespace

void run_picks(PickAction action, DType dtype, const RowPicks& picks) {
  const Kernels kernels = kernels_of(action, dtype);
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  PickAxes outer = merged(picks.axes);
  // The innermost loop runs where the values lie densest: along an axis, or over the picks themselves.
  PickAxis inner;
  const auto densest = std::ranges::min_element(outer, {}, [](const PickAxis& a) { return std::abs(a.values); });
  if (densest != outer.end() && (picks.count == 1 || std::abs(densest->values) < std::abs(picks.value_step) ||
                                 (densest->values == 0 && densest->data == item))) {
    inner = *densest;
    outer.erase(densest);
  }
  const std::int64_t places = product(outer);
  const std::int64_t total = places * picks.count * inner.size;
  if (total == 0) return;
  const HostRelease release(total);
  const auto run = [&](std::int64_t place, std::int64_t first, std::int64_t last, std::int64_t from, std::int64_t to) {
    const PickAxis at = offsets_at(outer, place);
    kernels.rows({picks.data + at.data + from * inner.data,
                  picks.values + at.values + from * inner.values,
                  picks.numbers,
                  first,
                  last,
                  picks.step,
                  picks.value_step,
                  {to - from, inner.data, inner.values, 0}});
  };
  if (action == PickAction::Read || picks.distinct) {
    parallel_for(0, places * picks.count, grain_for(inner.size), [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t first = begin % picks.count;
        const std::int64_t last = std::min(picks.count, first + end - begin);
        run(begin / picks.count, first, last, 0, inner.size);
        begin += last - first;
      }
    });
  } else if (places > 1) {
    parallel_for(0, places, grain_for(picks.count * inner.size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t place = begin; place < end; ++place) run(place, 0, picks.count, 0, inner.size);
    });
  } else {
    const std::int64_t least = std::max(grain_for(picks.count), kSharedRowBytes / item);
    parallel_for(0, inner.size, least,
                 [&](std::int64_t begin, std::int64_t end) { run(0, 0, picks.count, begin, end); });
  }
}

bool run_picks(PickAction action, DType dtype, const AlongPicks& picks) {
  const Kernels kernels = kernels_of(action, dtype);
  const PickAxis along = picks.axes[picks.along];
  PickAxes before = merged(PickAxes(picks.axes.begin(), picks.axes.begin() + picks.along));
  PickAxes after = merged(PickAxes(picks.axes.begin() + picks.along + 1, picks.axes.end()));
  const std::int64_t total = product(before) * along.size * product(after);
  if (total == 0) return true;
  const HostRelease release(total);
  std::atomic<bool> good{true};
  // A line runs over the last axis: the one that is picked along, or one that the sides share.
  const bool shared = !after.empty();
  const PickAxis inner = shared ? after.back() : along;
  PickAxes outer = before;
  if (shared) {
    after.pop_back();
    for (const PickAxis& axis : after) outer.push_back(axis);
  }
  const std::int64_t places = product(outer);
  const std::int64_t lines = shared ? along.size : 1;
  const auto run = [&](std::int64_t place, std::int64_t first, std::int64_t last, std::int64_t from, std::int64_t to) {
    const PickAxis at = offsets_at(outer, place);
    for (std::int64_t line = first; line < last; ++line) {
      // A part of a line at a time, whose numbers are in the cache when they are read again.
      for (std::int64_t begin = from; begin < to; begin += kCheckedAtOnce) {
        const std::int64_t count = std::min(kCheckedAtOnce, to - begin);
        const std::int64_t* const numbers = picks.numbers + at.numbers + line * along.numbers + begin * inner.numbers;
        if (picks.size >= 0 && !block_in_range(numbers, count, picks.size)) {
          good.store(false, std::memory_order_relaxed);
          continue;
        }
        kernels.along({picks.data + at.data + begin * inner.data,
                       picks.values + at.values + line * along.values + begin * inner.values,
                       numbers,
                       picks.step,
                       {count, inner.data, inner.values, 0}});
      }
    }
  };
  if (action == PickAction::Read && places * lines > 1) {
    parallel_for(0, places * lines, grain_for(inner.size), [&](std::int64_t begin, std::int64_t end) {
      while (begin < end) {
        const std::int64_t first = begin % lines;
        const std::int64_t last = std::min(lines, first + end - begin);
        run(begin / lines, first, last, 0, inner.size);
        begin += last - first;
      }
    });
  } else if (places > 1) {
    parallel_for(0, places, grain_for(lines * inner.size), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t place = begin; place < end; ++place) run(place, 0, lines, 0, inner.size);
    });
  } else if (shared || action == PickAction::Read) {
    const std::int64_t least =
        std::max(grain_for(lines), kSharedRowBytes / static_cast<std::int64_t>(item_size(dtype)));
    parallel_for(0, inner.size, least, [&](std::int64_t begin, std::int64_t end) { run(0, 0, lines, begin, end); });
  } else {
    run(0, 0, lines, 0, inner.size);
  }
  return good.load(std::memory_order_relaxed);
}

void run_masked_fill(DType dtype, char* data, const char* mask, const char* value, std::int64_t count) {
  const auto fill = [&]<class T> {
    const T one = *reinterpret_cast<const T*>(value);
    T* const to = reinterpret_cast<T*>(data);
    const HostRelease release(count);
    parallel_for(0, count, 2 * kGrain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        if (mask[i]) to[i] = one;
      }
    });
  };
  switch (item_size(dtype)) {
    case 1:
      return fill.template operator()<std::uint8_t>();
    case 2:
      return fill.template operator()<std::uint16_t>();
    case 4:
      return fill.template operator()<std::uint32_t>();
    case 8:
      return fill.template operator()<std::uint64_t>();
    default:
      return fill.template operator()<Wide>();
  }
}

bool all_in_range(const std::int64_t* numbers, std::int64_t count, std::int64_t size) {
  std::atomic<bool> good{true};
  const HostRelease release(count);
  parallel_for(0, count, 2 * kGrain, [&](std::int64_t begin, std::int64_t end) {
    if (!block_in_range(numbers + begin, end - begin, size)) good.store(false, std::memory_order_relaxed);
  });
  return good.load(std::memory_order_relaxed);
}

}  // namespace lamella
