#pragma once

#include <string>

#include "engine/core/dtype.h"
#include "engine/registry/schema.h"
#include "engine/registry/value.h"
#include "ops/user_op/definitions.h"

// An operator of the OneFlow dialect in the registry's terms.

namespace lamella::user_op::detail {

/// Namespace of these operators, as in `lm.ops.user_op.myrelu`.
inline constexpr const char* kNamespace = "user_op";

/// True if the call determines the number of an output's tensors, by the argument "<output>_count".
inline bool is_counted(const ArgDef& output) { return output.optional || output.at_least; }
/// Returns the number of the operator's arguments in the registry: inputs, attributes and counts.
std::size_t argument_count(const OpDef& def);
inline std::string count_argument(const ArgDef& output) { return output.name + "_count"; }
/// Returns the operator's arguments and results in the registry's types.
Schema schema_of(const OpDef& def);

/// Convert an attribute to an argument of the registry, and back. Lists of types and of shapes are lists of texts
/// there: "float32", "2,3".
registry::Value to_value(const AttrValue& value);
AttrValue from_arg(const registry::Arg& arg, UserOpAttrType type, const std::string& what);

DType to_dtype(DataType type, const std::string& what);
DataType to_data_type(DType dtype);

}  // namespace lamella::user_op::detail
