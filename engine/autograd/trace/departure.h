#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "engine/core/host.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Why a result is off the tape.
enum class Leaving : std::uint8_t {
  /// By the mode of the call, which becomes one of the next four.
  Mode,
  NoGrad,
  Inference,
  /// In the forward of a custom layer, where recording is suspended.
  Forward,
  /// In a backward pass that is not recorded itself.
  Pass,
  /// The result is of a dtype that has no gradient.
  DType,
  /// The operation has no gradient.
  NotDifferentiable,
  /// mark_non_differentiable.
  Marked,
  Detached,
  /// A constant was written into it in place.
  Overwritten,
  /// It was made of the host language's values, after values of a tensor that wants a gradient had gone there.
  Host,
  /// None of the operation's inputs wanted a gradient any more: see `before`.
  Earlier,
};

/// Where and why a tensor left the tape. Written down under trace() only.
struct Departure {
  std::string op;
  Leaving reason = Leaving::Mode;
  SourceLine line;
  /// The result's dtype; what makes Leaving::DType plain.
  DType dtype = DType::Float32;
  /// Which input of the operation `before` is of.
  std::size_t input = 0;
  /// The departure of an input that had left before.
  std::shared_ptr<const Departure> before;
  /// Operations between this one and `before` that are left out: a long computation keeps its ends only.
  std::size_t skipped = 0;
  /// How many departures `before` leads to.
  std::size_t length = 0;
};

/// Notes why y, a result of `op`, is off the tape, where an input wants a gradient, or had left the tape before. To be
/// called under trace() only.
void note_departure(std::string_view op, std::span<const Tensor* const> inputs, const Tensor& y,
                    Leaving reason = Leaving::Mode);
/// Notes that x was overwritten by a constant, where it wants a gradient; the storage knows by which operation.
void note_overwritten(const Tensor& x);
/// Notes that `grad`, which nobody else holds yet, is what a pass that is not recorded computed at the node.
void note_gradient(const Node& node, const Tensor& grad);
/// Notes that x's values go to the host language, where x wants a gradient or had left the tape before.
void note_escape_to_host(const Tensor& x);
/// Notes that x was made of the host's values, where a tensor's had gone there before on this thread.
void note_made_by_host(const Tensor& x);
/// A new trace() begins without what went to the host in an earlier one.
void forget_escapes() noexcept;

/// What was noted; null where nothing was.
std::shared_ptr<const Departure> departure_of(const Tensor& x);

}  // namespace lamella::autograd
