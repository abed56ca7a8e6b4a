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
#include "engine/registry/kernel.h"
#include "engine/registry/value.h"
#include "ops/user_op/sbp.h"
#include "ops/user_op/table.h"

// Calls of operators of the OneFlow dialect, by name.

namespace lamella::user_op {

/// A use of an operator, as the builders describe it.
struct Use {
  std::string op_type_name;
  /// Name of the use; the operator's name if empty.
  std::string op_name;
  std::map<std::string, std::vector<lamella::Tensor>> inputs;
  /// Number of tensors of each output, if the operator leaves that open.
  std::map<std::string, std::int32_t> outputs;
  /// Values of the declared types, or numbers that these can hold.
  std::map<std::string, AttrValue> attrs;
};

/// The outputs, by name, in the operator's order.
using Results = std::vector<std::pair<std::string, std::vector<lamella::Tensor>>>;

/// Calls the operator, recorded like any other. Throws ValueError if the use does not fit the operator's declaration.
Results call(const Use& use);

/// Returns the ways to split the operator over devices, given its inputs (only their shapes and types are used) and
/// attributes: those that its SetGetSbpFn lists and, last, that every device holds everything.
std::vector<SbpSignature> sbp_signatures(const Use& use);

/// The shapes and types of a use's outputs, by name, in the operator's order.
using Described = std::vector<std::pair<std::string, std::vector<TensorDesc>>>;

/// Returns what a call would return, given its inputs (only their shapes and types are used) and attributes. A dynamic
/// output has the largest shape that it may have.
Described describe(const Use& use);

/// Drops the states that kernels keep for uses whose names begin with `prefix`.
void drop_states(const std::string& prefix);

/// Sets a function of the host language that computes the operator's outputs if its attribute "device_sub_tag" is "py";
/// null removes it.
void set_host_kernel(const std::string& op, detail::HostKernel kernel);

}  // namespace lamella::user_op

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
  /// Returns the position of an argument among the inputs, or behind them among the outputs; nothing if the call does
  /// not have it. Throws ValueError if the operator does not declare it.
  std::optional<std::size_t> find(const std::string& name, std::int32_t index) const;
  TensorDesc& desc(std::size_t position) {
    return position < inputs.size() ? input_descs[position] : output_descs[position - inputs.size()];
  }
  /// Returns the operator's name in brackets, such as "[myrelu]".
  std::string where() const { return "[" + def->name + "]"; }
};

/// Builds the call from the registry's arguments.
Call read_call(Entry& entry, std::span<const registry::Arg> args, Device device);
/// Returns the device of a call's tensors.
Device device_of(std::span<const registry::Arg> args);
/// Returns the name of the use that this thread is calling.
const std::string& current_op_name();

/// Computes the outputs on the inputs' device.
std::vector<lamella::Tensor> compute(Entry& entry, Call& call, Device device);
/// Returns the outputs of a call with these arguments, one entry per tensor.
std::vector<std::pair<std::string, std::int32_t>> outputs_of(const OpDef& def, std::span<const registry::Arg> args);
/// Stores the outputs with these names in the form of the schema's results.
void store_results(const OpDef& def, const std::vector<std::pair<std::string, std::int32_t>>& names,
                   std::vector<lamella::Tensor> outputs, registry::Value* results);

/// The registry's kernel for Autograd.
void run_recorded(const void* entry, const registry::CallContext& context, const registry::Arg* args,
                  registry::Value* results);

}  // namespace lamella::user_op::detail
