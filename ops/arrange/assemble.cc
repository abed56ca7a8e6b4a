#include "ops/arrange/assemble.h"

#include <algorithm>
#include <limits>

#include "engine/autograd/graph/running_pass.h"
#include "ops/arrange/arrange.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/compare.h"
#include "ops/index/nonzero.h"
#include "ops/index/select.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"
#include "ops/support/room.h"
#include "ops/support/strided.h"

namespace lamella {
namespace {

void check_some(const std::vector<Tensor>& arrays, const char* op) {
  if (arrays.empty()) fail<ValueError>("[", op, "] needs at least one tensor");
  for (const Tensor& x : arrays) check_defined(x, op);
}

/// Splits like tensor_split(), but requires a number of parts that divides the size.
std::vector<Tensor> equal_parts(const Tensor& x, const Cuts& indices_or_sections, std::size_t axis, const char* op) {
  if (indices_or_sections.is_count) {
    const std::int64_t parts = indices_or_sections.count(op);
    if (x.shape()[axis] % parts != 0) {
      fail<ValueError>("[", op, "] axis ", axis, " of size ", x.shape()[axis], " cannot be split into ", parts,
                       " equal parts");
    }
  }
  return TensorSplit::call(x, indices_or_sections, static_cast<std::int64_t>(axis));
}

void check_axes(const Tensor& x, std::size_t axes, const char* op) {
  check_defined(x, op);
  if (x.ndim() < axes) fail<ValueError>("[", op, "] needs at least ", axes, " axes, got shape ", x.shape());
}

/// Writes the combinations row by row; each row increments the last position that is not at its maximum.
void fill_combinations(std::int64_t* numbers, std::int64_t n, std::int64_t r, std::int64_t rows,
                       bool with_replacement) {
  const auto most = [&](std::int64_t i) { return with_replacement ? n - 1 : n - (r - i); };
  for (std::int64_t row = 0; row < rows; ++row) {
    std::int64_t* const next = numbers + row * r;
    if (row == 0) {
      for (std::int64_t i = 0; i < r; ++i) next[i] = with_replacement ? 0 : i;
      continue;
    }
    std::copy_n(next - r, r, next);
    std::int64_t i = r - 1;
    while (next[i] == most(i)) --i;
    ++next[i];
    for (++i; i < r; ++i) next[i] = next[i - 1] + (with_replacement ? 0 : 1);
  }
}

/// Returns the number of ways to pick r of n elements; throws OutOfMemoryError if the result of so many rows exceeds
/// any tensor.
std::int64_t count_combinations(std::int64_t n, std::int64_t r, bool with_replacement) {
  if (with_replacement ? n == 0 : r > n) return 0;
  const auto refuse = [&] {
    fail<OutOfMemoryError>("[combinations] the ways to pick ", r, " of ", n,
                           " elements are more than a tensor can hold as rows");
  };
  constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max() / 8;  // bytes of an index
  std::int64_t all = n;
  if (with_replacement && __builtin_add_overflow(n, r - 1, &all)) refuse();
  const std::int64_t picked = std::min(r, all - r);
  // After each step the product is a binomial coefficient, so that the division is exact.
  __int128 rows = 1;
  for (std::int64_t i = 1; i <= picked && rows <= kMost; ++i) rows = rows * (all - picked + i) / i;
  if (rows > kMost || rows * r > kMost) refuse();
  return static_cast<std::int64_t>(rows);
}

}  // namespace

Tensor DStack::call(const std::vector<Tensor>& arrays) {
  check_some(arrays, info.name);
  std::vector<Tensor> parts;
  parts.reserve(arrays.size());
  for (const Tensor& x : arrays) parts.push_back(AtLeast3d::call(x));
  return concat(parts, 2);
}

Tensor ColumnStack::call(const std::vector<Tensor>& arrays) {
  check_some(arrays, info.name);
  std::vector<Tensor> parts;
  parts.reserve(arrays.size());
  for (const Tensor& x : arrays) parts.push_back(x.ndim() < 2 ? reshape(x, {-1, 1}) : x);
  return concat(parts, 1);
}

std::vector<Tensor> HSplit::call(const Tensor& x, const Cuts& indices_or_sections) {
  check_axes(x, 1, info.name);
  return equal_parts(x, indices_or_sections, x.ndim() == 1 ? 0 : 1, info.name);
}

std::vector<Tensor> VSplit::call(const Tensor& x, const Cuts& indices_or_sections) {
  check_axes(x, 2, info.name);
  return equal_parts(x, indices_or_sections, 0, info.name);
}

std::vector<Tensor> DSplit::call(const Tensor& x, const Cuts& indices_or_sections) {
  check_axes(x, 3, info.name);
  return equal_parts(x, indices_or_sections, 2, info.name);
}

Tensor FlipLr::call(const Tensor& x) {
  check_axes(x, 2, info.name);
  return flip(x, Dims{1});
}

Tensor FlipUd::call(const Tensor& x) {
  check_axes(x, 1, info.name);
  return flip(x, Dims{0});
}

Tensor Rot90::call(const Tensor& x, std::int64_t k, const std::optional<Dims>& axes) {
  check_defined(x, info.name);
  const Dims plane = axes.value_or(Dims{0, 1});
  if (plane.size() != 2) fail<ValueError>("[rot90] axes must be two, got ", plane);
  if (x.ndim() < 2) fail<ValueError>("[rot90] needs at least 2 axes, got shape ", x.shape());
  const std::int64_t first = normalize_axis(plane[0], x.ndim(), info.name);
  const std::int64_t second = normalize_axis(plane[1], x.ndim(), info.name);
  if (first == second) fail<ValueError>("[rot90] axes must be different, got ", plane);
  switch ((k % 4 + 4) % 4) {
    case 1:
      return swapaxes(flip(x, Dims{second}), first, second);
    case 2:
      return flip(x, Dims{first, second});
    case 3:
      return flip(swapaxes(x, first, second), Dims{second});
    default:
      return x;
  }
}

Tensor Ravel::call(const Tensor& x) {
  check_defined(x, info.name);
  return reshape(x, Dims{x.numel()});
}

Tensor Unflatten::call(const Tensor& x, std::int64_t axis, const Dims& sizes) {
  check_axes(x, 1, info.name);
  const std::int64_t at = normalize_axis(axis, x.ndim(), info.name);
  if (sizes.empty()) fail<ValueError>("[unflatten] sizes must not be empty");
  const std::int64_t size = x.size(at);
  std::int64_t known = 1;
  for (const std::int64_t part : sizes) {
    if (part < -1 || (part != -1 && __builtin_mul_overflow(known, part, &known)))
      fail<ValueError>("[unflatten] the product of the sizes must be ", size, ", the size of axis ", at, "; got ",
                       sizes);
  }
  const auto unknown = std::ranges::count(sizes, -1);
  if (unknown > 1 || (unknown == 0 ? known != size : known == 0 || size % known != 0))
    fail<ValueError>("[unflatten] the product of the sizes must be ", size, ", the size of axis ", at, "; got ", sizes);
  Dims shape;
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(x.ndim()); ++i) {
    if (i != at) {
      shape.push_back(x.size(i));
      continue;
    }
    for (const std::int64_t part : sizes) shape.push_back(part == -1 ? size / known : part);
  }
  return reshape(x, shape);
}

namespace {

/// A view of sliding windows.
/// Row and column offsets of the blocks of a matrix; the last entry is the end.
struct Corners {
  Dims rows{0};
  Dims columns{0};

  /// Returns a block of x as a view, off the tape.
  Tensor of(const Tensor& x, std::size_t block) const {
    const Dims shape{rows[block + 1] - rows[block], columns[block + 1] - columns[block]};
    const std::int64_t start = rows[block] * x.strides()[0] + columns[block] * x.strides()[1];
    return make_view(x, shape, x.strides(), count_elements(shape) == 0 ? 0 : start);
  }
};

/// Places matrices of one dtype on the diagonal of a zero matrix. Each gradient is the block of dy, as a view.
struct BlockDiagLayer : LinearOperatorLayer<BlockDiagLayer> {
  static constexpr std::string_view name = "block_diag";

  static Tensor forward(Context& ctx, const std::vector<Tensor>& blocks) {
    Corners corners;
    SmallVector<const Tensor*, 4> inputs;
    for (const Tensor& block : blocks) {
      corners.rows.push_back(corners.rows.back() + block.size(0));
      corners.columns.push_back(corners.columns.back() + block.size(1));
      inputs.push_back(&block);
    }
    const Dims shape{corners.rows.back(), corners.columns.back()};
    const Tensor out = empty_beside(inputs, shape, blocks[0].dtype(), blocks[0].device());
    write_value(out, 0, "block_diag");
    for (std::size_t i = 0; i < blocks.size(); ++i) write_values(corners.of(out, i), blocks[i], "block_diag");
    if (ctx.recording()) ctx.state<Corners>() = corners;
    return out;
  }
  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto& [rows, columns] = ctx.state<Corners>();
    TensorList grads(rows.size() - 1);
    for (std::size_t i = 0; i < grads.size(); ++i) {
      if (autograd::is_needed(ctx.node()->edges()[i]))
        grads[i] = narrow(narrow(dy, 0, rows[i], rows[i + 1] - rows[i]), 1, columns[i], columns[i + 1] - columns[i]);
    }
    return grads;
  }
};

}  // namespace

Tensor BlockDiag::call(const std::vector<Tensor>& arrays) {
  check_some(arrays, info.name);
  std::vector<Tensor> blocks;
  DType dtype = arrays[0].dtype();
  for (const Tensor& x : arrays) {
    if (x.ndim() > 2) fail<ValueError>("[block_diag] takes matrices, got shape ", x.shape());
    check_same_device(arrays[0], x, info.name);
    blocks.push_back(AtLeast2d::call(x));
    dtype = promote_types(dtype, x.dtype());
  }
  for (Tensor& block : blocks) block = cast(block, dtype);
  return BlockDiagLayer::apply(blocks);
}

Tensor CartesianProd::call(const std::vector<Tensor>& arrays) {
  check_some(arrays, info.name);
  for (const Tensor& x : arrays) {
    if (x.ndim() != 1) fail<ValueError>("[cartesian_prod] takes vectors, got shape ", x.shape());
  }
  if (arrays.size() == 1) return arrays[0];
  // Throws if the result is too large before its columns, parts of the same size, are computed.
  Dims sizes;
  for (const Tensor& x : arrays) {
    check_same_device(arrays[0], x, info.name);
    if (x.dtype() != arrays[0].dtype()) {
      fail<ValueError>("[cartesian_prod] the tensors must have one dtype, got ", arrays[0].dtype(), " and ", x.dtype());
    }
    sizes.push_back(x.numel());
  }
  const std::int64_t rows = count_elements(sizes);
  check_room_for(Dims{rows, static_cast<std::int64_t>(arrays.size())}, arrays[0].dtype(), arrays[0].device());
  std::vector<Tensor> columns;
  std::int64_t inner = rows;
  std::int64_t outer = 1;
  for (const Tensor& x : arrays) {
    inner = rows == 0 ? 0 : inner / x.numel();
    columns.push_back(reshape(broadcast_to(reshape(x, {1, x.numel(), 1}), {outer, x.numel(), inner}), {rows}));
    outer *= rows == 0 ? 0 : x.numel();
  }
  return stack(columns, 1);
}

Tensor Combinations::call(const Tensor& x, std::int64_t r, bool with_replacement) {
  check_defined(x, info.name);
  if (x.ndim() != 1) fail<ValueError>("[combinations] takes a vector, got shape ", x.shape());
  if (r < 0) fail<ValueError>("[combinations] r must not be negative, got ", r);
  if (r == 0) return zeros({0}, x.dtype(), x.device());
  const std::int64_t n = x.numel();
  const std::int64_t rows = count_combinations(n, r, with_replacement);
  const Tensor index = empty({rows * r}, DType::Int64, x.device().is_meta() ? kMeta : kCPU);
  if (!index.device().is_meta()) fill_combinations(index.data<std::int64_t>(), n, r, rows, with_replacement);
  return reshape(IndexSelect::call(x, 0, to_device(index, x.device())), {rows, r});
}

}  // namespace lamella
