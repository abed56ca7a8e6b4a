#include "ops/nn/conv.h"

#include <algorithm>
#include <limits>

#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/complex.h"
#include "ops/elementwise/complex_forms.h"
#include "ops/movement/cast.h"
#include "ops/nn/conv_layers.h"
#include "ops/shape/reshape.h"
#include "ops/support/autocast.h"
#include "ops/support/checks.h"

namespace lamella {
namespace {

void check_bias(const std::optional<Tensor>& bias, std::int64_t channels, const char* op) {
  if (bias && (bias->ndim() != 1 || bias->shape()[0] != channels))
    fail<ValueError>("[", op, "] bias must have the shape [", channels, "], got ", bias->shape());
}

/// True if an argument is complex; the convolution is then composed of four real ones.
bool any_complex(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias) {
  for (const Tensor* tensor : {&x, &weight, bias ? &*bias : nullptr}) {
    if (tensor && tensor->defined() && is_complex(tensor->dtype())) return true;
  }
  return false;
}

/// Composes a complex convolution of convolve(x, weight) on the parts of both, and adds the bias along the axis of the
/// channels.
template <class F>
Tensor of_complex(const char* op, const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                  std::size_t axes, const F& convolve) {
  const Tensor xr = contiguous(real(x));  // copied because each part is used twice
  const Tensor xi = contiguous(imag(x));
  const Tensor wr = contiguous(real(weight));
  const Tensor wi = contiguous(imag(weight));
  Tensor y = make_complex(subtract(convolve(xr, wr), convolve(xi, wi)), add(convolve(xr, wi), convolve(xi, wr)));
  if (!bias) return y;
  Dims shape(axes + 1, 1);
  shape[0] = y.size(-static_cast<std::int64_t>(axes) - 1);
  check_bias(bias, shape[0], op);
  return add(y, reshape(*bias, shape));
}

/// The arguments in one dtype, x with a batch axis.
struct Arguments {
  Tensor x;
  Tensor weight;
  std::optional<Tensor> bias;
};

Arguments prepare(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, std::size_t axes,
                  const char* op) {
  check_defined(weight, op);
  if (bias) check_defined(*bias, op);
  Arguments args{with_batch_axis(x, axes, op), weight, bias};
  if (weight.ndim() != axes + 2) {
    fail<ValueError>("[", op, "] weight must have two axes of channels and ", axes, " of the kernel, got the shape ",
                     weight.shape());
  }
  for (std::size_t i = 2; i < weight.ndim(); ++i) {
    if (weight.shape()[i] < 1 || weight.shape()[i] > std::numeric_limits<std::int32_t>::max())
      fail<ValueError>("[", op, "] the kernel must be at least 1 along each axis, got the weight ", weight.shape());
  }
  check_same_device(x, weight, op);
  if (bias) check_same_device(x, *bias, op);
  DType dtype = promote_types(x.dtype(), weight.dtype());
  if (bias) dtype = promote_types(dtype, bias->dtype());
  if (!Real.contains(dtype)) refuse_dtype(dtype, Numeric, op);
  args.x = cast(args.x, dtype);
  args.weight = cast(weight, dtype);
  if (bias) args.bias = cast(*bias, dtype);
  return args;
}

void check_groups(std::int64_t groups, std::int64_t channels, const char* what, const char* op) {
  if (groups < 1) fail<ValueError>("[", op, "] groups must be at least 1, got ", groups);
  if (channels % groups != 0)
    fail<ValueError>("[", op, "] ", groups, " groups do not divide the ", channels, " channels of ", what);
}

}  // namespace

template <int N>
Tensor Conv<N>::call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias, const Dims& stride,
                     const Padding& padding, const Dims& dilation, std::int64_t groups) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<Conv<N>>(x, weight, bias, stride, padding, dilation, groups);
  if (any_complex(x, weight, bias)) {
    return of_complex(info.name, x, weight, bias, N, [&](const Tensor& a, const Tensor& b) {
      return call(a, b, std::nullopt, stride, padding, dilation, groups);
    });
  }
  const char* const op = info.name;
  const auto [input, kernels, added] = prepare(x, weight, bias, N, op);
  check_groups(groups, weight.shape()[0], "the result", op);
  if (input.shape()[1] % groups != 0 || input.shape()[1] / groups != weight.shape()[1]) {
    fail<ValueError>("[", op,
                     "] weight must have the shape [out, in / groups, ..] where x has `in` channels (x: ", x.shape(),
                     ", weight: ", weight.shape(), ", groups: ", groups, ")");
  }
  check_bias(bias, weight.shape()[0], op);
  ConvSetting setting(op, spatial_numbers(stride, N, 1, op, "stride"), spatial_numbers(dilation, N, 1, op, "dilation"),
                      groups);
  const Dims in = spatial_sizes(input);
  const Dims kernel = spatial_sizes(weight);
  if (padding.same) {
    if (std::ranges::any_of(setting.stride, [](std::int64_t step) { return step != 1; }))
      fail<ValueError>("[", op, "] padding 'same' needs a stride of 1, got ", setting.stride);
    for (std::size_t i = 0; i < N; ++i) {
      const std::int64_t total = setting.dilation[i] * (kernel[i] - 1);
      setting.pad_low.push_back(total / 2);
      setting.pad_high.push_back(total - total / 2);
    }
  } else {
    setting.pad_low = setting.pad_high = spatial_numbers(padding.amounts, N, 0, op, "padding");
  }
  for (std::size_t i = 0; i < N; ++i) {
    const std::int64_t reach = setting.dilation[i] * (kernel[i] - 1) + 1;
    const std::int64_t padded = setting.pad_low[i] + setting.pad_high[i];
    if (in[i] > std::numeric_limits<std::int64_t>::max() - padded || in[i] + padded < reach) {
      fail<ValueError>("[", op, "] the kernel, ", reach, " long with its dilation, does not fit into axis ", i + 2,
                       " of x, ", in[i], " long with a padding of ", padded, " in all (x: ", x.shape(),
                       ", weight: ", weight.shape(), ")");
    }
  }
  return without_batch_axis(conv_output(input, kernels, added, setting), x);
}

template <int N>
Tensor ConvTranspose<N>::call(const Tensor& x, const Tensor& weight, const std::optional<Tensor>& bias,
                              const Dims& stride, const Dims& padding, const Dims& output_padding, std::int64_t groups,
                              const Dims& dilation) {
  if (autograd::autocast_active()) [[unlikely]]
    return call_in_autocast<ConvTranspose<N>>(x, weight, bias, stride, padding, output_padding, groups, dilation);
  if (any_complex(x, weight, bias)) {
    return of_complex(info.name, x, weight, bias, N, [&](const Tensor& a, const Tensor& b) {
      return call(a, b, std::nullopt, stride, padding, output_padding, groups, dilation);
    });
  }
  const char* const op = info.name;
  const auto [input, kernels, added] = prepare(x, weight, bias, N, op);
  check_groups(groups, weight.shape()[0], "x", op);
  if (input.shape()[1] != weight.shape()[0]) {
    fail<ValueError>("[", op,
                     "] weight must have the shape [in, out / groups, ..] where x has `in` channels (x: ", x.shape(),
                     ", weight: ", weight.shape(), ", groups: ", groups, ")");
  }
  std::int64_t channels = 0;
  if (__builtin_mul_overflow(weight.shape()[1], groups, &channels))
    fail<ValueError>("[", op, "] ", groups, " groups are too many for the weight ", weight.shape());
  check_bias(bias, channels, op);
  ConvSetting setting(op, spatial_numbers(stride, N, 1, op, "stride"), spatial_numbers(dilation, N, 1, op, "dilation"),
                      groups);
  setting.pad_low = spatial_numbers(padding, N, 0, op, "padding");
  const Dims added_sizes = spatial_numbers(output_padding, N, 0, op, "output_padding");
  const Dims in = spatial_sizes(input);
  const Dims kernel = spatial_sizes(weight);
  Dims out;
  for (std::size_t i = 0; i < N; ++i) {
    if (added_sizes[i] >= std::max(setting.stride[i], setting.dilation[i])) {
      fail<ValueError>("[", op, "] output_padding must be less than the stride or the dilation, got ", added_sizes,
                       " with stride ", setting.stride, " and dilation ", setting.dilation);
    }
    // The extent that the kernel covers, before the padding is removed.
    const std::int64_t reach = setting.dilation[i] * (kernel[i] - 1) + 1;
    std::int64_t covered = 0;
    if (__builtin_mul_overflow(in[i] - 1, setting.stride[i], &covered) ||
        __builtin_add_overflow(covered, reach, &covered) ||
        covered > std::numeric_limits<std::int64_t>::max() - added_sizes[i]) {
      fail<ValueError>("[", op, "] the result's size overflows along axis ", i + 2, " (x: ", x.shape(), ", stride ",
                       setting.stride, ")");
    }
    const std::int64_t size = covered - 2 * setting.pad_low[i] + added_sizes[i];
    if (in[i] == 0 || size < 1) {
      fail<ValueError>("[", op, "] the result would have the size ", size, " along axis ", i + 2, " (x: ", x.shape(),
                       ", weight: ", weight.shape(), ", padding ", setting.pad_low, ")");
    }
    out.push_back(size);
    setting.pad_high.push_back(setting.pad_low[i] - added_sizes[i]);
  }
  Tensor y = conv_input(input, kernels, setting, out);
  if (added) {
    Dims shape(N + 1, 1);
    shape[0] = channels;
    y = add(y, reshape(*added, shape));
  }
  return without_batch_axis(y, x);
}

template struct Conv<1>;
template struct Conv<2>;
template struct Conv<3>;
template struct ConvTranspose<1>;
template struct ConvTranspose<2>;
template struct ConvTranspose<3>;

}  // namespace lamella
