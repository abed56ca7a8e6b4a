#include "ops/elementwise/launch.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdlib>
#include <cstring>

#include "engine/core/error.h"
#include "engine/core/host.h"
#include "engine/runtime/parallel.h"
#include "ops/elementwise/tiles.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/support/caches.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

constexpr std::int64_t kFew = 32768;         // elements that do not justify a second thread
constexpr std::int64_t kPiece = 1024;        // elements; a row is split at multiples of this
constexpr std::int64_t kShortRow = 256;      // elements of the longest row that is joined with others
constexpr std::int64_t kWorthJoining = 128;  // elements of all rows that justify joining
constexpr std::int64_t kLineBytes = 4096;    // bytes of a line of joined rows
constexpr std::int64_t kWorthMoving = 128;   // bytes of the longest row that is worth copying to a line
constexpr std::int64_t kVector = 64;         // bytes of the longest vector
constexpr std::int64_t kSpread = 32;         // bytes written at once

void run_flat(LoopKernel kernel, const Loop& whole, const StridedLoop& all, const ElementSizes& sizes,
              std::int64_t work) {
  constexpr std::int64_t kApart =
      4;  // work per element if elements are not contiguous: moving them outweighs computing
  bool apart = whole.out_inner != 1;
  for (int k = 0; k < all.operands; ++k) apart |= std::abs(whole.in_inner[k]) > 1;
  parallel_for(0, whole.inner, even_grain(whole.inner, apart ? kApart : work, kPiece),
               [&](std::int64_t begin, std::int64_t end) {
                 Loop part = whole;
                 part.inner = end - begin;
                 part.out += begin * whole.out_inner * sizes.out;
                 for (int k = 0; k < all.operands; ++k) part.in[k] += begin * whole.in_inner[k] * sizes.in[k];
                 kernel(part);
               });
}

/// Repeats each of `rows` elements, `step` bytes apart, `times` times. May write up to kSpread bytes beyond the end.
template <class Word>
void spread_as(const char* from, std::int64_t step, std::int64_t rows, std::int64_t times, char* to) {
  using Words [[gnu::vector_size(kSpread)]] = Word;
  const std::int64_t width = times * static_cast<std::int64_t>(sizeof(Word));
  for (std::int64_t r = 0; r < rows; ++r, from += step, to += width) {
    Word word;
    std::memcpy(&word, from, sizeof(Word));
    const Words words = Words{} + word;
    for (std::int64_t i = 0; i < width; i += kSpread) std::memcpy(to + i, &words, kSpread);
  }
}

void spread(const char* from, std::int64_t step, std::int64_t rows, std::int64_t times, std::int64_t size, char* to) {
  switch (size) {
    case 1:
      return spread_as<std::uint8_t>(from, step, rows, times, to);
    case 2:
      return spread_as<std::uint16_t>(from, step, rows, times, to);
    case 4:
      return spread_as<std::uint32_t>(from, step, rows, times, to);
    case 8:
      return spread_as<std::uint64_t>(from, step, rows, times, to);
    default:
      for (std::int64_t i = 0; i < rows * times; ++i)
        std::memcpy(to + i * size, from + i / times * step, static_cast<std::size_t>(size));
  }
}

/// Joins short rows into lines, because starting a row costs as much as computing a few vectors. An operand is dense,
/// or one repeated row, or one element per row, or has other strides; all but dense operands are copied to lines. A
/// result that is not dense is computed into a line first.
class JoinedRows {
 public:
  JoinedRows(const Loop& rows, const StridedLoop& all, const ElementSizes& sizes, DType dtype, bool short_formula)
      : loop_(rows), operands_(all.operands), sizes_(sizes) {
    if (all.axes < 2 || rows.inner >= kShortRow || all.elements < kWorthJoining) return;
    out_apart_ = rows.out_inner != 1 || rows.out_outer != rows.inner;
    bool apart = out_apart_;
    bool side_by_side = rows.out_inner == 1;
    bool has_columns = false;
    std::int64_t widest = sizes.out;
    for (int k = 0; k < operands_; ++k) {
      way_[k] = way(rows.in_inner[k], rows.in_outer[k], rows.inner);
      has_columns |= way_[k] == Way::Column;
      if (way_[k] == Way::Apart) {
        apart = true;
        side_by_side &= rows.in_inner[k] == 1;
      }
      widest = std::max(widest, sizes.in[k]);
    }
    const bool by_vectors =
        short_formula && side_by_side && cpu::has_short_formulas(dtype) && rows.inner * widest >= kVector;
    if (apart && (by_vectors || !pays_to_move(rows.inner, widest, side_by_side, dtype))) return;
    const bool converts = rows.wide != nullptr;  // rows are converted one at a time; see Note [Narrow dtypes]
    if (has_columns && !converts && (by_vectors || !pays_for_columns(rows.inner, sizes.out, dtype))) return;
    one_by_one_ = has_columns || apart;
    rows_ = std::min(rows.outer, kLineBytes / (rows.inner * widest));
  }

  /// Computes a range of rows.
  void run(LoopKernel kernel, const Loop& rows) const {
    if (rows_ < 2) return kernel(rows);
    alignas(64) char lines[StridedLoop::kMaxOperands + 1][kLineBytes + kSpread];
    for (int k = 0; k < operands_; ++k) {
      if (way_[k] == Way::Row) repeat(k, rows.in[k], std::min(rows_, rows.outer), lines[k]);
    }
    for (std::int64_t done = 0; done < rows.outer;) {
      const std::int64_t left = rows.outer - done;
      const std::int64_t joined = std::min(left, rows_);
      const std::int64_t count = one_by_one_ ? 1 : left / joined;
      Loop line = part(rows, done, count, joined, lines);
      if (out_apart_) {
        char* const to = line.out;
        line.out = lines[operands_];
        line.out_inner = 1;
        line.streams = false;
        kernel(line);
        move_rows({.to = to,
                   .from = line.out,
                   .outer = joined,
                   .to_outer = loop_.out_outer,
                   .to_inner = loop_.out_inner,
                   .from_outer = loop_.inner,
                   .from_inner = 1},
                  sizes_.out);
      } else {
        kernel(line);
      }
      done += count * joined;
    }
  }

 private:
  enum class Way : std::uint8_t { One, Row, Column, Dense, Apart };
  using Lines = char (&)[StridedLoop::kMaxOperands + 1][kLineBytes + kSpread];

  static Way way(std::int64_t inner, std::int64_t outer, std::int64_t width) {
    if (outer == 0) return inner == 0 ? Way::One : Way::Row;
    if (inner == 0) return Way::Column;
    return inner == 1 && outer == width ? Way::Dense : Way::Apart;
  }

  /// Copies rows of the loop's width; `size` is the element size in bytes, strides are in elements.
  void move_rows(cpu::Copy2d rows, std::int64_t size) const {
    rows.inner = loop_.inner;
    for (std::int64_t* stride : {&rows.to_outer, &rows.to_inner, &rows.from_outer, &rows.from_inner}) *stride *= size;
    cpu_kernels().movement.copy[std::countr_zero(static_cast<std::size_t>(size))](rows);
  }

  /// True if rows with one element of an operand each are worth joining. Rows of whole vectors keep that element in a
  /// register instead, as all rows do under Note [Short formulas].
  static bool pays_for_columns(std::int64_t width, std::int64_t size, DType dtype) {
    if (is_complex(dtype) || width * size % kVector != 0) return width < 64;
    return !is_floating(dtype) && width * size == kVector;
  }

  /// True if strided rows are worth copying to a line. Rows of whole vectors and long rows are computed in place. The
  /// last elements of a row are masked lanes of a vector, but elements below 4 bytes would be gathered one by one,
  /// which takes longer than copying the row.
  static bool pays_to_move(std::int64_t width, std::int64_t size, bool side_by_side, DType dtype) {
    if (is_complex(dtype)) return width * size <= 4 * kWorthMoving;
    if (side_by_side && width * size % kVector == 0) return false;
    return size < 4 || width * size <= kWorthMoving;
  }

  /// Returns a loop over `count` lines of `rows` rows each, from row `begin` on.
  Loop part(Loop loop, std::int64_t begin, std::int64_t count, std::int64_t rows, Lines lines) const {
    loop.inner = loop_.inner * rows;
    loop.outer = count;
    loop.out += begin * loop_.out_outer * sizes_.out;
    loop.out_outer = loop.inner;
    for (int k = 0; k < operands_; ++k) {
      const std::int64_t size = sizes_.in[k];
      const std::int64_t step = loop_.in_outer[k] * size;
      if (way_[k] == Way::Dense) {
        loop.in[k] += begin * step;
        loop.in_outer[k] = loop.inner;
      } else if (way_[k] == Way::Column) {
        spread(loop.in[k] + begin * step, step, rows, loop_.inner, size, lines[k]);
        loop.in[k] = lines[k];
        loop.in_inner[k] = 1;
      } else if (way_[k] == Way::Apart) {
        move_rows({.to = lines[k],
                   .from = loop.in[k] + begin * step,
                   .outer = rows,
                   .to_outer = loop_.inner,
                   .to_inner = 1,
                   .from_outer = loop_.in_outer[k],
                   .from_inner = loop_.in_inner[k]},
                  size);
        loop.in[k] = lines[k];
        loop.in_inner[k] = 1;
      } else if (way_[k] == Way::Row) {
        loop.in[k] = lines[k];
        loop.in_inner[k] = 1;
      }
    }
    return loop;
  }

  /// Fills a line with `count` copies of the row at `from`.
  void repeat(int k, const char* from, std::int64_t count, char* line) const {
    const auto size = static_cast<std::size_t>(sizes_.in[k]);
    const auto width = static_cast<std::size_t>(loop_.inner) * size;
    if (loop_.in_inner[k] == 1) {
      std::memcpy(line, from, width);
    } else {
      for (std::int64_t i = 0; i < loop_.inner; ++i) {
        std::memcpy(line + static_cast<std::size_t>(i) * size,
                    from + i * loop_.in_inner[k] * static_cast<std::int64_t>(size), size);
      }
    }
    const std::size_t whole = width * static_cast<std::size_t>(count);
    for (std::size_t done = width; done < whole; done *= 2) {
      std::memcpy(line + done, line, std::min(done, whole - done));
    }
  }

  const Loop& loop_;
  int operands_;
  const ElementSizes& sizes_;
  std::int64_t rows_ = 0;
  Way way_[StridedLoop::kMaxOperands] = {};
  bool one_by_one_ = false;  ///< True if lines are made one at a time
  bool out_apart_ = false;
};

/// Runs over rows, the index combinations of all axes but the last. A part covers whole runs of rows along the second
/// last axis if possible.
void run_rows(LoopKernel kernel, const Loop& whole, const JoinedRows& joined, const StridedLoop& all,
              const ElementSizes& sizes) {
  const int outer_axes = all.axes - 2;
  std::int64_t blocks = 1;
  for (int axis = 0; axis < outer_axes; ++axis) blocks *= all.sizes[axis];
  const std::int64_t rows = blocks * whole.outer;
  parallel_for(0, rows, even_grain(rows, whole.inner), [&](std::int64_t begin, std::int64_t end) {
    std::int64_t index[StridedLoop::kMaxAxes];
    std::int64_t block = begin / whole.outer;
    for (int axis = outer_axes - 1; axis >= 0; --axis) {
      index[axis] = block % all.sizes[axis];
      block /= all.sizes[axis];
    }
    std::int64_t first = begin % whole.outer;
    while (begin < end) {
      Loop part = whole;
      part.outer = std::min(whole.outer - first, end - begin);
      std::int64_t out_offset = first * whole.out_outer;
      std::int64_t in_offset[StridedLoop::kMaxOperands];
      for (int k = 0; k < all.operands; ++k) in_offset[k] = first * whole.in_outer[k];
      for (int axis = 0; axis < outer_axes; ++axis) {
        out_offset += index[axis] * all.out_strides[axis];
        for (int k = 0; k < all.operands; ++k) in_offset[k] += index[axis] * all.in_strides[k][axis];
      }
      part.out += out_offset * sizes.out;
      for (int k = 0; k < all.operands; ++k) part.in[k] += in_offset[k] * sizes.in[k];
      joined.run(kernel, part);
      begin += part.outer;
      first = 0;
      for (int axis = outer_axes - 1; axis >= 0 && ++index[axis] == all.sizes[axis]; --axis) index[axis] = 0;
    }
  });
}

/// Returns a one-dimensional loop over operands and a result that are contiguous and of the same size.
Loop flat_loop(std::span<const Tensor* const> operands, const Tensor& out) {
  Loop loop;
  loop.inner = out.numel();
  loop.out = out->data;
  loop.out_inner = 1;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    loop.in[k] = (*operands[k])->data;
    loop.in_inner[k] = 1;
    loop.in_outer[k] = 0;
  }
  return loop;
}

/// Returns kernel `wrt` of an operator for a dtype. For a narrow dtype, also sets the members of `loop` that its
/// conversion loop reads.
LoopKernel cpu_kernel(const ElementwiseOp& op, int wrt, DType dtype, int operands, Loop& loop) {
  const cpu::ElementwiseTable& table = cpu_kernels().elementwise;
  const auto kernel_of = [&](DType of) {
    const auto column = static_cast<std::size_t>(of);
    return wrt < 0 ? table.forward[op.index][column] : table.backward[op.index][wrt][column];
  };
  if (!op.info->dtypes.contains(dtype)) no_kernel(op.info->name, dtype, kCPU);
  if (const LoopKernel own = kernel_of(dtype)) return own;
  const DType computing = cpu::computing_dtype(dtype);
  const LoopKernel kernel = computing == dtype ? nullptr : kernel_of(computing);
  if (!kernel) no_kernel(op.info->name, dtype, kCPU);
  loop.wide = kernel;
  loop.operands = operands;
  loop.mask_first = op.mask_input && (wrt < 0 || (op.reads[static_cast<std::size_t>(wrt)] & 1u));
  loop.mask_out = wrt < 0 && op.mask_output;
  return table.narrow[static_cast<std::size_t>(dtype)];
}

}  // namespace

bool has_fused_backward(const ElementwiseOp& op, int wrt) {
  return op.reads[static_cast<std::size_t>(wrt)] != 1u << (op.inputs + 1);
}

namespace {

/// Launches the kernel on the physical tensors; see Note [Batched tensors].
void launch_batched(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                    DType dtype) {
  const HiddenAxes axes = hidden_axes(pointers(out));
  std::array<Tensor, StridedLoop::kMaxOperands> shown;
  std::array<const Tensor*, StridedLoop::kMaxOperands> list;
  for (std::size_t k = 0; k < operands.size(); ++k) {
    check_room(out, *operands[k], op.info->name);
    // A single value in host memory may be combined with any device; one value per example is moved there.
    const bool moves = is_batched(*operands[k]) && operands[k]->device() != out.device();
    shown[k] = physical(moves ? to_device(*operands[k], out.device()) : *operands[k], axes, out.ndim());
    list[k] = &shown[k];
  }
  launch_elementwise(op, wrt, std::span(list.data(), operands.size()), physical(out, axes), dtype);
}

/// Returns the work per element, in units of moving an element.
std::int64_t work_of(const ElementwiseOp& op, int wrt, DType result) {
  constexpr std::size_t kWide = 8;  // bytes of an element, with half as many lanes per vector
  return !op.takes_long || wrt >= 0 ? 1 : item_size(result) < kWide ? 2 : 4;
}

void run_on_cpu(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                DType dtype) {
  const std::int64_t work = work_of(op, wrt, out.dtype());
  const std::int64_t few = kFew / work;
  StridedLoop loop = make_strided_loop(operands, out);
  const std::size_t out_size = item_size(out.dtype());
  const bool transposed = loop.elements >= kWorthJoining && find_transposed(loop, static_cast<std::int64_t>(out_size));
  Loop inner = inner_loop(loop);
  const LoopKernel kernel = cpu_kernel(op, wrt, dtype, loop.operands, inner);
  inner.streams = outgrow_caches(static_cast<std::size_t>(loop.elements) * out_size) &&
                  std::ranges::none_of(operands, [&](const Tensor* x) { return (*x)->storage == out->storage; });
  const HostRelease release(loop.elements);
  if (loop.axes == 1 ? loop.elements <= few : loop.axes == 2 && loop.elements < kWorthJoining) {
    kernel(inner);
    return;
  }
  ElementSizes sizes{};
  sizes.out = static_cast<std::int64_t>(out_size);
  for (std::size_t k = 0; k < operands.size(); ++k)
    sizes.in[k] = static_cast<std::int64_t>(item_size(operands[k]->dtype()));
  if (loop.axes == 1) return run_flat(kernel, inner, loop, sizes, work);
  if (transposed) return run_tiles(kernel, inner, loop, sizes);
  const JoinedRows joined(inner, loop, sizes, dtype, op.short_formula && wrt < 0);
  if (loop.axes == 2 && loop.elements <= kFew) {
    joined.run(kernel, inner);
  } else {
    run_rows(kernel, inner, joined, loop, sizes);
  }
}

[[maybe_unused]] const bool kRegistered = register_kernel<&DeviceKernels::elementwise>(DeviceType::CPU, run_on_cpu);

}  // namespace

void launch_elementwise(const ElementwiseOp& op, int wrt, std::span<const Tensor* const> operands, const Tensor& out,
                        DType dtype) {
  const std::int64_t few = kFew / work_of(op, wrt, out.dtype());
  bool flat = out.is_contiguous();
  for (const Tensor* x : operands) flat &= x->is_contiguous() && x->numel() == out.numel();
  if (flat && out.device().is_cpu() && out.numel() < few) {
    if (out.numel() == 0) return;
    Loop loop = flat_loop(operands, out);
    const LoopKernel kernel = cpu_kernel(op, wrt, dtype, static_cast<int>(operands.size()), loop);
    kernel(loop);
    return;
  }
  if (is_batched(out) || is_batched(operands)) [[unlikely]]
    return launch_batched(op, wrt, operands, out, dtype);
  if (out.device().is_meta() || out.numel() == 0) return;
  device_kernel<&DeviceKernels::elementwise>(out.device(), op.info->name)(op, wrt, operands, out, dtype);
}

}  // namespace lamella
