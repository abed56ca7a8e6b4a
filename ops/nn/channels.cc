#include "ops/nn/channels.h"

#include "ops/creation/creation.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/index/gather.h"
#include "ops/linalg/einsum.h"
#include "ops/nn/spatial.h"
#include "ops/shape/permute.h"
#include "ops/shape/reshape.h"
#include "ops/support/checks.h"

namespace lamella {

Tensor Bilinear::call(const Tensor& x1, const Tensor& x2, const Tensor& weight, const std::optional<Tensor>& bias) {
  for (const Tensor* x : {&x1, &x2, &weight}) check_defined(*x, info.name);
  const bool fits = x1.ndim() > 0 && x1.ndim() == x2.ndim() && weight.ndim() == 3 && x1.size(-1) == weight.size(1) &&
                    x2.size(-1) == weight.size(2) &&
                    Dims(x1.shape().begin(), x1.shape().end() - 1) == Dims(x2.shape().begin(), x2.shape().end() - 1);
  if (!fits) {
    fail<ValueError>("[bilinear] x1, [.., i], x2, [.., j], and weight, [o, i, j], have the shapes ", x1.shape(), ", ",
                     x2.shape(), " and ", weight.shape());
  }
  if (bias && (bias->ndim() != 1 || bias->size(0) != weight.size(0)))
    fail<ValueError>("[bilinear] bias must have the shape [", weight.size(0), "], got ", bias->shape());
  const Tensor y = Einsum::call("...i,oij,...j->...o", {x1, weight, x2});
  return bias ? add(y, *bias) : y;
}

Tensor ChannelShuffle::call(const Tensor& x, std::int64_t groups) {
  check_defined(x, info.name);
  if (x.ndim() < 3) fail<ValueError>("[channel_shuffle] x must be [n, channels, ..], got the shape ", x.shape());
  const std::int64_t channels = x.size(1);
  if (groups < 1 || channels % groups != 0)
    fail<ValueError>("[channel_shuffle] ", groups, " groups do not divide the ", channels, " channels");
  Dims apart = x.shape();
  apart[1] = groups;
  apart.insert(apart.begin() + 2, channels / groups);
  return reshape(swapaxes(reshape(x, apart), 1, 2), x.shape());
}

template <int N>
Tensor MaxUnpool<N>::call(const Tensor& given, const Tensor& indices, const Dims& kernel_size,
                          const std::optional<Dims>& stride, const Dims& padding,
                          const std::optional<Dims>& output_size) {
  const char* const op = info.name;
  check_defined(indices, op);
  const Tensor x = with_batch_axis(given, N, op);
  check_dtype(x, info.dtypes, op);
  if (indices.shape() != given.shape())
    fail<ValueError>("[", op, "] indices must have x's shape ", given.shape(), ", got ", indices.shape());
  if (!is_integral(indices.dtype())) fail<TypeError>("[", op, "] indices must be integers, got ", indices.dtype());
  const Dims kernel = spatial_numbers(kernel_size, N, 1, op, "kernel_size");
  const Dims steps = stride && !stride->empty() ? spatial_numbers(*stride, N, 1, op, "stride") : kernel;
  const Dims pads = spatial_numbers(padding, N, 0, op, "padding");
  const Dims in = spatial_sizes(x);
  Dims shape = x.shape();
  std::int64_t places = 1;
  std::int64_t windows = 1;
  for (std::size_t i = 0; i < N; ++i) {
    std::int64_t size = 0;
    if (__builtin_mul_overflow(in[i] - 1, steps[i], &size) || __builtin_add_overflow(size, kernel[i], &size))
      fail<ValueError>("[", op, "] the result's size overflows along axis ", i + 2);
    size -= 2 * pads[i];
    if (output_size) {
      if (output_size->size() < N)
        fail<ValueError>("[", op, "] output_size must have ", N, " numbers, got ", *output_size);
      const std::int64_t wanted = (*output_size)[output_size->size() - N + i];
      if (wanted <= size - steps[i] || wanted >= size + steps[i]) {
        fail<ValueError>("[", op, "] output_size ", *output_size, " must differ from ", size, " along axis ", i + 2,
                         " by less than the stride ", steps[i]);
      }
      size = wanted;
    }
    if (size < 1) fail<ValueError>("[", op, "] the result would have the size ", size, " along axis ", i + 2);
    shape[i + 2] = size;
    windows *= in[i];
    if (__builtin_mul_overflow(places, size, &places))
      fail<ValueError>("[", op, "] the result has too many elements: ", size, " along axis ", i + 2);
  }
  const Dims rows{x.size(0), x.size(1)};
  const Tensor flat = scatter(zeros({rows[0], rows[1], places}, x.dtype(), x.device()), -1,
                              reshape(indices, {rows[0], rows[1], windows}), reshape(x, {rows[0], rows[1], windows}));
  return without_batch_axis(reshape(flat, shape), given);
}

template struct MaxUnpool<1>;
template struct MaxUnpool<2>;
template struct MaxUnpool<3>;

}  // namespace lamella
