#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "engine/autograd/graph/meta.h"
#include "engine/core/modes.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

// Note [Duals]
// A tensor may have a tangent for each *level* of forward mode that its thread is in. While a thread is in one,
// Modes::kDuals is set, and an operator that gets a tensor with a tangent computes those of its results beside them.
//
// Levels are looked at one by one, outermost first, each with itself and all inner ones hidden (HideLevels). A tangent
// of an inner level may thus itself have tangents of the outer ones, and never the other way round: a nested call of
// jvp sees the outer one's perturbation as part of its values, and does not mistake one for the other. Nothing is
// hidden from the tape: a tangent is an ordinary tensor, recorded where its operands are.
//
// A tangent may be on the tape of the very node that keeps its tensor (tanh saves its output, whose tangent is computed
// from it). So tensors share a tangent by a pointer that the level empties when it ends: no cycle outlives it.

class LiveLevel;

/// Begins a level of forward mode on this thread and returns its number. Levels nest: their tangents are kept apart,
/// and a number is never used again.
std::uint64_t enter_dual_level();
/// Ends the level, which must be the innermost one of this thread (RuntimeError otherwise). Its tangents are dropped:
/// tensors that outlive it are ordinary ones.
void exit_dual_level(std::uint64_t level);

/// Hides level `from` of this thread, and those inside of it, for a scope; levels entered in the scope are not hidden.
class HideLevels {
 public:
  explicit HideLevels(std::uint64_t from = 0);
  ~HideLevels();
  HideLevels(const HideLevels&) = delete;
  HideLevels& operator=(const HideLevels&) = delete;

 private:
  std::vector<std::shared_ptr<LiveLevel>> before_;
};

/// Enters `levels` in the place of this thread's, for a scope in which a call made in them is repeated. A level that
/// has ended since begins anew under its number, and ends with the scope.
class RepeatedLevels {
 public:
  explicit RepeatedLevels(const std::vector<std::shared_ptr<LiveLevel>>& levels);
  ~RepeatedLevels();
  RepeatedLevels(const RepeatedLevels&) = delete;
  RepeatedLevels& operator=(const RepeatedLevels&) = delete;

 private:
  std::vector<std::shared_ptr<LiveLevel>> before_;
  std::vector<std::shared_ptr<LiveLevel>> begun_;
};

/// Returns the innermost level of this thread that is not hidden.
std::optional<std::uint64_t> innermost_dual_level();
bool is_visible_level(std::uint64_t level) noexcept;

using Levels = SmallVector<std::uint64_t, 2>;

/// Returns the levels at which one of these tensors has a tangent, outermost first; hidden levels do not count.
Levels levels_of(std::span<const Tensor* const> tensors);
/// True if x has a tangent at a level that is not hidden.
bool is_dual(const Tensor& x);
inline bool any_dual(std::span<const Tensor> tensors) {
  if (!duals_active()) return false;
  for (const Tensor& x : tensors) {
    if (x.defined() && is_dual(x)) return true;
  }
  return false;
}
/// True if x has a tangent of its own at any level that has not ended, hidden or not.
bool has_tangents(const Tensor& x);

/// Returns x's tangent; undefined where it has none.
Tensor tangent_of(const Tensor& x, std::uint64_t level);
/// Gives x a tangent, or takes it away (an undefined one). Does nothing where the level is hidden.
void set_tangent(const Tensor& x, std::uint64_t level, const Tensor& tangent);
/// Returns an entry of a tensor's tangents that holds `tangent`; one without a value where the level is hidden.
Tangent make_tangent(std::uint64_t level, const Tensor& tangent);
/// Gives `to`, an alias of `from`, the tangents of `from`.
void share_tangents(const Tensor& from, const Tensor& to);
/// Replaces x's tangents after a write in place by those of `result`, which holds the new values (undefined:
/// constants). The base and the other views of x's memory follow.
void move_tangents(const Tensor& x, const Tensor& result);
/// Replaces x's tangent at one level after a write in place. The base and the other views of x's memory follow. Does
/// nothing where the level is hidden.
void write_tangent(const Tensor& x, std::uint64_t level, const Tensor& tangent);
/// Follows outputs of a built-in operator that are views of its inputs also where recording is off: a write into such a
/// view moves its base's tangents.
void track_dual_views(std::span<const Tensor* const> inputs, std::span<Tensor* const> outputs);
/// Notes that a view, made of a base whose tangents were moved by writes, has seen these writes.
void note_dual_writes(const Tensor& base, const Tensor& view);

}  // namespace lamella::autograd
