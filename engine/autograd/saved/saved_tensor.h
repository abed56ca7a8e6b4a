#pragma once

#include <string>

#include "engine/autograd/graph/node.h"
#include "engine/autograd/saved/packed.h"
#include "engine/core/foreign.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

/// Tensor kept from forward to backward, with its version, by which a later write in place is detected.
class SavedTensor {
 public:
  SavedTensor() = default;
  explicit SavedTensor(const Tensor& x);

  const Tensor& tensor() const noexcept { return tensor_; }
  /// True if the tensor was written to since it was saved; false for a packed one.
  bool is_overwritten() const noexcept { return tensor_.defined() && changed_since(tensor_, version_); }
  /// True if output `output_nr` of the node was saved.
  bool is_output(std::uint32_t output_nr) const noexcept { return kind_ == Kind::Output && output_nr_ == output_nr; }
  /// Gives the saved output the tangent that the output got at a level of forward mode.
  void take_tangent(std::uint64_t level, const Tensor& tangent);
  /// Makes this the saved output `output_nr` of the node, held without its graph, which would be a cycle. Called once
  /// the outputs are known.
  void become_output(std::uint32_t output_nr);
  /// Makes this a constant to the layer, whatever it was computed from.
  void become_constant() { tensor_ = tensor_.detach(); }
  /// Makes this an intermediate: neither an input nor an output of the layer.
  void become_intermediate() noexcept { kind_ = Kind::Intermediate; }
  /// Takes the current version, where the layer itself wrote to the tensor and marked it.
  void refresh_version() noexcept;

  /// Hands the tensor, whose kind is settled by now, to the innermost pair of hooks and keeps the result of pack() in
  /// its place. RuntimeError where pack() writes into it.
  void pack(const Node& owner);
  /// Returns the packed tensor; null where the tensor is kept as it is.
  const Packed* packed() const noexcept { return packed_.get(); }

  /// Returns the tensor; a packed one comes from unpack(). `owner` is the node that saved it; position and saved_at
  /// (or, where that is empty, the place that trace() noted of the owner's call) go into the message where it was
  /// overwritten (RuntimeError). TypeError and ValueError where unpack() returns something else.
  Tensor unpack(Node& owner, std::size_t position, SourceLine saved_at) const;

 private:
  enum class Kind : std::uint32_t { Input, Output, Intermediate };

  Tensor unpack_packed(Node& owner, std::size_t position, SourceLine saved_at) const;
  [[noreturn]] void fail_overwritten(const Tensor& x, std::uint32_t version, const Node& owner, std::size_t position,
                                     SourceLine saved_at) const;

  Tensor tensor_;
  /// Stamp of the tensor when it was saved; see stamp_of().
  std::uint32_t version_ = 0;
  // Bit fields, as nodes hold saved tensors inline: three words in all.
  std::uint32_t output_nr_ : 30 = 0;
  Kind kind_ : 2 = Kind::Input;
  Ref<Packed> packed_;
};

}  // namespace lamella::autograd
