#include "ops/nn/grid_sample.h"

#include <array>
#include <vector>

#include "ops/creation/creation.h"
#include "ops/elementwise/list.h"
#include "ops/index/rows.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

enum class Mode : std::uint8_t { Linear, Nearest, Cubic };
enum class Outside : std::uint8_t { Zeros, Border, Reflection };

Mode read_mode(std::string_view mode, std::size_t axes) {
  if (mode == "bilinear") return Mode::Linear;
  if (mode == "nearest") return Mode::Nearest;
  if (mode == "bicubic" && axes == 2) return Mode::Cubic;
  fail<ValueError>("[grid_sample] mode must be \"bilinear\", \"nearest\" or, for images, \"bicubic\", got \"", mode,
                   "\"");
}

Outside read_outside(std::string_view mode) {
  if (mode == "zeros") return Outside::Zeros;
  if (mode == "border") return Outside::Border;
  if (mode == "reflection") return Outside::Reflection;
  fail<ValueError>("[grid_sample] padding_mode must be \"zeros\", \"border\" or \"reflection\", got \"", mode, "\"");
}

/// One axis of the images, and how a coordinate there is read.
struct Axis {
  std::int64_t size;
  Outside outside;
  bool align_corners;

  /// In elements, from one between -1 and 1.
  Tensor in_elements(const Tensor& at) const {
    const auto n = static_cast<double>(size);
    return align_corners ? (at + 1) * ((n - 1) / 2) : ((at + 1) * n - 1) / 2;
  }
  /// Brought to where there are elements, unless what is outside is 0.
  Tensor brought_in(const Tensor& at) const {
    if (outside == Outside::Zeros) return at;
    // hardtanh: at the border the derivative is 0.
    return hardtanh(outside == Outside::Reflection ? reflected(at) : at, 0, size - 1);
  }

  /// The element beside a coordinate that is a whole number: its number, within the axis, and whether it is one.
  struct Element {
    Tensor number;
    Tensor inside;
  };
  Element element(const Tensor& whole) const {
    return {cast(clip(where(whole == whole, whole, 0), Operand(0), Operand(size - 1)), DType::Int64),
            (whole >= 0) & (whole <= size - 1)};
  }

 private:
  Tensor reflected(const Tensor& at) const {
    const double low = align_corners ? 0 : -0.5;
    const double span = align_corners ? static_cast<double>(size - 1) : static_cast<double>(size);
    if (span == 0) return at * 0;
    const Tensor distance = abs(at - low);
    const Tensor turns = floor(distance / span);
    const Tensor rest = distance - turns * span;
    return where(remainder(turns, 2) == 0, rest, span - rest) + low;
  }
};

/// The neighbors of a coordinate along one axis, with their weights.
struct Neighbor {
  Axis::Element element;
  Tensor weight;  ///< undefined for 1
};

std::vector<Neighbor> neighbors(const Tensor& given, const Axis& axis, Mode mode) {
  if (mode == Mode::Nearest) return {{axis.element(round(axis.brought_in(axis.in_elements(given)))), Tensor()}};
  if (mode == Mode::Linear) {
    const Tensor at = axis.brought_in(axis.in_elements(given));
    const Tensor left = floor(at).detach();
    const Tensor share = at - left;
    return {{axis.element(left), 1 - share}, {axis.element(left + 1), share}};
  }
  constexpr double kA = -0.75;
  const Tensor at = axis.in_elements(given);
  const Tensor left = floor(at).detach();
  const Tensor t = at - left;
  const auto near = [](const Tensor& d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
  const auto far = [](const Tensor& d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
  const Tensor weights[] = {far(t + 1), near(t), near(1 - t), far(2 - t)};
  std::vector<Neighbor> result;
  for (int k = 0; k < 4; ++k) {
    // What lies outside is reflected or moved one by one.
    const Tensor whole = (left + (k - 1)).detach();
    result.push_back({axis.element(round(axis.brought_in(whole))), weights[k]});
  }
  return result;
}

/// Samples with the neighbors of all axes, of which axis `next` and those behind it are still to be chosen.
class Sampler {
 public:
  Sampler(const Tensor& x, const Tensor& grid, std::vector<std::vector<Neighbor>> by_axis)
      : by_axis_(std::move(by_axis)), images_(x.size(0)), channels_(x.size(1)) {
    Dims channels_last{0};
    std::int64_t elements = 1;
    for (std::size_t i = 2; i < x.ndim(); ++i) {
      sizes_.push_back(x.shape()[i]);
      elements *= x.shape()[i];
      channels_last.push_back(static_cast<std::int64_t>(i));
    }
    channels_last.push_back(1);
    rows_ = reshape(permute_dims(x, channels_last), Dims{images_ * elements, channels_});
    places_ = Dims(grid.shape().begin(), grid.shape().end() - 1);
    Dims first(places_.size(), 1);
    first[0] = images_;
    first_ = reshape(arange(0, Scalar(images_), 1, DType::Int64, x.device()), first);
  }

  /// [images, channels, places...]
  Tensor operator()() {
    choose(0, first_, Tensor(), Tensor());
    Dims shape = places_;
    shape.push_back(channels_);
    Dims channels_first{0, static_cast<std::int64_t>(places_.size())};
    for (std::size_t i = 1; i < places_.size(); ++i) channels_first.push_back(static_cast<std::int64_t>(i));
    return permute_dims(reshape(total_, shape), channels_first);
  }

 private:
  static Tensor both(const Tensor& a, const Tensor& b) { return !a.defined() ? b : !b.defined() ? a : a * b; }

  void choose(std::size_t next, const Tensor& row, const Tensor& weight, const Tensor& inside) {
    if (next < by_axis_.size()) {
      for (const Neighbor& n : by_axis_[next]) {
        choose(next + 1, row * sizes_[next] + n.element.number, both(weight, n.weight),
               inside.defined() ? inside & n.element.inside : n.element.inside);
      }
      return;
    }
    const std::int64_t count = count_elements(places_);
    const Tensor picked = gather_rows(rows_, contiguous(reshape(broadcast_to(row, places_), Dims{count})));
    const Tensor factor = weight.defined() ? where(inside, weight, 0) : cast(inside, picked.dtype());
    const Tensor part = picked * reshape(cast(factor, picked.dtype()), Dims{count, 1});
    total_ = total_.defined() ? total_ + part : part;
  }

  std::vector<std::vector<Neighbor>> by_axis_;
  std::int64_t images_;
  std::int64_t channels_;
  Dims sizes_;
  Dims places_;
  Tensor rows_;
  Tensor first_;  ///< the number of each image
  Tensor total_;
};

/// n places from -1 to 1: the centers of elements, or with align_corners the edges too.
Tensor places_along(std::int64_t n, bool align_corners, DType dtype, Device device) {
  if (n == 1) return full({1}, 0.0, dtype, device);
  const double edge = align_corners ? 1 : static_cast<double>(n - 1) / static_cast<double>(n);
  return linspace(-edge, edge, n, dtype, device);
}

}  // namespace

Tensor GridSample::call(const Tensor& x, const Tensor& grid, std::string_view mode, std::string_view padding_mode,
                        bool align_corners) {
  check_defined(x, info.name);
  check_defined(grid, info.name);
  check_same_device(x, grid, info.name);
  const std::size_t axes = x.ndim() < 2 ? 0 : x.ndim() - 2;
  if ((axes != 2 && axes != 3) || grid.ndim() != x.ndim() || grid.size(0) != x.size(0) ||
      grid.size(-1) != static_cast<std::int64_t>(axes)) {
    fail<ValueError>(
        "[grid_sample] wants x [images, channels, height, width] and grid [images, out height, out width, 2], or "
        "volumes with one axis more; got the shapes ",
        x.shape(), " and ", grid.shape());
  }
  if (x.dtype() != grid.dtype() || !is_floating(x.dtype()))
    fail<TypeError>("[grid_sample] x and grid must have one floating dtype, got ", x.dtype(), " and ", grid.dtype());
  const Mode how = read_mode(mode, axes);
  const Outside outside = read_outside(padding_mode);
  std::vector<std::vector<Neighbor>> by_axis;
  for (std::size_t i = 0; i < axes; ++i) {
    const Axis axis{x.shape()[i + 2], outside, align_corners};
    if (axis.size < 1) fail<ValueError>("[grid_sample] the images are empty: x has the shape ", x.shape());
    // The grid holds the last axis first.
    const Tensor at = squeeze(narrow(grid, -1, static_cast<std::int64_t>(axes - 1 - i), 1), Dims{-1});
    by_axis.push_back(neighbors(at, axis, how));
  }
  return Sampler(x, grid, std::move(by_axis))();
}

Tensor AffineGrid::call(const Tensor& theta, const Dims& size, bool align_corners) {
  check_defined(theta, info.name);
  const std::size_t axes = size.size() < 2 ? 0 : size.size() - 2;
  const auto d = static_cast<std::int64_t>(axes);
  if ((axes != 2 && axes != 3) || theta.shape() != Dims{size[0], d, d + 1}) {
    fail<ValueError>(
        "[affine_grid] wants theta [images, 2, 3] for a size of four numbers, or [images, 3, 4] for one of five; got "
        "the shape ",
        theta.shape(), " and the size ", size);
  }
  if (!is_floating(theta.dtype())) fail<TypeError>("[affine_grid] theta must be floating, got ", theta.dtype());
  Dims places(size.begin() + 2, size.end());
  for (const std::int64_t n : places) {
    if (n < 1) fail<ValueError>("[affine_grid] sizes must be above 0, got ", size);
  }
  std::vector<Tensor> columns;
  for (std::size_t i = axes; i-- > 0;) {
    Dims along(axes, 1);
    along[i] = places[i];
    const Tensor at = reshape(places_along(places[i], align_corners, theta.dtype(), theta.device()), along);
    columns.push_back(broadcast_to(at, places));
  }
  columns.push_back(full(places, 1.0, theta.dtype(), theta.device()));
  const Tensor base = reshape(stack(columns, -1), Dims{count_elements(places), d + 1});
  Dims shape{size[0]};
  for (const std::int64_t n : places) shape.push_back(n);
  shape.push_back(d);
  return reshape(matmul(base, matrix_transpose(theta)), shape);
}

}  // namespace lamella
