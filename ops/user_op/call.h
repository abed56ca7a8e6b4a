#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"
#include "engine/registry/value.h"
#include "ops/user_op/bound_call.h"
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

/// Computes uses of operators that no library defines, by operators that are recorded; nothing for a name that it does
/// not know.
using HostOperators = std::function<std::optional<Results>(const Use&)>;
/// Sets the operators of the host language, which are there beside those of libraries; null removes them.
void set_host_operators(HostOperators operators);

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

}  // namespace lamella::user_op::detail
