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

/// A use of an operator: what the builders describe.
struct Use {
  std::string op_type_name;
  /// What the use is called; the operator's name where empty.
  std::string op_name;
  std::map<std::string, std::vector<lamella::Tensor>> inputs;
  /// How many tensors each output has, where the operator leaves that open.
  std::map<std::string, std::int32_t> outputs;
  /// Of the types that are declared, or numbers that these hold.
  std::map<std::string, AttrValue> attrs;
};

/// The outputs, by name, in the operator's order.
using Results = std::vector<std::pair<std::string, std::vector<lamella::Tensor>>>;

/// Calls it, recorded as any operator. ValueError where the use does not fit what the operator declares.
Results call(const Use& use);

/// How the operator can be split over devices, given its inputs (of which only shapes and types are looked at) and
/// attributes: what its SetGetSbpFn lists, and last that every device holds everything.
std::vector<SbpSignature> sbp_signatures(const Use& use);

/// Has a function of the host language compute the operator's outputs where its attribute "device_sub_tag" is "py";
/// null takes it back.
void set_host_kernel(const std::string& op, detail::HostKernel kernel);

}  // namespace lamella::user_op

namespace lamella::user_op::detail {

/// One call, as the contexts show it.
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
  /// While a kernel runs: the inputs', the outputs' and the buffer's memory.
  std::vector<Tensor> memory;
  DeviceCtx device_ctx{nullptr};

  void add_inputs(const ArgDef& arg, std::span<const lamella::Tensor> given);
  void add_outputs(const ArgDef& arg, std::int64_t count);
  /// Makes `conf`; what() of the attributes is checked.
  void finish(const std::string& op_name, std::map<std::string, AttrValue> attrs);
  /// Sets the outputs' shapes and types, and checks that the operator did.
  void infer();
  /// The position of an argument among the inputs, or behind them among the outputs; nothing where the call does not
  /// have it. ValueError where the operator does not declare it.
  std::optional<std::size_t> find(const std::string& name, std::int32_t index) const;
  TensorDesc& desc(std::size_t position) {
    return position < inputs.size() ? input_descs[position] : output_descs[position - inputs.size()];
  }
  /// "[myrelu]".
  std::string where() const { return "[" + def->name + "]"; }
};

/// The call that the registry's arguments are for.
Call read_call(Entry& entry, std::span<const registry::Arg> args, Device device);
/// The device of a call's tensors.
Device device_of(std::span<const registry::Arg> args);
/// The name of the use that is being called on this thread.
const std::string& current_op_name();

/// Computes the outputs on the inputs' device.
std::vector<lamella::Tensor> compute(Entry& entry, Call& call, Device device);
/// The outputs of a call with these arguments, one entry for each tensor.
std::vector<std::pair<std::string, std::int32_t>> outputs_of(const OpDef& def, std::span<const registry::Arg> args);
/// Outputs, which go by these names, in the form of the schema's results.
void store_results(const OpDef& def, const std::vector<std::pair<std::string, std::int32_t>>& names,
                   std::vector<lamella::Tensor> outputs, registry::Value* results);

/// The registry's kernel for Autograd.
void run_recorded(const void* entry, const registry::CallContext& context, const registry::Arg* args,
                  registry::Value* results);

}  // namespace lamella::user_op::detail
