#include "ops/sort/sort.h"

#include "engine/core/modes.h"
#include "ops/movement/pick_along.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/sort/rows.h"
#include "ops/support/along.h"
#include "ops/support/checks.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// A tensor with the given axis of x moved to its rows.
struct Turned {
  Tensor x;
  std::int64_t axis;
  std::int64_t last;

  Turned(const Tensor& given, std::int64_t wanted, const OpInfo& info) {
    check_defined(given, info.name);
    check_dtype(given, info.dtypes, info.name);
    axis = normalize_axis_or_scalar(given, wanted, info.name);
    last = std::max<std::int64_t>(static_cast<std::int64_t>(given.ndim()) - 1, 0);
    x = turn(given);
  }
  std::int64_t length() const { return x.ndim() == 0 ? 1 : x.shape().back(); }
  /// Moves the axis to the rows, or back; recorded.
  Tensor turn(const Tensor& y) const { return axis == last ? y : swapaxes(y, axis, last); }
  /// Returns the elements of `given` at positions along the axis; recorded.
  Tensor pick(const Tensor& given, const Tensor& positions, const char* op) const {
    // Transposing the few positions is cheaper than transposing x.
    if (given.is_contiguous()) return pick_along(given, positions, axis, op);
    return turn(pick_along(x, turn(positions), last, op));
  }
};

template <class F>
Tensor unrecorded(const OpInfo& info, const Tensor& x, F&& f) {
  const autograd::NoGrad no_grad;
  Tensor y = f();
  note_constant(info.name, {&x}, y);
  return y;
}

/// Returns the element of each row at `found`, and the positions.
std::vector<Tensor> picked(const Turned& rows, const Tensor& given, const Tensor& found, bool keepdims,
                           const OpInfo& info) {
  const Tensor positions = rows.turn(found);
  const auto finished = [&](const Tensor& y) { return keepdims || rows.x.ndim() == 0 ? y : squeeze(y, rows.axis); };
  return {finished(rows.pick(given, positions, info.name)), finished(positions)};
}

}  // namespace

Tensor Sort::call(const Tensor& given, std::int64_t axis, bool descending, bool /*stable: it always is*/) {
  const Turned rows(given, axis, info);
  if (!is_followed(given))
    return rows.turn(unrecorded(info, given, [&] { return sorted_rows(rows.x, descending, info.name); }));
  const Tensor positions = unrecorded(info, given, [&] { return sorted_positions(rows.x, descending, info.name); });
  return rows.turn(pick_along(rows.x, positions, rows.last, info.name));
}

Tensor ArgSort::call(const Tensor& given, std::int64_t axis, bool descending, bool /*stable: it always is*/) {
  const Turned rows(given, axis, info);
  return unrecorded(info, given, [&] { return rows.turn(sorted_positions(rows.x, descending, info.name)); });
}

std::vector<Tensor> TopK::call(const Tensor& given, std::int64_t k, std::int64_t axis, bool largest, bool sorted) {
  const Turned rows(given, axis, info);
  if (k < 0 || k > rows.length()) {
    fail<ValueError>("[topk] k must be between 0 and the axis's length, ", rows.length(), "; got ", k);
  }
  if (given.ndim() == 0 && k != 1) fail<ValueError>("[topk] a 0-d tensor has one element, got k = ", k);
  // Fewer columns would leave most of a register empty.
  constexpr std::int64_t kFewestColumns = 8;
  const bool down = rows.axis != rows.last && k > 0 && k <= cpu::kMostOfColumns && given.device().is_cpu() &&
                    !is_batched(given) && given.is_contiguous() &&
                    Along(given.shape(), rows.axis).inner >= kFewestColumns;
  const Tensor positions = unrecorded(info, given, [&] {
    if (down) return top_positions_down(given, rows.axis, k, largest, info.name);
    return rows.turn(top_positions(rows.x, k, largest, sorted, info.name));
  });
  return {rows.pick(given, positions, info.name), positions};
}

std::vector<Tensor> KthValue::call(const Tensor& given, std::int64_t k, std::int64_t axis, bool keepdims) {
  const Turned rows(given, axis, info);
  if (k < 1 || k > rows.length()) {
    fail<ValueError>("[kthvalue] k must be between 1 and the axis's length, ", rows.length(), "; got ", k);
  }
  const Tensor positions =
      unrecorded(info, given, [&] { return nth_positions(rows.x, cpu::Rank::Kth, k - 1, info.name); });
  return picked(rows, given, positions, keepdims, info);
}

std::vector<Tensor> ModeValue::call(const Tensor& given, std::int64_t axis, bool keepdims) {
  const Turned rows(given, axis, info);
  if (rows.length() == 0) {
    fail<ValueError>("[mode] cannot reduce an axis of length 0; the shape is ", given.shape());
  }
  return picked(rows, given, unrecorded(info, given, [&] { return mode_positions(rows.x, info.name); }), keepdims,
                info);
}

}  // namespace lamella
