#include <algorithm>
#include <bit>

#include "engine/runtime/cuda/device_guard.h"
#include "engine/runtime/cuda/launch.h"
#include "engine/runtime/cuda/stream.h"
#include "ops/cuda/scan_lanes.h"
#include "ops/scan/cuda/operations.h"
#include "ops/support/device_kernels.h"
#include "ops/support/outer_inner.h"

// Lanes work on a row together: tile by tile, each of them scans a few neighbors, and the lanes' totals are scanned in
// shared memory. Where rows are few and long they are cut into chunks: a first kernel computes the totals of the
// chunks, and in a second one each chunk begins with the totals before it. All cuts follow from the shape, so that the
// bits of a result do not depend on the device or on what else runs.

namespace lamella::cuda {
namespace {

using cpu::Scan;

constexpr std::int64_t kPerLane = 4;         // neighbors that a lane scans at once
constexpr std::int64_t kTiles = 8;           // tiles in a chunk, unless that gives too many chunks
constexpr std::int64_t kMaxChunks = 1024;    // of a row
constexpr std::int64_t kEnoughBlocks = 512;  // with so many there are no chunks

struct ScanLaunch {
  ScanData data;
  std::int64_t rows;
  std::int64_t n;
  std::int64_t step;
  std::int64_t chunk;
  std::int64_t chunks;
  Lanes lanes;
  bool reverse;
  /// Totals of the chunks, [chunks, rows]; null if there is a single one.
  void* totals;
  /// True for the kernel that computes the totals.
  bool sums_up;
};

template <class Op>
__global__ void __launch_bounds__(kLaneThreads) scan_kernel(const __grid_constant__ ScanLaunch args) {
  using Part = typename Op::Part;
  __shared__ Part shared[kLaneThreads];
  const Place place(args.lanes);
  const std::int64_t item = std::int64_t{blockIdx.x} * args.lanes.slots() + place.slot;
  const std::int64_t row = item % args.rows;
  const std::int64_t chunk = item / args.rows;
  const std::int64_t begin = chunk * args.chunk;
  const std::int64_t end = chunk < args.chunks ? min(begin + args.chunk, args.n) : 0;
  const std::int64_t origin = row / args.step * args.n * args.step + row % args.step;
  auto* const totals = static_cast<Part*>(args.totals);
  const auto index_of = [&](std::int64_t i) { return args.reverse ? args.n - 1 - i : i; };

  Part carry = Op::identity();
  if (totals && !args.sums_up) {
    // Each lane combines a range of the chunks before this one.
    const std::int64_t share = (chunk + args.lanes.count - 1) / args.lanes.count;
    Part mine = Op::identity();
    for (std::int64_t c = place.lane * share; c < min((place.lane + 1) * share, chunk) && end > 0; ++c) {
      mine = Op::combine(mine, totals[c * args.rows + row]);
    }
    carry = scan_lanes<Op>(shared, mine, place, args.lanes.count).all;
  }
  const std::int64_t tile = args.lanes.count * kPerLane;
  for (std::int64_t first = 0; first < args.chunk; first += tile) {
    const std::int64_t at = begin + first + place.lane * kPerLane;
    Part parts[kPerLane];
#pragma unroll
    for (int k = 0; k < kPerLane; ++k) {
      const std::int64_t i = index_of(at + k);
      parts[k] = at + k < end ? Op::lift(args.data, origin + i * args.step, at + k) : Op::identity();
      if (k > 0) parts[k] = Op::combine(parts[k - 1], parts[k]);
    }
    const Scanned<Part> scanned = scan_lanes<Op>(shared, parts[kPerLane - 1], place, args.lanes.count);
    if (!args.sums_up) {
      const Part before = Op::combine(carry, scanned.before);
#pragma unroll
      for (int k = 0; k < kPerLane; ++k) {
        if (at + k >= end) continue;
        Op::write(args.data, Op::combine(before, parts[k]), origin + index_of(at + k) * args.step, origin, args.step);
      }
    }
    carry = Op::combine(carry, scanned.all);
  }
  if (args.sums_up && end > 0 && place.lane == 0) totals[chunk * args.rows + row] = carry;
}

/// Returns the launch of a scan along an axis that is not empty.
ScanLaunch make_launch(const ScanData& data, const Along& along, bool reverse) {
  ScanLaunch args;
  args.data = data;
  args.rows = along.outer * along.inner;
  args.n = along.n;
  args.step = along.inner;
  args.reverse = reverse;
  args.totals = nullptr;
  args.sums_up = false;
  args.lanes.neighbors = along.inner == 1;
  // Where neighboring threads work on different rows, 32 of them read neighboring memory.
  const auto columns = static_cast<std::uint32_t>(std::min<std::int64_t>(along.inner, 32));
  args.lanes.count = lanes_for(along.n, kLaneThreads / std::bit_ceil(columns));
  const std::int64_t tile = args.lanes.count * kPerLane;
  const std::int64_t blocks = (args.rows + args.lanes.slots() - 1) / args.lanes.slots();
  const std::int64_t least = (along.n + kMaxChunks - 1) / kMaxChunks;
  args.chunk = blocks >= kEnoughBlocks ? along.n : std::max(kTiles * tile, (least + tile - 1) / tile * tile);
  args.chunks = (along.n + args.chunk - 1) / args.chunk;
  return args;
}

template <class Op>
void run(ScanLaunch args, Device device, const char* op) {
  const cudaStream_t stream = current_stream(device);
  const auto start = [&](std::int64_t items) {
    const std::int64_t blocks = (items + args.lanes.slots() - 1) / args.lanes.slots();
    launch(op, scan_kernel<Op>, static_cast<unsigned>(blocks), kLaneThreads, 0, stream, args);
  };
  Tensor totals;
  if (args.chunks > 1) {
    const std::int64_t bytes = args.chunks * args.rows * static_cast<std::int64_t>(sizeof(typename Op::Part));
    totals = empty({bytes}, DType::UInt8, device);
    args.totals = totals.raw_data();
    args.sums_up = true;
    start((args.chunks - 1) * args.rows);
    args.sums_up = false;
  }
  start(args.chunks * args.rows);
}

void scan(Scan scan, const Tensor& x, std::int64_t axis, bool reverse, const Tensor& out, const Tensor& extremes,
          const char* op) {
  const Device device = x.device();
  const DeviceGuard guard(device);
  void* const values = extremes.defined() ? extremes.raw_data() : nullptr;
  const ScanLaunch args =
      make_launch({x.raw_data(), nullptr, out.raw_data(), values, x.dtype()}, Along(x.shape(), axis), reverse);
  switch (scan) {
    case Scan::Sum:
      return is_complex(x.dtype())    ? run<SumScan<Parts<double>>>(args, device, op)
             : is_floating(x.dtype()) ? run<SumScan<double>>(args, device, op)
                                      : run<SumScan<std::uint64_t>>(args, device, op);
    case Scan::Prod:
      return is_complex(x.dtype())    ? run<ScaledProdScan<Parts<double>>>(args, device, op)
             : is_floating(x.dtype()) ? run<ScaledProdScan<double>>(args, device, op)
                                      : run<ProdScan<std::uint64_t>>(args, device, op);
    case Scan::LogSumExp:
      return is_complex(x.dtype()) ? run<LogSumExpScan<Parts<double>>>(args, device, op)
                                   : run<LogSumExpScan<double>>(args, device, op);
    case Scan::Max:
      return run<ExtremeScan<true>>(args, device, op);
    case Scan::Min:
      return run<ExtremeScan<false>>(args, device, op);
  }
}

void recurrence(const Tensor& factors, const Tensor& addends, std::int64_t axis, bool reverse, const Tensor& out,
                const char* op) {
  const Device device = out.device();
  const DeviceGuard guard(device);
  const ScanLaunch args = make_launch({factors.raw_data(), addends.raw_data(), out.raw_data(), nullptr, out.dtype()},
                                      Along(out.shape(), axis), reverse);
  is_complex(out.dtype()) ? run<RecurrenceScan<Parts<double>>>(args, device, op)
                          : run<RecurrenceScan<double>>(args, device, op);
}

[[maybe_unused]] const bool kScanRegistered = register_kernel<&DeviceKernels::scan>(DeviceType::CUDA, scan) &&
                                              register_kernel<&DeviceKernels::recurrence>(DeviceType::CUDA, recurrence);

}  // namespace
}  // namespace lamella::cuda
