#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "engine/core/batch_scope.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Enters a call of vmap, whose level is returned.
std::uint64_t enter_vmap(std::int64_t size, Randomness randomness);
/// Leaves it; nothing happens where that was done already.
void leave_vmap(std::uint64_t level) noexcept;

/// Enters a call of vmap for a scope; what it hides has level().
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

/// What a layer's own rule for vmap is told.
struct VmapInfo {
  /// The size of the mapped axis.
  std::int64_t batch_size = 0;
  /// What vmap was told to do with random numbers.
  Randomness randomness = Randomness::Error;
  /// For each tensor among the arguments, in order: whether it has the mapped axis, as its axis 0.
  std::vector<bool> mapped;
};

/// A call of a layer that has a rule of its own for vmap, with arguments of which some are batched: the innermost of
/// their axes is shown to the rule, and that call of vmap is left while the rule runs.
class VmapRule {
 public:
  /// Nothing where no tensor is batched.
  static std::optional<VmapRule> of(std::span<const Tensor* const> inputs);

  const VmapInfo& info() const noexcept { return info_; }
  std::uint64_t level() const noexcept { return level_; }
  /// x with the axis as its axis 0; x itself where it has none.
  Tensor shown(const Tensor& x) const;
  /// A result with its axis 0 hidden again; ValueError naming `layer` where it has another size.
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
