#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/user_op/context.h"
#include "ops/user_op/definitions.h"

namespace lamella::user_op::detail {

/// A call, as the contexts present it.
struct Call {
  Call(std::shared_ptr<const OpDef> def, DeviceType device);

  std::shared_ptr<const OpDef> def;
  DeviceType device;
  std::vector<std::pair<std::string, std::int32_t>> inputs;
  std::vector<std::pair<std::string, std::int32_t>> outputs;
  std::vector<TensorDesc> input_descs;
  std::vector<TensorDesc> output_descs;
  /// Result of modify(): whether gradients flow through each input and output.
  std::vector<ArgModifier> input_modifiers;
  std::vector<ArgModifier> output_modifiers;
  std::vector<lamella::Tensor> tensors;
  UserOpConfWrapper conf;
  /// The memory of the inputs, the outputs and the buffer, while a kernel runs.
  std::vector<Tensor> memory;
  DeviceCtx device_ctx{nullptr};

  void add_inputs(const ArgDef& arg, std::span<const lamella::Tensor> given);
  void add_outputs(const ArgDef& arg, std::int64_t count);
  /// Builds `conf` and runs the operator's check of its attributes.
  void finish(const std::string& op_name, std::map<std::string, AttrValue> attrs);
  /// Sets the outputs' shapes and types, and checks that the operator did so.
  void infer();
  /// Runs the author's functions that say what holds of each input and output. Throws NotImplementedError if an input
  /// is to be written to, or an output to lie on another device.
  void modify();
  /// Returns the position of an argument among the inputs, or behind them among the outputs; nothing if the call does
  /// not have it. Throws ValueError if the operator does not declare it.
  std::optional<std::size_t> find(const std::string& name, std::int32_t index) const;
  TensorDesc& desc(std::size_t position) {
    return position < inputs.size() ? input_descs[position] : output_descs[position - inputs.size()];
  }
  /// Returns the operator's name in brackets, such as "[myrelu]".
  std::string where() const { return "[" + def->name + "]"; }
};

}  // namespace lamella::user_op::detail
