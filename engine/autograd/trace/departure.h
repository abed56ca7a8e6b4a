#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/host.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Reason why a result is off the tape.
enum class Leaving : std::uint8_t {
  /// Depends on the mode of the call: becomes one of the next six.
  Mode,
  NoGrad,
  Inference,
  /// Ran in the forward of a custom layer, where recording is suspended.
  Forward,
  /// Ran in a backward pass that is not recorded itself.
  Pass,
  /// Gave a result of a dtype that has no gradient.
  DType,
  /// Has no gradient.
  NotDifferentiable,
  /// Was named in mark_non_differentiable().
  Marked,
  Detached,
  /// Was overwritten by a constant in place.
  Overwritten,
  /// Was made of the host language's values, after values of a tensor that wants a gradient had gone there.
  Host,
  /// Had no input left that wanted a gradient: see Departure::before.
  Earlier,
};

/// Place and reason of a tensor's leaving the tape. Noted under trace() only.
struct Departure {
  std::string op;
  Leaving reason = Leaving::Mode;
  SourceLine line;
  /// Dtype of the result, which explains Leaving::DType.
  DType dtype = DType::Float32;
  /// Number of the operation's input that `before` belongs to.
  std::size_t input = 0;
  /// Departure of an input that had left before.
  std::shared_ptr<const Departure> before;
  /// Number of operations between this one and `before` that are left out: a long computation keeps its ends only.
  std::size_t skipped = 0;
  /// Number of departures that `before` leads to.
  std::size_t length = 0;
};

/// Notes why y, a result of `op`, is off the tape, where an input wants a gradient, or had left the tape before. To be
/// called under trace() only.
void note_departure(std::string_view op, std::span<const Tensor* const> inputs, const Tensor& y,
                    Leaving reason = Leaving::Mode);
/// Notes that x was overwritten by a constant, where it wants a gradient; the storage knows by which operation.
void note_overwritten(const Tensor& x);
/// Notes that `grad`, which nobody else holds yet, was computed at the node by a pass that is not recorded.
void note_gradient(const Node& node, const Tensor& grad);
/// Notes that x's values go to the host language, where x wants a gradient or had left the tape before.
void note_escape_to_host(const Tensor& x);
/// Notes that x was made of the host's values, where a tensor's had gone there before on this thread.
void note_made_by_host(const Tensor& x);
/// Forgets which values went to the host, as a new trace() begins without those of an earlier one.
void forget_escapes() noexcept;

/// Returns the tensor's departure; null where none was noted.
std::shared_ptr<const Departure> departure_of(const Tensor& x);

}  // namespace lamella::autograd
