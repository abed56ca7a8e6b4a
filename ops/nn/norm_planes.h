#pragma once

#include <algorithm>
#include <cstdint>

#include "engine/core/tensor.h"
#include "engine/runtime/parallel.h"
#include "ops/nn/norm_setting.h"

namespace lamella {

/// The grouping of the planes of x under common means.
class NormPlanes {
 public:
  NormPlanes(const Tensor& x, NormOver over)
      : examples(x.size(0)),
        channels(x.size(1) * x.size(2)),
        size(x.size(3)),
        count(examples * channels),
        members_(x.size(2)),
        groups_(x.size(1)),
        batch_(over == NormOver::Batch) {}

  const std::int64_t examples;
  const std::int64_t channels;
  const std::int64_t size;
  const std::int64_t count;

  std::int64_t measures() const noexcept { return batch_ ? channels : examples * groups_; }
  /// True if the planes of a mean are neighbors in memory, and so few elements that one thread measures them.
  bool are_rows() const noexcept {
    constexpr std::int64_t kMostElements = 1 << 18;
    return !batch_ && size * members_ <= kMostElements;
  }
  std::int64_t members() const noexcept { return members_; }
  /// Calls f(plane, its mean, its channel) for planes [first, last).
  template <class F>
  void for_each(std::int64_t first, std::int64_t last, F&& f) const {
    // Counted instead of divided: planes may be as short as a vector.
    std::int64_t channel = first % channels;
    std::int64_t member = first % members_;
    std::int64_t measure = batch_ ? channel : first / members_;
    for (std::int64_t plane = first; plane < last; ++plane) {
      f(plane, measure, channel);
      const bool wraps = ++channel == channels;
      if (wraps) channel = 0;
      if (batch_) {
        measure = channel;
      } else if (++member == members_) {
        member = 0;
        ++measure;
      }
    }
  }
  /// Returns the number of elements per mean.
  double elements() const noexcept {
    return static_cast<double>(size) * static_cast<double>(batch_ ? examples : members_);
  }
  /// Calls f(first plane, last plane) for parts of the planes, in several threads.
  template <class F>
  void for_each_part(F&& f) const {
    constexpr std::int64_t kGrain = 16384;  // elements that one thread takes at a time
    parallel_for(0, count, std::max<std::int64_t>(1, kGrain / size), f);
  }

 private:
  const std::int64_t members_;
  const std::int64_t groups_;
  const bool batch_;
};

/// Measures again, in a wider type, the means of x, [n, groups, members, size], contiguous and float64, whose variance
/// is beyond the range of doubles or so small that it has lost bits. The arrays have an element per mean: of its value,
/// the biased variance, and 1 / sqrt(variance + eps). Returns true if there are such means.
bool measure_widely(const Tensor& x, const NormSetting& setting, double* mean, double* variance, double* rstd);

}  // namespace lamella
