#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/batch_scope.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Enters a call of vmap and returns its level.
std::uint64_t enter_vmap(std::int64_t size, Randomness randomness);
/// Leaves a call of vmap; does nothing where that was done already.
void leave_vmap(std::uint64_t level) noexcept;

/// Enters a call of vmap for a scope; level() is that of the axes which the call hides.
class VmapScope {
 public:
  VmapScope(std::int64_t size, Randomness randomness) : level_(enter_vmap(size, randomness)) {}
  ~VmapScope() { leave_vmap(level_); }
  VmapScope(const VmapScope&) = delete;
  VmapScope& operator=(const VmapScope&) = delete;

  std::uint64_t level() const noexcept { return level_; }

 private:
  const std::uint64_t level_;
};

/// Arguments of vmap that a layer's own rule is told.
struct VmapInfo {
  /// Size of the mapped axis.
  std::int64_t batch_size = 0;
  /// Behavior of random operators that the caller of vmap chose.
  Randomness randomness = Randomness::Error;
  /// True for each tensor among the arguments, in order, that has the mapped axis, as its axis 0. One that is the same
  /// for all examples and wants a gradient has it, too, broadcast.
  std::vector<bool> mapped;
};

/// Call of a layer that has a rule of its own for vmap, with arguments of which some are batched: the innermost of
/// their axes is shown to the rule, and that call of vmap is left while the rule runs.
class VmapRule {
 public:
  /// Returns the call of a rule for these inputs; nothing where no tensor is batched.
  static std::optional<VmapRule> of(std::span<const Tensor* const> inputs);

  /// True if a rule gets x with the axis of `level`: where x has it, and where a gradient or tangent of x has it, which
  /// may be another one for each example although x is the same for all.
  static bool is_mapped(const Tensor& x, std::uint64_t level);

  const VmapInfo& info() const noexcept { return info_; }
  std::uint64_t level() const noexcept { return level_; }
  /// Returns x with the axis as its axis 0; x itself where it is not mapped.
  Tensor shown(const Tensor& x) const;
  /// Returns a result with its axis 0 hidden again; ValueError naming `layer` where it has another size.
  Tensor hidden(const Tensor& y, std::string_view layer) const;

  /// Leaves the call of vmap for a scope.
  class Left {
   public:
    explicit Left(const VmapRule& rule);
    ~Left();
    Left(const Left&) = delete;
    Left& operator=(const Left&) = delete;

   private:
    std::vector<std::uint64_t> levels_;
    std::vector<BatchScope> scopes_;
  };

 private:
  std::uint64_t level_ = 0;
  VmapInfo info_;
};

}  // namespace lamella::autograd
