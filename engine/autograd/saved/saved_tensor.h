#pragma once

#include <string>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/saved/packed.h"
#include "engine/core/foreign.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// A tensor kept from forward to backward, with the version it had: a later write in place is found out.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& x);

  const Tensor& tensor() const noexcept { return tensor_; }
  /// The tensor was written to since it was saved; false for a packed one.
  bool is_overwritten() const noexcept { return tensor_.defined() && changed_since(tensor_, version_); }
  /// Whether output `output_nr` of the node was saved.
  bool is_output(std::uint32_t output_nr) const noexcept { return kind_ == Kind::Output && output_nr_ == output_nr; }
  /// Notes the tangent that the saved output got at a level of forward mode.
  void take_tangent(std::uint64_t level, const Tensor& tangent);
  /// Called once the outputs are known: holds output `output_nr` of the node without its graph, which would be a cycle.
  void become_output(std::uint32_t output_nr);
  /// Called where the tensor is a constant to this layer, whatever it was computed from.
  void become_constant() { tensor_ = tensor_.detach(); }
  /// Called where neither an input nor an output of the layer was saved.
  void become_intermediate() noexcept { kind_ = Kind::Intermediate; }
  /// Takes the version of now: the layer itself wrote to the tensor and said so.
  void refresh_version() noexcept;

  /// Hands the tensor, settled by now, to the innermost pair of hooks and keeps what pack() returns in its place.
  /// RuntimeError where pack() writes into it.
  void pack(const Node& owner);
  /// What stands for the tensor; null where it is kept as it is.
  const Packed* packed() const noexcept { return packed_.get(); }

  /// The tensor. `owner` is the node that saved it; position and saved_at (or, where that is empty, what trace() noted
  /// of the owner's call) go into the message where it was overwritten (RuntimeError). A packed one comes from
  /// unpack(): TypeError, ValueError where that returns something else.
  Tensor unpack(Node& owner, std::size_t position, SourceLine saved_at) const;

 private:
  enum class Kind : std::uint32_t { Input, Output, Intermediate };

  Tensor unpack_packed(Node& owner, std::size_t position, SourceLine saved_at) const;
  [[noreturn]] void fail_overwritten(const Tensor& x, std::uint32_t version, const Node& owner, std::size_t position,
                                     SourceLine saved_at) const;

  Tensor tensor_;
  /// What stamp_of() gave.
  std::uint32_t version_ = 0;
  // Three words in all: nodes hold these inline.
  std::uint32_t output_nr_ : 30 = 0;
  Kind kind_ : 2 = Kind::Input;
  Ref<Packed> packed_;
};

}  // namespace lamella::autograd
