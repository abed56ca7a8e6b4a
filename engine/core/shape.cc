#include "engine/core/shape.h"

#include <algorithm>
#include <ostream>
#include <sstream>
#include <vector>

#include "engine/core/error.h"

namespace lamella {

std::string to_string(DimsView dims) {
  std::ostringstream out;
  out << '[';
  for (std::size_t i = 0; i < dims.size(); ++i) out << (i ? ", " : "") << dims[i];
  out << ']';
  return std::move(out).str();
}

std::ostream& operator<<(std::ostream& out, const Dims& dims) { return out << to_string(dims); }

std::int64_t count_elements(DimsView shape) {
  std::int64_t count = 1;
  bool overflow = false;
  std::int64_t smallest = 1;
  for (const std::int64_t size : shape) {
    overflow |= __builtin_mul_overflow(count, size, &count);
    smallest = std::min(smallest, size);
  }
  if (smallest < 0) fail<ValueError>("a shape cannot have a negative size, got ", to_string(shape));
  if (smallest == 0) return 0;
  if (overflow) fail<ValueError>("the number of elements of shape ", to_string(shape), " does not fit into 63 bits");
  return count;
}

Dims contiguous_strides(DimsView shape) {
  Dims strides;
  set_contiguous_strides(shape, strides);
  return strides;
}

void set_contiguous_strides(DimsView shape, Dims& strides) {
  strides.assign(shape.begin(), shape.end());
  std::int64_t stride = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    strides[i] = stride;
    // Can overflow only beside a size of 0, where strides do not matter.
    if (shape[i] > 0 && __builtin_mul_overflow(stride, shape[i], &stride)) stride = 1;
  }
}

bool is_contiguous(DimsView shape, DimsView strides) {
  const auto has_zero = [&] { return std::ranges::find(shape, 0) != shape.end(); };
  std::int64_t expected = 1;
  for (std::size_t i = shape.size(); i-- > 0;) {
    if (shape[i] == 1) continue;
    if (strides[i] != expected || __builtin_mul_overflow(expected, shape[i], &expected)) return has_zero();
  }
  return true;
}

namespace {

struct Axis {
  std::int64_t size;
  std::int64_t stride;
};

/// Checks every element to decide whether two of them share memory, for strides that do not nest.
bool meets_itself(std::span<const Axis> axes, std::int64_t reach) {
  std::int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.size;
  if (count > reach) return true;  // more elements than memory locations
  std::vector<bool> taken(static_cast<std::size_t>(reach));
  SmallVector<std::int64_t, 5> at(axes.size(), 0);
  std::int64_t offset = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (taken[static_cast<std::size_t>(offset)]) return true;
    taken[static_cast<std::size_t>(offset)] = true;
    for (std::size_t k = axes.size(); k-- > 0;) {
      offset += axes[k].stride;
      if (++at[k] < axes[k].size) break;
      offset -= axes[k].size * axes[k].stride;
      at[k] = 0;
    }
  }
  return false;
}

}  // namespace

bool overlaps_itself(DimsView shape, DimsView strides) {
  SmallVector<Axis, 5> axes;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == 0) return false;
    if (shape[i] == 1) continue;
    if (strides[i] == 0) return true;
    axes.push_back({shape[i], strides[i] < 0 ? -strides[i] : strides[i]});
  }
  std::ranges::sort(axes, {}, &Axis::stride);
  std::int64_t reach = 1;  // extent of the axes so far, from the first element to the end of the last
  bool nested = true;
  for (const Axis& axis : axes) {
    nested &= axis.stride >= reach;
    std::int64_t last = 0;
    if (__builtin_mul_overflow(axis.size - 1, axis.stride, &last) || __builtin_add_overflow(reach, last, &reach)) {
      return !nested;
    }
  }
  return !nested && meets_itself(axes, reach);
}

Dims broadcast_shapes(DimsView a, DimsView b, std::string_view what) {
  const std::size_t ndim = std::max(a.size(), b.size());
  Dims result(ndim);
  for (std::size_t i = 0; i < ndim; ++i) {
    const std::int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    const std::int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1) {
      fail<ValueError>("[", what, "] shapes ", to_string(a), " and ", to_string(b), " do not broadcast");
    }
    result[ndim - 1 - i] = x == 1 ? y : x;
  }
  return result;
}

bool broadcasts_to(DimsView from, DimsView to) {
  if (from.size() > to.size()) return false;
  for (std::size_t i = 0; i < from.size(); ++i) {
    const std::int64_t x = from[from.size() - 1 - i];
    if (x != 1 && x != to[to.size() - 1 - i]) return false;
  }
  return true;
}

std::int64_t normalize_axis(std::int64_t axis, std::size_t ndim, std::string_view what) {
  const auto n = static_cast<std::int64_t>(ndim);
  if (axis < -n || axis >= n) {
    fail<IndexError>("[", what, "] axis ", axis, " is out of range for a tensor with ", n, n == 1 ? " axis" : " axes");
  }
  return axis < 0 ? axis + n : axis;
}

}  // namespace lamella
