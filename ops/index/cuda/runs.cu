#include "ops/index/cuda/runs.h"

#include <algorithm>
#include <bit>

#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cpu/tables/index_loops.h"
#include "ops/cuda/accumulate.h"
#include "ops/cuda/grid.h"
#include "ops/cuda/lanes.h"
#include "ops/support/dtypes.h"

// Note [Runs of equal rows]
// Sorting puts values that go to the same place side by side, where threads add them without atomics: atomic additions
// come in another order in each run, and a float32 sum of 2^24 ones by them no longer grows. Mostly a run has a value
// or a few, and one thread adds it. The sorted values are therefore cut, every kChunk of them, which no short run
// notices: a thread adds the values up to the next cut, so that it adds kChunk at most, however long the run. A run
// that is cut leaves a part on each side, which blocks of a second kernel join in a type of more digits. The order of
// additions depends on the places alone.

namespace lamella::cuda {
namespace {

constexpr std::int64_t kChunk = 64;
constexpr std::uint32_t kMostColumns = 32;  // per block of the second kernel
constexpr std::uint32_t kSpan = 32;         // chunks in which such a block looks for runs that are cut
constexpr std::int64_t kFewParts = 16;      // of a run, which one thread joins

/// The type in which parts of a run are joined.
template <class Sum>
struct TotalOf : std::conditional<std::is_same_v<Sum, float>, double, Sum> {};
template <class T>
struct TotalOf<Parts<T>> {
  using type = Parts<double>;
};
template <class T>
using Total = typename TotalOf<Wide<T>>::type;

template <class T>
__device__ Total<T> total_of(Wide<T> x) {
  if constexpr (kIsComplex<T>) {
    return {x.real, x.imaginary};
  } else {
    return static_cast<Total<T>>(x);
  }
}
template <class T>
__device__ Wide<T> sum_of(Total<T> x) {
  if constexpr (kIsComplex<T>) {
    using Part = decltype(Wide<T>::real);
    return {static_cast<Part>(x.real), static_cast<Part>(x.imaginary)};
  } else {
    return static_cast<Wide<T>>(x);
  }
}

/// Returns action(a, b) for an action that combines two elements.
template <class T, class Sum>
__device__ Sum combined(PickAction action, Sum a, Sum b) {
  if constexpr (!kIsComplex<T>) {
    if (action == PickAction::Max) return a != a || a > b ? a : b;
    if (action == PickAction::Min) return a != a || a < b ? a : b;
  }
  return action == PickAction::Multiply ? times(a, b) : plus(a, b);
}

template <class T>
struct RunArgs {
  PickAction action;
  bool is_new;
  const T* values;
  const std::int64_t* rows;   ///< sorted
  const std::int64_t* picks;  ///< the rows of values that go there
  std::int64_t count;
  std::int64_t width;
  T* out;
  Wide<T>* parts;  ///< of each chunk, that of a run that began before, and that of one which goes on behind it

  __device__ Wide<T> value(std::int64_t at, std::int64_t column) const {
    return widened<Wide<T>>(values[picks[at] * width + column]);
  }
  __device__ std::int64_t chunks() const { return (count + kChunk - 1) / kChunk; }
  __device__ Wide<T>& part(std::int64_t chunk, bool goes_on, std::int64_t column) const {
    return parts[(2 * chunk + (goes_on ? 1 : 0)) * width + column];
  }
  __device__ std::int64_t spans() const { return (chunks() + kSpan - 1) / kSpan; }
  /// True if a run of this row begins in front of a position.
  __device__ bool began_before(std::int64_t at, std::int64_t row) const { return at > 0 && rows[at - 1] == row; }
  /// True if the values at the begin of a chunk, which may be behind the last, go to this row.
  __device__ bool begins_with(std::int64_t chunk, std::int64_t row) const {
    return chunk * kChunk < count && rows[chunk * kChunk] == row;
  }
  /// True if a run begins in a chunk and goes on in the next one.
  __device__ bool begins_cut_run(std::int64_t chunk) const {
    const std::int64_t cut = (chunk + 1) * kChunk;
    return cut < count && rows[cut - 1] == rows[cut] && !began_before(chunk * kChunk, rows[cut]);
  }
  /// Writes the total of a run.
  __device__ void write(std::int64_t row, std::int64_t column, Total<T> total) const {
    if (row < 0) return;  // of an index that was out of range
    T& to = out[row * width + column];
    if (!is_new) total = combined<T>(action, total_of<T>(widened<Wide<T>>(to)), total);
    to = rounded<T>(sum_of<T>(total));
  }
};

/// Adds the values of runs up to the next cut, and writes what is complete.
template <class T>
__global__ void __launch_bounds__(kGridThreads) combine_kernel(const __grid_constant__ RunArgs<T> args) {
  for_each_element(args.count * args.width, [&](std::int64_t i) {
    const std::int64_t column = i % args.width;
    const std::int64_t first = i / args.width;
    const std::int64_t row = args.rows[first];
    const bool began_before = args.began_before(first, row);
    const std::int64_t chunk = first / kChunk;
    if (began_before && first != chunk * kChunk) return;
    const std::int64_t cut = min((chunk + 1) * kChunk, args.count);
    Wide<T> sum = args.value(first, column);
    std::int64_t at = first + 1;
    for (; at < cut && args.rows[at] == row; ++at) sum = combined<T>(args.action, sum, args.value(at, column));
    const bool goes_on = at == cut && cut < args.count && args.rows[cut] == row;
    if (began_before) {
      args.part(chunk, false, column) = sum;
    } else if (goes_on) {
      args.part(chunk, true, column) = sum;
    } else {
      args.write(row, column, total_of<T>(sum));
    }
  });
}

/// Returns a part of the run that begins in a chunk and goes on behind it.
template <class T>
__device__ Total<T> part_of(const RunArgs<T>& args, std::int64_t chunk, std::int64_t i, std::int64_t column) {
  return total_of<T>(args.part(chunk + i, i == 0, column));
}

/// Joins the parts of a run that has kFewParts at most, for a column; returns false if there are more.
template <class T>
__device__ bool join_few(const RunArgs<T>& args, std::int64_t chunk, std::int64_t column) {
  const std::int64_t row = args.rows[(chunk + 1) * kChunk];
  if (args.begins_with(chunk + kFewParts, row)) return false;
  if (column >= args.width) return true;
  Total<T> total = part_of(args, chunk, 0, column);
  for (std::int64_t i = 1; args.begins_with(chunk + i, row); ++i)
    total = combined<T>(args.action, total, part_of(args, chunk, i, column));
  args.write(row, column, total);
  return true;
}

/// Joins the parts of a run that has more than kFewParts, for a column of each slot. All threads of the block must call
/// it.
template <class T>
__device__ void join_many(const RunArgs<T>& args, std::int64_t chunk, std::int64_t column, Place place, Lanes lanes,
                          Total<T> (&shared)[kLaneThreads]) {
  const std::int64_t row = args.rows[(chunk + 1) * kChunk];
  // Finds the first chunk that begins with another row.
  std::int64_t end = chunk + kFewParts + 1;
  for (std::int64_t last = args.chunks(); end < last;) {
    const std::int64_t middle = (end + last) / 2;
    if (args.begins_with(middle, row)) {
      end = middle + 1;
    } else {
      last = middle;
    }
  }
  const bool valid = column < args.width;
  const std::int64_t parts = end - chunk;
  Total<T> mine{};
  if (valid && place.lane < parts) {
    mine = part_of(args, chunk, place.lane, column);
    for (std::int64_t i = place.lane + lanes.count; i < parts; i += lanes.count)
      mine = combined<T>(args.action, mine, part_of(args, chunk, i, column));
  }
  // Lanes without parts take no part in the tree: there is no element that all actions leave as it is.
  const auto count = static_cast<std::uint32_t>(min(parts, std::int64_t{lanes.count}));
  Total<T>* const all = &shared[place.slot * lanes.count];
  __syncthreads();  // an earlier run's values have been read by now
  all[place.lane] = mine;
  for (std::uint32_t half = lanes.count / 2; half > 0; half /= 2) {
    __syncthreads();
    if (place.lane < half && place.lane + half < count)
      all[place.lane] = combined<T>(args.action, all[place.lane], all[place.lane + half]);
  }
  if (valid && place.lane == 0) args.write(row, column, all[0]);
}

/// Joins the parts of each run that is cut; blocks take spans of chunks, and columns, in turn. Most runs have a few
/// parts, which a thread joins for each column; all threads join the others.
template <class T>
__global__ void __launch_bounds__(kLaneThreads)
    join_kernel(const __grid_constant__ RunArgs<T> args, std::int64_t tiles, Lanes lanes) {
  __shared__ Total<T> shared[kLaneThreads];
  __shared__ bool is_long[kSpan];
  const Place place(lanes);
  const std::uint32_t slots = lanes.slots();
  const std::int64_t items = args.spans() * tiles;
  for (std::int64_t item = blockIdx.x; item < items; item += gridDim.x) {
    const std::int64_t first_chunk = item / tiles * kSpan;
    const std::int64_t first_column = item % tiles * slots;
    __syncthreads();  // an earlier span's flags have been read by now
    for (std::uint32_t i = threadIdx.x; i < kSpan * slots; i += kLaneThreads) {
      const std::int64_t chunk = first_chunk + i / slots;
      const bool left = args.begins_cut_run(chunk) && !join_few(args, chunk, first_column + i % slots);
      if (i % slots == 0) is_long[i / slots] = left;
    }
    __syncthreads();
    for (std::uint32_t k = 0; k < kSpan; ++k) {
      if (is_long[k]) join_many(args, first_chunk + k, first_column + place.slot, place, lanes, shared);
    }
  }
}

}  // namespace

void combine_runs(PickAction action, const Tensor& values, const SortedPairs& order, std::int64_t width,
                  const Tensor& out, bool is_new, const char* op) {
  const Device device = out.device();
  const cudaStream_t stream = current_stream(device);
  const std::int64_t count = order.keys.numel();
  const std::int64_t chunks = (count + kChunk - 1) / kChunk;
  visit<AnyDType>(values.dtype(), op, [&]<class T>() {
    Tensor parts;
    if (chunks > 1)
      parts = empty({2 * chunks * width * static_cast<std::int64_t>(sizeof(Wide<T>))}, DType::UInt8, device);
    const RunArgs<T> args{.action = action,
                          .is_new = is_new,
                          .values = values.data<T>(),
                          .rows = order.keys.data<std::int64_t>(),
                          .picks = order.values.data<std::int64_t>(),
                          .count = count,
                          .width = width,
                          .out = out.data<T>(),
                          .parts = chunks > 1 ? static_cast<Wide<T>*>(parts.raw_data()) : nullptr};
    launch(op, combine_kernel<T>, grid_blocks(count * width), kGridThreads, 0, stream, args);
    if (chunks == 1) return;
    constexpr std::int64_t kMostBlocks = 1 << 16;
    const auto columns = static_cast<std::uint32_t>(std::min<std::int64_t>(kMostColumns, width));
    const Lanes lanes{kLaneThreads / std::bit_ceil(columns), false};
    const std::int64_t tiles = (width + lanes.slots() - 1) / lanes.slots();
    const std::int64_t blocks = (chunks + kSpan - 1) / kSpan * tiles;
    launch(op, join_kernel<T>, static_cast<unsigned>(std::min(blocks, kMostBlocks)), kLaneThreads, 0, stream, args,
           tiles, lanes);
  });
}

}  // namespace lamella::cuda
