#include "ops/fft/stft.h"

#include <cmath>

#include "engine/core/modes.h"
#include "ops/arrange/arrange.h"
#include "ops/arrange/assemble.h"
#include "ops/arrange/sliding_window.h"
#include "ops/creation/creation.h"
#include "ops/elementwise/abs.h"
#include "ops/elementwise/arithmetic.h"
#include "ops/elementwise/square.h"
#include "ops/fft/fft.h"
#include "ops/movement/cast.h"
#include "ops/movement/integers.h"
#include "ops/nn/pad.h"
#include "ops/reduce/extremum.h"
#include "ops/shape/broadcast.h"
#include "ops/shape/permute.h"
#include "ops/support/checks.h"
#include "ops/support/dtypes.h"
#include "ops/support/hidden.h"

namespace lamella {
namespace {

/// The parameters that both directions share.
struct Frames {
  std::int64_t size = 0;
  std::int64_t hop = 0;
  /// Window of `size` elements; undefined for all ones.
  Tensor window;
  double root = 1;  ///< square root of the size

  Frames(const Tensor& x, std::int64_t n_fft, std::optional<std::int64_t> hop_length,
         std::optional<std::int64_t> win_length, const std::optional<Tensor>& given, const char* op)
      : size(n_fft), hop(hop_length.value_or(n_fft / 4)), root(std::sqrt(static_cast<double>(n_fft))) {
    const std::int64_t width = win_length.value_or(n_fft);
    if (n_fft < 1) fail<ValueError>("[", op, "] n_fft must be at least 1, got ", n_fft);
    if (hop < 1) fail<ValueError>("[", op, "] hop_length must be at least 1, got ", hop);
    if (width < 1 || width > n_fft) {
      fail<ValueError>("[", op, "] win_length must be from 1 to n_fft = ", n_fft, ", got ", width);
    }
    const DType real = real_dtype(x.dtype());
    if (given) {
      check_defined(*given, op);
      check_same_device(x, *given, op);
      if (given->ndim() != 1 || given->size(0) != width) {
        fail<ValueError>("[", op, "] window: expected win_length = ", width, " elements in one axis, got shape ",
                         given->shape());
      }
      window = cast(*given, is_complex(given->dtype()) ? complex_dtype(real) : real);
    } else if (width < n_fft) {
      window = ones({width}, real, x.device());
    }
    const std::int64_t left = (n_fft - width) / 2;
    if (width < n_fft) window = pad(window, {left, n_fft - width - left});
  }
  bool is_complex_window() const { return window.defined() && is_complex(window.dtype()); }
};

/// True if an element is 0 or negligible; false on meta.
bool has_zero(const Tensor& x) {
  if (x.device().is_meta() || x.numel() == 0) return false;
  const autograd::NoGrad no_grad;
  const Tensor shown = is_batched(x) ? physical(x, *x->hidden) : x;
  constexpr double kLeast = 1e-11;
  return cast(to_device(min(abs(shown)), kCPU), DType::Float64).data<double>()[0] < kLeast;
}

}  // namespace

Tensor Stft::call(const Tensor& given, std::int64_t n_fft, std::optional<std::int64_t> hop_length,
                  std::optional<std::int64_t> win_length, const std::optional<Tensor>& window, bool center,
                  std::string_view pad_mode, bool normalized, std::optional<bool> onesided, bool return_complex) {
  if (any_integer(given, window)) {
    return call_in_floats<Stft>(given, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
                                return_complex);
  }
  Tensor x = as_inexact(given, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (!return_complex) {
    fail<ValueError>("[stft] return_complex=False is not supported: take view_as_real() of the complex result");
  }
  if (x.ndim() == 0) fail<ValueError>("[stft] x needs an axis of time, got shape []");
  const Frames frames(x, n_fft, hop_length, win_length, window, info.name);
  const bool real_parts = !is_complex(x.dtype()) && !frames.is_complex_window();
  const bool halved = onesided.value_or(real_parts);
  if (halved && !real_parts) {
    fail<ValueError>(
        "[stft] onesided=True is for real signals and windows: complex ones have no conjugate frequencies");
  }
  if (center) x = pad(x, {n_fft / 2, n_fft / 2}, pad_mode);
  if (x.size(-1) < n_fft) {
    fail<ValueError>("[stft] windows of n_fft = ", n_fft, " elements do not fit into signals of ", x.size(-1),
                     " (shape ", given.shape(), ", center=", center ? "True" : "False", ")");
  }
  Tensor parts = SlidingWindow::call(x, -1, n_fft, frames.hop);
  if (frames.window.defined()) parts = multiply(parts, frames.window);
  const double scale = normalized ? 1 / frames.root : 1;
  if (halved) return swapaxes(fft_r2c(parts, -1, scale), -1, -2);
  if (!is_complex(parts.dtype())) {
    parts = cast(parts, parts.dtype() == DType::Float32 ? DType::Complex64 : DType::Complex128);
  }
  return swapaxes(fft_c2c(parts, {-1}, scale), -1, -2);
}

Tensor Istft::call(const Tensor& x, std::int64_t n_fft, std::optional<std::int64_t> hop_length,
                   std::optional<std::int64_t> win_length, const std::optional<Tensor>& window, bool center,
                   bool normalized, std::optional<bool> onesided, std::optional<std::int64_t> length,
                   bool return_complex) {
  check_defined(x, info.name);
  check_dtype(x, info.dtypes, info.name);
  if (x.ndim() < 2 || x.size(-1) == 0) {
    fail<ValueError>("[istft] x needs the axes of frequencies and windows, and a window, got shape ", x.shape());
  }
  const Frames frames(x, n_fft, hop_length, win_length, window, info.name);
  const bool halved = onesided.value_or(x.size(-2) != n_fft);
  const std::int64_t frequencies = halved ? n_fft / 2 + 1 : n_fft;
  if (x.size(-2) != frequencies) {
    fail<ValueError>("[istft] expected ", frequencies, " frequencies for n_fft = ", n_fft,
                     " and onesided=", halved ? "True" : "False", ", got ", x.size(-2), " (shape ", x.shape(), ")");
  }
  if (halved && return_complex) {
    fail<ValueError>("[istft] return_complex=True needs all n_fft frequencies: half of them describe a real signal");
  }
  if (!return_complex && frames.is_complex_window())
    fail<ValueError>("[istft] a complex window gives a complex signal: pass return_complex=True");
  if (length && *length < 0) fail<ValueError>("[istft] length must not be negative, got ", *length);
  const double scale = normalized ? 1 / frames.root : 1 / static_cast<double>(n_fft);
  Tensor spectra = swapaxes(x, -1, -2);
  if (!return_complex && !halved) spectra = narrow(spectra, -1, 0, n_fft / 2 + 1);
  Tensor parts = return_complex ? fft_c2c(spectra, {-1}, scale, false) : fft_c2r(spectra, n_fft, -1, scale);

  const std::int64_t count = x.size(-1);
  const std::int64_t whole = n_fft + frames.hop * (count - 1);
  const std::int64_t start = center ? n_fft / 2 : 0;
  const std::int64_t end = length ? start + *length : center ? whole - n_fft / 2 : whole;
  const std::int64_t reached = std::min(end, whole);
  if (reached < start)
    fail<ValueError>("[istft] windows of n_fft = ", n_fft,
                     " elements are too few: with center=True no signal is left between their halves");
  Tensor squares;
  if (frames.window.defined()) {
    parts = multiply(parts, frames.window);
    squares = square(frames.window);
  } else {
    squares = ones({n_fft}, real_dtype(x.dtype()), x.device());
  }
  const auto signal = [&](const Tensor& windows) {
    return narrow(overlap_add(windows, frames.hop, whole), -1, start, reached - start);
  };
  const Tensor weights = signal(broadcast_to(squares, {count, n_fft}));
  if (has_zero(weights)) {
    fail<ValueError>(
        "[istft] some elements are outside of all windows, or where these are 0: choose a smaller hop_length than ",
        frames.hop, " or another window");
  }
  const Tensor y = divide(signal(parts), weights);
  return end > reached ? pad(y, {0, end - reached}) : y;
}

}  // namespace lamella
