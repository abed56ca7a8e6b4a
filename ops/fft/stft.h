#pragma once

#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/op_info.h"

// Short-time Fourier transforms (Griffin and Lim, Signal estimation from modified short-time Fourier transform, 1984),
// composed of other operators.

namespace lamella {

struct Stft {
  static constexpr OpInfo info{
      .name = "stft",
      .doc =
          "The Fourier transforms of the windows of n_fft elements of signals, [.., time], hop_length (n_fft // 4) "
          "apart: "
          "complex, [.., frequencies, windows], with n_fft // 2 + 1 frequencies where `onesided` is set (for real x, "
          "if "
          "None), n_fft otherwise. Each window is multiplied by `window`, of win_length (n_fft) elements, with zeros "
          "on "
          "both sides; None is ones. With center=True the first window is around the first element: x gets n_fft // 2 "
          "more elements at both ends, as pad() in `pad_mode` gives them. With normalized=True the result is divided "
          "by "
          "the root of n_fft. return_complex=True is all there is: view_as_real() makes pairs of numbers of it.",
      .parameters =
          "x, /, n_fft, hop_length=None, win_length=None, window=None, center=True, pad_mode='reflect', "
          "normalized=False, onesided=None, return_complex=True",
      .example = "stft(arange(8.0), 4).shape",
      .dtypes = {DType::Float32, DType::Float64, DType::Complex64, DType::Complex128}};
  /// Throws ValueError for lengths out of range, a window of another shape, and return_complex=False.
  static Tensor call(const Tensor& x, std::int64_t n_fft, std::optional<std::int64_t> hop_length,
                     std::optional<std::int64_t> win_length, const std::optional<Tensor>& window, bool center,
                     std::string_view pad_mode, bool normalized, std::optional<bool> onesided, bool return_complex);
};

struct Istft {
  static constexpr OpInfo info{
      .name = "istft",
      .doc =
          "The signals, [.., time], whose stft with the same arguments is x, [.., frequencies, windows], or comes "
          "nearest "
          "to it: the windows' inverse transforms times `window`, added up, and divided by the sum of the windows' "
          "squares. `onesided` says whether x has n_fft // 2 + 1 frequencies (None: where it has not n_fft). `length` "
          "is "
          "that of the signal, which otherwise ends with the last window (with center=True in its middle); what lies "
          "behind the windows is 0. Real, or complex with return_complex=True, which wants all n_fft frequencies.",
      .parameters =
          "x, /, n_fft, hop_length=None, win_length=None, window=None, center=True, normalized=False, "
          "onesided=None, length=None, return_complex=False",
      .example = "istft(stft(arange(8.0), 4), 4)",
      .dtypes = Complex};
  /// Throws ValueError as stft does, and if the windows do not cover an element: the sum of their squares is 0 there.
  static Tensor call(const Tensor& x, std::int64_t n_fft, std::optional<std::int64_t> hop_length,
                     std::optional<std::int64_t> win_length, const std::optional<Tensor>& window, bool center,
                     bool normalized, std::optional<bool> onesided, std::optional<std::int64_t> length,
                     bool return_complex);
};

}  // namespace lamella
