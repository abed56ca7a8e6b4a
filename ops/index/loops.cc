#include "ops/index/loops.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <vector>

#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/index/long_sums.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

/// Threads share a row only if each gets a large part of it, because a cache line that two threads write moves between
/// them. Picking single elements is slower, so that smaller parts pay.
constexpr std::int64_t kSharedRowBytes = 2048;
constexpr std::int64_t kSharedLineBytes = 128;
constexpr std::int64_t kOwnRowBytes = 64;      // shorter rows are written faster than they are assigned to threads
constexpr std::int64_t kCheckedAtOnce = 2048;  // numbers that are checked before they are used
constexpr std::int64_t kShortLine = 16;        // numbers of a line that counts as short
constexpr std::int64_t kShortRow = 32;         // picks that count as few
constexpr std::int64_t kRowsAtOnce = 128;

/// 16 bytes moved as one element.
struct Wide {
  std::uint64_t words[2];
};

const cpu::IndexKernels& kernels() { return cpu_kernels().index; }

template <class Loop>
Loop loop_of(Loop loop, DType dtype) {
  return require_kernel(loop, "index", dtype);
}

/// Returns the axes without those of size 1, neighbors merged if all strides allow.
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

/// Returns the offset on each side of the index combination `place` of the axes.
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
  return std::max<std::int64_t>(1, kElementGrain / std::max<std::int64_t>(1, elements));
}

/// Returns bounds that split the numbers so that each of `threads` owns a range of rows with about the same number of
/// picks, estimated from a sample; empty if there is no such split.
std::vector<std::int64_t> row_bounds(const std::int64_t* numbers, std::int64_t count, std::int64_t threads) {
  constexpr std::int64_t kSamples = 32;  // samples per thread
  const std::int64_t samples = kSamples * threads;
  if (threads < 2 || count < samples) return {};
  std::vector<std::int64_t> sample(static_cast<std::size_t>(samples));
  for (std::int64_t i = 0; i < samples; ++i) sample[static_cast<std::size_t>(i)] = numbers[count / samples * i];
  std::ranges::sort(sample);
  std::vector<std::int64_t> bounds{std::numeric_limits<std::int64_t>::min()};
  auto begin = sample.begin();
  for (std::int64_t t = 1; t < threads; ++t) {
    bounds.push_back(sample[static_cast<std::size_t>(t * kSamples)]);
    const auto end = std::lower_bound(begin, sample.end(), bounds.back());
    if (end - begin < kSamples / 2) return {};
    begin = end;
  }
  if (sample.end() - begin > kSamples * 3 / 2) return {};
  bounds.push_back(std::numeric_limits<std::int64_t>::max());
  return bounds;
}

/// Runs a kernel that adds to rows, of which those with the `frequent` numbers receive very many addends.
void add_rows(void (*kernel)(const cpu::PickedRows&), cpu::PickedRows part, DType dtype,
              const std::vector<std::int64_t>& frequent) {
  std::vector<char*> rows;
  for (const std::int64_t number : frequent) {
    if (!part.some_rows || (number >= part.lowest && number < part.end)) rows.push_back(part.data + number * part.step);
  }
  if (rows.empty()) return kernel(part);
  const std::int64_t last = part.last;
  const std::int64_t between = picks_between(frequent.size());
  LongSums sums(dtype, std::move(rows), part.inner.size, part.inner.data);
  for (; part.first < last; part.first = part.last) {
    part.last = std::min(last, part.first + between);
    kernel(part);
    sums.collect();
  }
  sums.finish();
}

}  // namespace

void run_picks(PickAction action, DType dtype, const RowPicks& picks) {
  const auto kernel = loop_of(kernels().rows[static_cast<std::size_t>(action)][static_cast<std::size_t>(dtype)], dtype);
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  PickAxes outer = merged(picks.axes);
  // The innermost loop runs along the smallest stride of the values: along an axis, or over the picks if there are
  // many. A few picks are done for a block of rows at a time, which stay in the cache meanwhile.
  PickAxis inner;
  const auto densest = std::ranges::min_element(outer, {}, [](const PickAxis& a) { return std::abs(a.values); });
  const bool has_inner = densest != outer.end();
  const bool by_columns = has_inner && action == PickAction::Read && picks.count > 1 && picks.count <= kShortRow &&
                          densest->size > picks.count && std::abs(densest->values) > std::abs(picks.value_step) &&
                          std::abs(densest->values) <= picks.count * item;
  if (has_inner && (by_columns || picks.count == 1 || std::abs(densest->values) < std::abs(picks.value_step) ||
                    (densest->values == 0 && densest->data == item))) {
    inner = *densest;
    outer.erase(densest);
  }
  const std::int64_t places = product(outer);
  const std::int64_t total = places * picks.count * inner.size;
  if (total == 0) return;
  const HostRelease release(total);
  std::vector<std::int64_t> frequent;
  if (action == PickAction::Add && may_sum_long(dtype, picks.count)) {
    frequent = sample_positions(picks.count);
    for (std::int64_t& sample : frequent) sample = picks.numbers[sample];
    frequent = frequent_keys(std::move(frequent));
  }
  const auto run_part = [&](const cpu::PickedRows& part) {
    if (frequent.empty()) return kernel(part);
    add_rows(kernel, part, dtype, frequent);
  };
  const auto run = [&](std::int64_t place, std::int64_t first, std::int64_t last, std::int64_t from, std::int64_t to) {
    const PickAxis at = offsets_at(outer, place);
    run_part({picks.data + at.data + from * inner.data,
              picks.values + at.values + from * inner.values,
              picks.numbers,
              first,
              last,
              picks.step,
              picks.value_step,
              {to - from, inner.data, inner.values, 0},
              picks.far});
  };
  if (by_columns) {
    const std::int64_t blocks = (inner.size + kRowsAtOnce - 1) / kRowsAtOnce;
    parallel_for(0, places * blocks, grain_for(kRowsAtOnce * picks.count), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t from = i % blocks * kRowsAtOnce;
        run(i / blocks, 0, picks.count, from, std::min(from + kRowsAtOnce, inner.size));
      }
    });
  } else if (action == PickAction::Read || picks.distinct) {
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
    const std::int64_t threads = std::min<std::int64_t>(thread_count(), total / kElementGrain);
    const std::vector<std::int64_t> bounds = inner.size * item < kOwnRowBytes
                                                 ? std::vector<std::int64_t>()
                                                 : row_bounds(picks.numbers, picks.count, threads);
    if (!bounds.empty()) {
      parallel_for(0, threads, 1, [&](std::int64_t begin, std::int64_t end) {
        run_part({picks.data, picks.values, picks.numbers, 0, picks.count, picks.step, picks.value_step, inner,
                  picks.far, true, bounds[static_cast<std::size_t>(begin)], bounds[static_cast<std::size_t>(end)]});
      });
      return;
    }
    const std::int64_t least = std::max(grain_for(picks.count), kSharedRowBytes / item);
    parallel_for(0, inner.size, least,
                 [&](std::int64_t begin, std::int64_t end) { run(0, 0, picks.count, begin, end); });
  }
}

namespace {

/// Runs over short adjacent lines of the last axis: the inner loop takes one number of each line at a time.
bool run_short_lines(void (*kernel)(const cpu::PickedLine&), const AlongPicks& picks, PickAxes outer) {
  const PickAxis along = picks.axes[picks.along];
  const PickAxis lines = outer.back();
  outer.pop_back();
  std::atomic<bool> good{true};
  parallel_for(0, product(outer) * lines.size, grain_for(along.size), [&](std::int64_t begin, std::int64_t end) {
    while (begin < end) {
      const std::int64_t first = begin % lines.size;
      const std::int64_t count = std::min({kCheckedAtOnce / along.size, lines.size - first, end - begin});
      const PickAxis at = offsets_at(outer, begin / lines.size);
      const std::int64_t* const numbers = picks.numbers + at.numbers + first * lines.numbers;
      begin += count;
      if (picks.size >= 0 && !kernels().in_range(numbers, count * along.size, picks.size)) {
        good.store(false, std::memory_order_relaxed);
        continue;
      }
      for (std::int64_t k = 0; k < along.size; ++k) {
        kernel({picks.data + at.data + first * lines.data,
                picks.values + at.values + first * lines.values + k * along.values,
                numbers + k,
                picks.step,
                {count, lines.data, lines.values, along.size}});
      }
    }
  });
  return good.load(std::memory_order_relaxed);
}

/// An element of one place of the outer axes that very many picks go to: its number, and its place on the axis that
/// lines of picks run along, if that is not the picked axis.
struct FrequentElement {
  std::int64_t number;
  std::int64_t column;
};

/// Returns the elements that very many picks go to, the same for any number of threads. `at` has the offsets of the
/// outer axes, and `across` is the axis that lines run along if that is not the picked axis.
std::vector<FrequentElement> frequent_elements(const AlongPicks& picks, const PickAxis& at, const PickAxis& across) {
  const PickAxis& along = picks.axes[picks.along];
  std::vector<std::int64_t> keys = sample_positions(along.size * across.size);
  for (std::int64_t& key : keys) {
    const std::int64_t column = key % across.size;
    const std::int64_t* const number =
        picks.numbers + at.numbers + key / across.size * along.numbers + column * across.numbers;
    key = *number * across.size + column;
  }
  std::vector<FrequentElement> elements;
  for (const std::int64_t key : frequent_keys(std::move(keys)))
    elements.push_back({key / across.size, key % across.size});
  return elements;
}

}  // namespace

bool run_picks(PickAction action, DType dtype, const AlongPicks& picks) {
  const auto kernel = loop_of(kernels().line[static_cast<std::size_t>(action)][static_cast<std::size_t>(dtype)], dtype);
  const auto in_range = kernels().in_range;
  const PickAxis along = picks.axes[picks.along];
  PickAxes before = merged(PickAxes(picks.axes.begin(), picks.axes.begin() + picks.along));
  PickAxes after = merged(PickAxes(picks.axes.begin() + picks.along + 1, picks.axes.end()));
  const std::int64_t total = product(before) * along.size * product(after);
  if (total == 0) return true;
  const HostRelease release(total);
  const bool row_after_row = after.empty() && !before.empty() && before.back().size > along.size &&
                             before.back().numbers == along.size && (along.size == 1 || along.numbers == 1);
  if (row_after_row && along.size <= kShortLine && (action == PickAction::Read || before.back().data != 0))
    return run_short_lines(kernel, picks, before);
  std::atomic<bool> good{true};
  // A line runs along the last axis: either the picked axis or one that both sides share.
  const bool shared = !after.empty();
  const PickAxis inner = shared ? after.back() : along;
  PickAxes outer = before;
  if (shared) {
    after.pop_back();
    for (const PickAxis& axis : after) outer.push_back(axis);
  }
  const std::int64_t places = product(outer);
  const std::int64_t lines = shared ? along.size : 1;
  const bool may_be_long = action == PickAction::Add && may_sum_long(dtype, along.size);
  const auto run_lines = [&](const PickAxis& at, std::int64_t first, std::int64_t last, std::int64_t from,
                             std::int64_t to) {
    for (std::int64_t line = first; line < last; ++line) {
      // Processes a line in blocks, whose numbers are still in the cache after the check.
      for (std::int64_t begin = from; begin < to; begin += kCheckedAtOnce) {
        const std::int64_t count = std::min(kCheckedAtOnce, to - begin);
        const std::int64_t* const numbers = picks.numbers + at.numbers + line * along.numbers + begin * inner.numbers;
        if (picks.size >= 0 && !in_range(numbers, count, picks.size)) {
          good.store(false, std::memory_order_relaxed);
          continue;
        }
        kernel({picks.data + at.data + begin * inner.data,
                picks.values + at.values + line * along.values + begin * inner.values,
                numbers,
                picks.step,
                {count, inner.data, inner.values, 1}});
      }
    }
  };
  const auto run = [&](std::int64_t place, std::int64_t first, std::int64_t last, std::int64_t from, std::int64_t to) {
    const PickAxis at = offsets_at(outer, place);
    const PickAxis across = shared ? inner : PickAxis{};
    const std::vector<FrequentElement> frequent =
        may_be_long ? frequent_elements(picks, at, across) : std::vector<FrequentElement>();
    std::vector<char*> elements;
    for (const auto& [number, column] : frequent) {
      if (shared && (column < from || column >= to)) continue;
      elements.push_back(picks.data + at.data + number * picks.step + column * across.data);
    }
    if (elements.empty()) return run_lines(at, first, last, from, to);
    const std::int64_t between = picks_between(frequent.size() / static_cast<std::size_t>(across.size));
    LongSums sums(dtype, std::move(elements), 1, 0);
    for (std::int64_t begin = 0; begin < along.size; begin += between) {
      const std::int64_t end = std::min(begin + between, along.size);
      shared ? run_lines(at, begin, end, from, to) : run_lines(at, 0, 1, begin, end);
      sums.collect();
    }
    sums.finish();
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
        std::max(grain_for(lines), kSharedLineBytes / static_cast<std::int64_t>(item_size(dtype)));
    parallel_for(0, inner.size, least, [&](std::int64_t begin, std::int64_t end) { run(0, 0, lines, begin, end); });
  } else {
    run(0, 0, lines, 0, inner.size);
  }
  return good.load(std::memory_order_relaxed);
}

void run_last_picks(DType dtype, const char* data, const std::int64_t* numbers, char* values, std::int64_t lines,
                    std::int64_t count, std::int64_t size) {
  const auto kernel = loop_of(kernels().last[static_cast<std::size_t>(dtype)], dtype);
  const auto item = static_cast<std::int64_t>(item_size(dtype));
  const HostRelease release(lines * count);
  parallel_for(0, lines, grain_for(count), [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::int64_t> winners(static_cast<std::size_t>(size));
    for (std::int64_t line = begin; line < end; ++line) {
      // The kernel only reads `data`; the type is not const because other actions write to it.
      kernel({.data = const_cast<char*>(data) + line * size * item,
              .values = values + line * count * item,
              .numbers = numbers + line * count,
              .step = item,
              .inner = {count, 0, item, 1}},
             winners.data());
    }
  });
}

void run_masked_fill(DType dtype, char* data, const char* mask, const char* value, std::int64_t count) {
  const auto fill = [&]<class T> {
    const T one = *reinterpret_cast<const T*>(value);
    T* const to = reinterpret_cast<T*>(data);
    const HostRelease release(count);
    parallel_for(0, count, 2 * kElementGrain, [&](std::int64_t begin, std::int64_t end) {
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
  const auto in_range = kernels().in_range;
  const HostRelease release(count);
  parallel_for(0, count, 2 * kElementGrain, [&](std::int64_t begin, std::int64_t end) {
    if (!in_range(numbers + begin, end - begin, size)) good.store(false, std::memory_order_relaxed);
  });
  return good.load(std::memory_order_relaxed);
}

}  // namespace lamella
