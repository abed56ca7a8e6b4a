#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"

namespace at {

namespace internal {
/// Grain of loops that do little work per element.
inline constexpr std::int64_t GRAIN_SIZE = 32768;

/// State of a range of a loop on the thread that runs it.
struct Range {
  int number = 0;
  bool inside = false;
};
inline thread_local Range range;

/// Makes the worker of a range record as the caller does, and know its number.
class RangeScope {
 public:
  RangeScope(const lamella::autograd::Modes& caller, int number, bool alone)
      : before_(range), grad_(modes().grad_enabled), inference_(modes().inference) {
    modes().grad_enabled = caller.grad_enabled;
    modes().inference = caller.inference;
    range = {number, before_.inside || !alone};
  }
  ~RangeScope() {
    modes().grad_enabled = grad_;
    modes().inference = inference_;
    range = before_;
  }
  RangeScope(const RangeScope&) = delete;
  RangeScope& operator=(const RangeScope&) = delete;

 private:
  static lamella::autograd::Modes& modes() { return lamella::autograd::modes(); }
  Range before_;
  bool grad_;
  bool inference_;
};

/// Returns the size of the ranges that a loop is cut into: one for each thread is enough.
inline std::int64_t range_size(std::int64_t begin, std::int64_t end, std::int64_t grain) {
  const std::int64_t threads = range.inside ? 1 : lamella::thread_count();
  const std::int64_t share = (end - begin + threads - 1) / threads;
  return std::max<std::int64_t>({grain, share, 1});
}
}  // namespace internal

inline int get_num_threads() { return lamella::thread_count(); }
inline void set_num_threads(int count) { lamella::set_thread_count(count); }
/// Returns the number of the range that runs, from 0 to below get_num_threads(); no other one that runs at the time has
/// it.
inline int get_thread_num() { return internal::range.number; }
inline bool in_parallel_region() { return internal::range.inside; }

/// Calls f(begin, end) for ranges that cover [begin, end), on several threads if it has more than `grain` elements.
template <class F>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const F& f) {
  const std::int64_t each = internal::range_size(begin, end, grain);
  // A copy, as the caller's own range changes what it was made of.
  const lamella::autograd::Modes caller = lamella::autograd::modes();
  lamella::parallel_for(begin, end, each, [&](std::int64_t first, std::int64_t last) {
    const internal::RangeScope scope(caller, static_cast<int>((first - begin) / each), each >= end - begin);
    f(first, last);
  });
}

/// Returns the results of f(begin, end, identity) for ranges that cover [begin, end), joined by join(a, b) in their
/// order.
template <class T, class F, class Join>
T parallel_reduce(std::int64_t begin, std::int64_t end, std::int64_t grain, const T identity, const F& f,
                  const Join& join) {
  if (begin >= end) return identity;
  const std::int64_t each = internal::range_size(begin, end, grain);
  // Of structs, as the bits of a std::vector<bool> cannot be written by several threads.
  struct Part {
    T value;
  };
  std::vector<Part> parts(static_cast<std::size_t>((end - begin + each - 1) / each), Part{identity});
  parallel_for(begin, end, grain, [&](std::int64_t first, std::int64_t last) {
    parts[static_cast<std::size_t>((first - begin) / each)].value = f(first, last, identity);
  });
  T result = identity;
  for (const Part& part : parts) result = join(result, part.value);
  return result;
}

}  // namespace at
