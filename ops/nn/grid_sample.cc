#include "ops/nn/grid_sample.h"

#include <algorithm>
#include <array>
#include <vector>

#include "engine/autograd/backward/backward.h"
#include "engine/autograd/graph/running_pass.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/host.h"
#include "engine/core/modes.h"
#include "engine/runtime/parallel.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/bitwise.h"
#include "ops/elementwise/clip.h"
#include "ops/elementwise/compare.h"
#include "ops/elementwise/rectifiers.h"
#include "ops/elementwise/rounding.h"
#include "ops/elementwise/where.h"
#include "ops/index/rows.h"
#include "ops/linalg/matmul.h"
#include "ops/movement/cast.h"
#include "ops/runtime/cpu_loader.h"
#include "ops/shape/alias.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/join.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"
#include "ops/support/device_kernels.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"
#include "ops/support/layer.h"

namespace lamella {
namespace {

using Mode = cpu::GridMode;
using Outside = cpu::GridOutside;
using Setting = cpu::GridSetting;

Mode read_mode(std::string_view mode) {
  if (mode == "bilinear") return Mode::Linear;
  if (mode == "nearest") return Mode::Nearest;
  if (mode == "bicubic") return Mode::Cubic;
  fail<ValueError>("[grid_sample] mode must be \"bilinear\", \"nearest\" or \"bicubic\", got \"", mode, "\"");
}

Outside read_outside(std::string_view mode) {
  if (mode == "zeros") return Outside::Zeros;
  if (mode == "border") return Outside::Border;
  if (mode == "reflection") return Outside::Reflection;
  fail<ValueError>("[grid_sample] padding_mode must be \"zeros\", \"border\" or \"reflection\", got \"", mode, "\"");
}

/// An axis of the images, and how coordinates on it are interpreted.
struct Axis {
  std::int64_t size;
  Outside outside;
  bool align_corners;

  /// Converts coordinates between -1 and 1 to units of elements.
  Tensor in_elements(const Tensor& at) const {
    const auto n = static_cast<double>(size);
    return align_corners ? (at + 1) * ((n - 1) / 2) : ((at + 1) * n - 1) / 2;
  }
  /// Moves coordinates into the range of elements, unless the padding is 0.
  Tensor brought_in(const Tensor& at) const {
    if (outside == Outside::Zeros) return at;
    // hardtanh rather than clip: its derivative at the border is 0.
    return hardtanh(outside == Outside::Reflection ? reflected(at) : at, 0, size - 1);
  }

  /// The element at a whole coordinate: its number, clamped to the axis, and whether it is inside.
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
  Tensor weight;
};

std::vector<Neighbor> neighbors(const Tensor& given, const Axis& axis, Mode mode) {
  if (mode == Mode::Nearest) {
    // The weight is 1 with a defined derivative of 0 by the grid.
    const Tensor whole = round(axis.brought_in(axis.in_elements(given)));
    return {{axis.element(whole.detach()), whole - whole.detach() + 1}};
  }
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
    // Neighbors outside of the image are reflected or clamped one by one.
    const Tensor whole = (left + (k - 1)).detach();
    result.push_back({axis.element(round(axis.brought_in(whole))), weights[k]});
  }
  return result;
}

/// Samples over the neighbors of all axes, chosen recursively from axis `next` on.
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

  /// Returns [images, channels, places...].
  Tensor operator()() {
    choose(0, first_, Tensor(), Tensor());
    Dims shape = places_;
    shape.push_back(channels_);
    Dims channels_first{0, static_cast<std::int64_t>(places_.size())};
    for (std::size_t i = 1; i < places_.size(); ++i) channels_first.push_back(static_cast<std::int64_t>(i));
    return contiguous(permute_dims(reshape(total_, shape), channels_first));
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
    // What lies outside counts nothing, though it or its weight may be infinite.
    const Tensor read = where(reshape(broadcast_to(inside, places_), Dims{count, 1}), picked, 0);
    const Tensor factor = where(inside, weight, 0);
    const Tensor part = read * reshape(cast(factor, picked.dtype()), Dims{count, 1});
    total_ = total_.defined() ? total_ + part : part;
  }

  std::vector<std::vector<Neighbor>> by_axis_;
  std::int64_t images_;
  std::int64_t channels_;
  Dims sizes_;
  Dims places_;
  Tensor rows_;
  Tensor first_;  ///< number of each image
  Tensor total_;
};

/// Samples images and volumes, composed of operators.
Tensor composed(const Tensor& x, const Tensor& grid, const Setting& setting) {
  if (is_half(x.dtype())) {
    // In float32: coordinates in 16 bits would miss the element in large images.
    return cast(composed(cast(x, DType::Float32), cast(grid, DType::Float32), setting), x.dtype());
  }
  const std::size_t axes = x.ndim() - 2;
  std::vector<std::vector<Neighbor>> by_axis;
  for (std::size_t i = 0; i < axes; ++i) {
    const Axis axis{x.shape()[i + 2], setting.outside, setting.align_corners};
    // The grid lists the coordinate of the last axis first.
    const Tensor at = squeeze(narrow(grid, -1, static_cast<std::int64_t>(axes - 1 - i), 1), Dims{-1});
    by_axis.push_back(neighbors(at, axis, setting.mode));
  }
  return Sampler(x, grid, std::move(by_axis))();
}

/// Samples by kernels: images on the CPU, images and volumes on a device that has them. A gradient that is itself
/// recorded is computed by the composition.
struct GridSampleFn : OperatorLayer<GridSampleFn> {
  static constexpr std::string_view name = "grid_sample";

  static bool applies(const Tensor& x, const Tensor& grid, const Setting& setting) {
    const Tensor operands[] = {x, grid};
    return takes(x, setting) && x.numel() > 0 && grid.numel() > 0 && !is_batched(x) && !is_batched(grid) &&
           !autograd::any_dual(operands);
  }

  static Tensor forward(Context& ctx, const Tensor& x, const Tensor& grid, const Setting& setting) {
    ctx.save_for_backward(x, grid);
    if (ctx.recording()) ctx.state<Setting>() = setting;
    const Tensor image = contiguous(x);
    const Tensor at = contiguous(grid);
    Dims shape(grid.shape().begin(), grid.shape().end() - 1);
    shape.insert(shape.begin() + 1, x.size(1));
    const Tensor y = empty(shape, x.dtype(), x.device());
    if (!x.device().is_cpu()) {
      device_kernel<&DeviceKernels::grid_sample>(x.device(), name)(setting, image, at, y);
      return y;
    }
    const std::int64_t places = grid.size(1) * grid.size(2);
    const HostRelease release(y.numel());
    with_kernels(x.dtype(), [&]<class T>(const cpu::GridKernels<T>& kernels, T) {
      const std::int64_t blocks = (places + kPlaces - 1) / kPlaces;
      parallel_for(0, x.size(0) * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          cpu::GridArgs<T> args = args_of<T>(image, at, i / blocks, setting);
          args.y = y.data<T>() + i / blocks * args.channels * places;
          args.first = i % blocks * kPlaces;
          args.last = std::min(places, args.first + kPlaces);
          kernels.forward(args);
        }
      });
    });
    return y;
  }

  static TensorList backward(Context& ctx, const Tensor& dy) {
    const auto [x, grid] = ctx.saved_tensors<2>();
    const Setting& setting = ctx.state<Setting>();
    const bool want_x = autograd::is_needed(ctx.node()->edges()[0]);
    const bool want_grid = autograd::is_needed(ctx.node()->edges()[1]);
    const Tensor operands[] = {x, grid, dy};
    if (autograd::is_grad_enabled() || autograd::any_dual(operands) || is_batched(x) || is_batched(grid) ||
        is_batched(dy))
      return composed_grads(x, grid, dy, setting, want_x, want_grid);
    const Tensor image = contiguous(x);
    const Tensor at = contiguous(grid);
    const Tensor out = contiguous(dy);
    const Tensor dx = want_x ? empty(x.shape(), x.dtype(), x.device()) : Tensor();
    const Tensor dgrid = want_grid ? empty(grid.shape(), grid.dtype(), grid.device()) : Tensor();
    if (!x.device().is_cpu()) {
      device_kernel<&DeviceKernels::grid_sample_gradient>(x.device(), name)(setting, image, at, out, dx, dgrid);
      return {dx, dgrid};
    }
    const HostRelease release(dy.numel());
    with_kernels(image.dtype(), [&]<class T>(const cpu::GridKernels<T>& kernels, T) {
      parallel_for(0, image.size(0), 1, [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i) {
          cpu::GridArgs<T> args = args_of<T>(image, at, i, setting);
          args.dy = out.data<T>() + i * args.channels * args.places;
          if (dx.defined()) args.dx = dx.data<T>() + i * args.channels * args.height * args.width;
          if (dgrid.defined()) args.dgrid = dgrid.data<T>() + i * args.places * 2;
          kernels.backward(args);
        }
      });
    });
    return {dx, dgrid};
  }

 private:
  static constexpr std::int64_t kPlaces = 1024;  // positions per task

  /// True if the kernels of x's device take it.
  static bool takes(const Tensor& x, const Setting& setting) {
    if (!x.device().is_cpu()) return has_device_kernel<&DeviceKernels::grid_sample>(x.device());
    return x.ndim() == 4 && x.size(3) >= cpu::grid_neighbors(setting.mode) && !is_half(x.dtype());
  }

  template <class F>
  static void with_kernels(DType dtype, F&& f) {
    const cpu::GridSampleTable& table = cpu_kernels().grid_sample;
    dtype == DType::Float32 ? f(table.float32, float()) : f(table.float64, double());
  }

  template <class T>
  static cpu::GridArgs<T> args_of(const Tensor& x, const Tensor& grid, std::int64_t image, const Setting& setting) {
    cpu::GridArgs<T> args;
    args.channels = x.size(1);
    args.height = x.size(2);
    args.width = x.size(3);
    args.places = grid.size(1) * grid.size(2);
    args.x = x.data<T>() + image * args.channels * args.height * args.width;
    args.grid = grid.data<T>() + image * args.places * 2;
    args.setting = setting;
    return args;
  }

  /// Differentiates the composition of x and the grid, which has derivatives of every order.
  static TensorList composed_grads(const Tensor& x, const Tensor& grid, const Tensor& dy, const Setting& setting,
                                   bool want_x, bool want_grid) {
    const bool connected = autograd::is_grad_enabled();
    std::vector<Tensor> wanted;
    Tensor y;
    {
      const autograd::GradMode mode(true);
      const Tensor image = want_x ? wanted_alias(x) : x;
      const Tensor at = want_grid ? wanted_alias(grid) : grid;
      if (want_x) wanted.push_back(image);
      if (want_grid) wanted.push_back(at);
      y = composed(image, at, setting);
    }
    autograd::GradOptions options;
    options.create_graph = connected;
    options.materialize_grads = true;
    const Tensor outputs[] = {y};
    const Tensor grad_outputs[] = {dy};
    const std::vector<Tensor> found = autograd::grad(outputs, wanted, grad_outputs, options);
    TensorList grads(2);
    std::size_t next = 0;
    if (want_x) grads[0] = found[next++];
    if (want_grid) grads[1] = found[next++];
    return grads;
  }
};

/// Returns n positions from -1 to 1: the centers of elements, or including the edges with align_corners.
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
        "[grid_sample] needs x [images, channels, height, width] and grid [images, out height, out width, 2], or "
        "volumes with one axis more; got the shapes ",
        x.shape(), " and ", grid.shape());
  }
  if (x.dtype() != grid.dtype() || !is_floating(x.dtype()))
    fail<TypeError>("[grid_sample] x and grid must have one floating dtype, got ", x.dtype(), " and ", grid.dtype());
  const Mode how = read_mode(mode);
  const Outside outside = read_outside(padding_mode);
  for (std::size_t i = 2; i < x.ndim(); ++i) {
    if (x.shape()[i] < 1) fail<ValueError>("[grid_sample] the images are empty: x has the shape ", x.shape());
  }
  const Setting setting{how, outside, align_corners};
  if (GridSampleFn::applies(x, grid, setting)) return GridSampleFn::apply(x, grid, setting);
  if (is_half(x.dtype())) {
    return cast(call(cast(x, DType::Float32), cast(grid, DType::Float32), mode, padding_mode, align_corners),
                x.dtype());
  }
  return composed(x, grid, setting);
}

Tensor AffineGrid::call(const Tensor& theta, const Dims& size, bool align_corners) {
  check_defined(theta, info.name);
  const std::size_t axes = size.size() < 2 ? 0 : size.size() - 2;
  const auto d = static_cast<std::int64_t>(axes);
  if ((axes != 2 && axes != 3) || theta.shape() != Dims{size[0], d, d + 1}) {
    fail<ValueError>(
        "[affine_grid] needs theta [images, 2, 3] for a size of four numbers, or [images, 3, 4] for one of five; got "
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
