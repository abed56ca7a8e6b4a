#pragma once

#include "engine/runtime/parallel.h"

namespace at {

/// Calls f(begin, end) for ranges that cover [begin, end), on several threads if it has more than `grain` elements.
template <class F>
void parallel_for(std::int64_t begin, std::int64_t end, std::int64_t grain, const F& f) {
  // Ranges are cut at multiples of the grain; a range for each thread is enough.
  const std::int64_t threads = lamella::thread_count();
  const std::int64_t share = (end - begin + threads - 1) / threads;
  lamella::parallel_for(begin, end, std::max<std::int64_t>({grain, share, 1}), f);
}
inline int get_num_threads() { return lamella::thread_count(); }

}  // namespace at
