#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/autograd/tangents/duals.h"
#include "engine/core/tensor.h"

// Forward mode: derivatives along a direction, computed beside the values. See Note [Duals] in duals.h.

namespace lamella::autograd {

/// Enters a level of forward mode for a scope.
class DualLevel {
 public:
  DualLevel() : level_(enter_dual_level()) {}
  ~DualLevel() { exit_dual_level(level_); }
  DualLevel(const DualLevel&) = delete;
  DualLevel& operator=(const DualLevel&) = delete;
  std::uint64_t level() const noexcept { return level_; }

 private:
  std::uint64_t level_;
};

/// Returns a tensor with primal's values, memory and place on the tape that has `tangent` at the innermost level, or at
/// `level` of this thread: tensors computed from it have a tangent, too.
///
/// Both arguments are of one floating or complex dtype (TypeError), shape (ValueError) and device (RuntimeError).
/// RuntimeError outside of any level, where primal has a tangent at this level already, and where the tangent has one
/// of its own at the same level or an inner one.
Tensor make_dual(const Tensor& primal, const Tensor& tangent, std::optional<std::uint64_t> level = std::nullopt);

/// Parts of a tensor: its value and its tangent at a level.
struct UnpackedDual {
  /// Tensor with the same values, memory and place on the tape, without a tangent at the level.
  Tensor primal;
  /// Tangent; undefined where the tensor has none.
  Tensor tangent;
};
/// Splits a tensor at the innermost level, which `level` names if it is given (RuntimeError for another one). Outside
/// of any level no tensor has a tangent.
UnpackedDual unpack_dual(const Tensor& x, std::optional<std::uint64_t> level = std::nullopt);

/// Returns x without a place on the tape, as detach() gives it, that keeps its tangents: the result of a function that
/// differentiates inside, so that reverse mode does not follow it.
Tensor off_tape(const Tensor& x);

/// Results of the function that jvp() called, and the derivative of each.
struct JvpResult {
  std::vector<Tensor> outputs;
  std::vector<Tensor> tangents;
};

/// Returns f(primals), and the product of f's Jacobian there with `tangents`, in one run of f.
///
/// Gives outputs that do not depend on the primals a tangent of zeros; RuntimeError for them where `strict` is set. The
/// function may use reverse mode, another jvp and in-place operators. ValueError where the counts differ; make_dual()
/// says what else is asked of primals and tangents.
JvpResult jvp(const std::function<std::vector<Tensor>(std::span<const Tensor>)>& f, std::span<const Tensor> primals,
              std::span<const Tensor> tangents, bool strict = false);
/// Returns the value of a function of one tensor, and its tangent.
std::pair<Tensor, Tensor> jvp(const std::function<Tensor(const Tensor&)>& f, const Tensor& primal,
                              const Tensor& tangent);

}  // namespace lamella::autograd
