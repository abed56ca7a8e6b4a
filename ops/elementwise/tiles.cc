#include "ops/elementwise/tiles.h"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <utility>

#include "engine/runtime/parallel.h"
#include "ops/runtime/cpu_loader.h"

namespace lamella {
namespace {

constexpr std::int64_t kFewest = 4;         // rows and columns that are worth moving
constexpr std::int64_t kLine = 64;          // bytes of a cache line
constexpr std::int64_t kTileBytes = 16384;  // bytes of a tile, over all operands that are moved
constexpr std::int64_t kColumns = 64;       // columns of a tile: a multiple of this

bool is_transposed(std::int64_t inner, std::int64_t outer) { return outer == 1 && std::abs(inner) >= kFewest; }

/// The properties common to all tiles of a loop.
class Tiles {
 public:
  Tiles(const Loop& whole, const StridedLoop& all, const ElementSizes& sizes)
      : whole_(whole), all_(all), sizes_(sizes) {
    // With short rows every operand is moved, so that the rows of a tile join to one.
    const bool has_short_rows = whole.inner * sizes.out < kLine;
    std::int64_t bytes = 0;
    std::int64_t widest = 1;
    for (int k = 0; k < all.operands; ++k) {
      const bool dense = whole.in_inner[k] == 1 && whole.in_outer[k] == whole.inner;
      moves_[k] = is_transposed(whole.in_inner[k], whole.in_outer[k]) || (has_short_rows && !dense);
      if (!moves_[k]) continue;
      bytes += sizes.in[k];
      widest = std::max(widest, sizes.in[k]);
    }
    // A tile's rows cover whole cache lines of the moved operands; it has as many columns as fit, and more rows if the
    // columns are few.
    const std::int64_t room = kTileBytes / std::max(bytes, widest);
    const std::int64_t line = kLine / widest;
    columns_ = std::min(whole.inner, std::max(room / line / kColumns, std::int64_t{1}) * kColumns);
    rows_ = room / columns_;
    if (rows_ > line) rows_ -= rows_ % line;
    rows_ = std::min(whole.outer, rows_);
    down_ = (whole.outer + rows_ - 1) / rows_;
    across_ = (whole.inner + columns_ - 1) / columns_;
    count_ = down_ * across_;
    for (int axis = 0; axis < all.axes - 2; ++axis) count_ *= all.sizes[axis];
  }

  std::int64_t count() const { return count_; }
  std::int64_t elements() const { return rows_ * columns_; }

  void run(LoopKernel kernel, std::int64_t number) const {
    Loop tile = whole_;
    const std::int64_t column = number % across_ * columns_;
    number /= across_;
    const std::int64_t row = number % down_ * rows_;
    number /= down_;
    const int last = all_.axes - 1;
    tile.outer = std::min(rows_, whole_.outer - row);
    tile.inner = std::min(columns_, whole_.inner - column);
    move_by(tile, last - 1, row);
    move_by(tile, last, column);
    for (int axis = last - 2; axis >= 0; --axis) {
      move_by(tile, axis, number % all_.sizes[axis]);
      number /= all_.sizes[axis];
    }
    alignas(kLine) char moved[kTileBytes + StridedLoop::kMaxOperands * kLine];
    char* to = moved;
    for (int k = 0; k < all_.operands; ++k) {
      if (!moves_[k]) continue;
      const std::int64_t size = sizes_.in[k];
      cpu_kernels().movement.copy[std::countr_zero(static_cast<std::size_t>(size))](
          {.to = to,
           .from = tile.in[k],
           .outer = tile.outer,
           .inner = tile.inner,
           .to_outer = tile.inner * size,
           .to_inner = size,
           .from_outer = tile.in_outer[k] * size,
           .from_inner = tile.in_inner[k] * size});
      tile.in[k] = to;
      tile.in_inner[k] = 1;
      tile.in_outer[k] = tile.inner;
      to += (tile.outer * tile.inner * size + kLine - 1) / kLine * kLine;
    }
    join_rows(tile);
    kernel(tile);
  }

 private:
  void move_by(Loop& tile, int axis, std::int64_t steps) const {
    tile.out += steps * all_.out_strides[axis] * sizes_.out;
    for (int k = 0; k < all_.operands; ++k) tile.in[k] += steps * all_.in_strides[k][axis] * sizes_.in[k];
  }

  /// Merges all rows of a tile into one if every operand is dense.
  void join_rows(Loop& tile) const {
    bool joins = tile.out_outer == tile.out_inner * tile.inner;
    for (int k = 0; k < all_.operands; ++k) joins &= tile.in_outer[k] == tile.in_inner[k] * tile.inner;
    if (!joins) return;
    tile.inner *= std::exchange(tile.outer, 1);
  }

  const Loop& whole_;
  const StridedLoop& all_;
  const ElementSizes& sizes_;
  bool moves_[StridedLoop::kMaxOperands] = {};
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t down_ = 0;    ///< number of tiles along the rows' axis
  std::int64_t across_ = 0;  ///< number of tiles along the columns' axis
  std::int64_t count_ = 0;
};

}  // namespace

Loop inner_loop(const StridedLoop& all) {
  Loop loop;
  const int last = all.axes - 1;
  loop.inner = all.sizes[last];
  loop.outer = last > 0 ? all.sizes[last - 1] : 1;
  loop.out = all.out;
  loop.out_inner = all.out_strides[last];
  loop.out_outer = last > 0 ? all.out_strides[last - 1] : 0;
  for (int k = 0; k < all.operands; ++k) {
    loop.in[k] = all.in[k];
    loop.in_inner[k] = all.in_strides[k][last];
    loop.in_outer[k] = last > 0 ? all.in_strides[k][last - 1] : 0;
  }
  return loop;
}

bool find_transposed(StridedLoop& loop, std::int64_t out_size) {
  const int last = loop.axes - 1;
  if (last < 1 || loop.sizes[last] < kFewest) return false;
  const bool has_short_rows = loop.sizes[last] * out_size < kLine;
  for (int k = 0; k < loop.operands; ++k) {
    for (int axis = last - 1; axis >= 0; --axis) {
      if (loop.sizes[axis] < kFewest || !is_transposed(loop.in_strides[k][last], loop.in_strides[k][axis])) continue;
      if (has_short_rows && loop.out_strides[axis] != loop.sizes[last] * loop.out_strides[last]) continue;
      std::swap(loop.sizes[axis], loop.sizes[last - 1]);
      std::swap(loop.out_strides[axis], loop.out_strides[last - 1]);
      for (int i = 0; i < loop.operands; ++i) std::swap(loop.in_strides[i][axis], loop.in_strides[i][last - 1]);
      return true;
    }
  }
  return false;
}

void run_tiles(LoopKernel kernel, const Loop& whole, const StridedLoop& all, const ElementSizes& sizes) {
  const Tiles tiles(whole, all, sizes);
  parallel_for(0, tiles.count(), even_grain(tiles.count(), tiles.elements()),
               [&](std::int64_t begin, std::int64_t end) {
                 for (std::int64_t i = begin; i < end; ++i) tiles.run(kernel, i);
               });
}

}  // namespace lamella
