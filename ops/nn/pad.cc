#include "ops/nn/pad.h"

#include <vector>

#include "ops/creation/creation.h"
#include "ops/elementwise/clip.h"
#include "ops/index/take.h"
#include "ops/nn/pad_rows.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

using Mode = PadMode;

Mode read_mode(std::string_view mode) {
  if (mode == "constant") return Mode::Constant;
  if (mode == "reflect") return Mode::Reflect;
  if (mode == "replicate") return Mode::Replicate;
  if (mode == "circular") return Mode::Circular;
  fail<ValueError>("[pad] mode must be \"constant\", \"reflect\", \"replicate\" or \"circular\", got \"", mode, "\"");
}

/// Returns `count` elements that pad x along an axis, before or after it.
Tensor border(const Tensor& x, std::int64_t axis, std::int64_t count, bool before, Mode mode, Scalar value) {
  const std::int64_t size = x.size(axis);
  Dims shape = x.shape();
  shape[static_cast<std::size_t>(axis)] = count;
  switch (mode) {
    case Mode::Constant:
      return full(shape, value, x.dtype(), x.device());
    case Mode::Reflect:
      return flip(narrow(x, axis, before ? 1 : size - 1 - count, count), Dims{axis});
    case Mode::Replicate:
      return broadcast_to(narrow(x, axis, before ? 0 : size - 1, 1), shape);
    case Mode::Circular:
      return narrow(x, axis, before ? size - count : 0, count);
  }
  return {};
}

void check_room(Mode mode, std::int64_t axis, std::int64_t size, std::int64_t count) {
  if (mode == Mode::Reflect && count >= size) {
    fail<ValueError>("[pad] mode \"reflect\" must add fewer elements than axis ", axis, " has, ", size, "; got ",
                     count);
  }
  if (mode == Mode::Circular && count > size) {
    fail<ValueError>("[pad] mode \"circular\" must add at most the elements of axis ", axis, ", ", size, "; got ",
                     count);
  }
  if (mode == Mode::Replicate && size == 0 && count > 0)
    fail<ValueError>("[pad] mode \"replicate\" has no element to repeat along axis ", axis, " of size 0");
}

/// Returns the size of an axis after negative sizes have cut it.
std::int64_t kept_size(std::int64_t size, std::int64_t axis, std::int64_t before, std::int64_t after) {
  std::int64_t left = size;
  for (const std::int64_t count : {before, after}) {
    if (count < 0 && __builtin_add_overflow(left, count, &left)) left = -1;
  }
  if (left < 0) {
    fail<ValueError>("[pad] cannot cut more than the ", size, " elements of axis ", axis, ", got pad (", before, ", ",
                     after, ")");
  }
  return left;
}

Tensor pad_axis(const Tensor& x, std::int64_t axis, std::int64_t before, std::int64_t after, Mode mode, Scalar value) {
  const std::int64_t cut_before = std::max<std::int64_t>(0, -before);
  const std::int64_t cut_after = std::max<std::int64_t>(0, -after);
  const std::int64_t left = kept_size(x.size(axis), axis, before, after);
  const Tensor kept = cut_before + cut_after > 0 ? narrow(x, axis, cut_before, left) : x;
  std::vector<Tensor> parts;
  if (before > 0) {
    check_room(mode, axis, left, before);
    parts.push_back(border(kept, axis, before, true, mode, value));
  }
  parts.push_back(kept);
  if (after > 0) {
    check_room(mode, axis, left, after);
    parts.push_back(border(kept, axis, after, false, mode, value));
  }
  return parts.size() == 1 ? kept : concat(parts, axis);
}

/// Returns the nearest element of x for each position along an axis of which the sizes leave nothing.
Tensor nearest_along(const Tensor& x, std::int64_t axis, std::int64_t before, std::int64_t after) {
  const std::int64_t size = x.size(axis);
  std::int64_t total = size;
  if (__builtin_add_overflow(total, before, &total) || __builtin_add_overflow(total, after, &total) || total <= 0) {
    fail<ValueError>("[pad] cannot cut all ", size, " elements of axis ", axis, ", got pad (", before, ", ", after,
                     ")");
  }
  const Tensor places =
      clip(arange(-before, Scalar(total - before), 1, DType::Int64, x.device()), Scalar(0), Scalar(size - 1));
  return take(x, places, axis);
}

/// True if replicating starts from elements that the sizes cut.
bool starts_from_cut(std::int64_t size, std::int64_t before, std::int64_t after) {
  if (size <= 0 || std::max(before, after) <= 0 || std::min(before, after) >= 0) return false;
  return std::min(before, after) <= -size;
}

}  // namespace

Tensor Pad::call(const Tensor& x, const Dims& pad, std::string_view mode, Scalar value) {
  check_defined(x, info.name);
  const Mode how = read_mode(mode);
  if (pad.size() % 2 != 0) fail<ValueError>("[pad] pad must hold two sizes for each axis, got ", pad.size(), " sizes");
  if (pad.size() / 2 > x.ndim())
    fail<ValueError>("[pad] pad must hold sizes for at most the ", x.ndim(), " axes of x, got sizes for ",
                     pad.size() / 2);
  if (how == Mode::Replicate) {
    for (std::size_t k = 0; k < pad.size() / 2; ++k) {
      const auto axis = static_cast<std::int64_t>(x.ndim() - 1 - k);
      if (!starts_from_cut(x.size(axis), pad[2 * k], pad[2 * k + 1])) continue;
      Dims rest = pad;
      rest[2 * k] = rest[2 * k + 1] = 0;
      return call(nearest_along(x, axis, pad[2 * k], pad[2 * k + 1]), rest, mode, value);
    }
  }
  if (x.ndim() > 0 && (x.device().is_cpu() || x.device().is_meta())) {
    for (std::size_t k = 0; k < pad.size() / 2; ++k) {
      const auto axis = static_cast<std::int64_t>(x.ndim() - 1 - k);
      const std::int64_t left = kept_size(x.size(axis), axis, pad[2 * k], pad[2 * k + 1]);
      for (const std::int64_t count : {pad[2 * k], pad[2 * k + 1]}) {
        if (count > 0) check_room(how, axis, left, count);
      }
    }
    return pad.empty() ? x : pad_rows(x, {pad, how, value});
  }
  Tensor y = x;
  // The first axes come first, so that what is copied again is still small.
  for (std::size_t k = pad.size() / 2; k-- > 0;) {
    const auto axis = static_cast<std::int64_t>(x.ndim() - 1 - k);
    y = pad_axis(y, axis, pad[2 * k], pad[2 * k + 1], how, value);
  }
  return y;
}

}  // namespace lamella
