#include "ops/user_op/schema.h"

#include <algorithm>

#include "engine/core/error.h"

namespace lamella::user_op::detail {
namespace {

using Base = registry::Type::Base;

registry::Type type_of(const ArgDef& arg) {
  registry::Type type{.base = Base::Tensor};
  type.list = !arg.single();
  type.optional = arg.optional;
  return type;
}

registry::Type type_of(UserOpAttrType type) {
  switch (type) {
    case UserOpAttrType::kAtInt32:
    case UserOpAttrType::kAtInt64:
      return {.base = Base::Int};
    case UserOpAttrType::kAtBool:
      return {.base = Base::Bool};
    case UserOpAttrType::kAtFloat:
    case UserOpAttrType::kAtDouble:
      return {.base = Base::Float};
    case UserOpAttrType::kAtString:
      return {.base = Base::Str};
    case UserOpAttrType::kAtDataType:
      return {.base = Base::DType};
    case UserOpAttrType::kAtShape:
    case UserOpAttrType::kAtListInt32:
    case UserOpAttrType::kAtListInt64:
      return registry::list_of(Base::Int);
    case UserOpAttrType::kAtListFloat:
      return registry::list_of(Base::Float);
    case UserOpAttrType::kAtListDataType:
    case UserOpAttrType::kAtListShape:
    case UserOpAttrType::kAtListString:
      return registry::list_of(Base::Str);
  }
  fail<ValueError>("this is not a type of attributes");
}

Schema::Argument named(const std::string& name, registry::Type type) {
  Schema::Argument argument;
  argument.name = name;
  argument.type = type;
  return argument;
}

}  // namespace

Schema schema_of(const OpDef& def) {
  Schema schema;
  schema.name = def.name;
  std::size_t required = 0;  // number of inputs up to the last one that is not optional
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    if (!def.inputs[i].optional) required = i + 1;
  }
  for (std::size_t i = 0; i < def.inputs.size(); ++i) {
    Schema::Argument argument = named(def.inputs[i].name, type_of(def.inputs[i]));
    if (i >= required) argument.default_value = registry::Value();
    schema.arguments.push_back(std::move(argument));
  }
  for (const AttrDef& attr : def.attrs) {
    Schema::Argument argument = named(attr.name, type_of(attr.type));
    if (attr.has_default) argument.default_value = to_value(attr.default_value);
    argument.keyword_only = true;
    schema.arguments.push_back(std::move(argument));
  }
  for (const ArgDef& output : def.outputs) {
    if (is_counted(output)) {
      Schema::Argument argument = named(count_argument(output), {.base = Base::Int});
      argument.default_value = std::int64_t{output.optional ? 0 : output.count};
      argument.keyword_only = true;
      schema.arguments.push_back(std::move(argument));
    }
    registry::Type type = type_of(output);
    if (type.list) type.optional = false;  // an empty list stands for none
    Schema::Result& result = schema.results.emplace_back();
    result.name = output.name;
    result.type = type;
  }
  return schema;
}

std::size_t argument_count(const OpDef& def) {
  return def.inputs.size() + def.attrs.size() +
         static_cast<std::size_t>(std::ranges::count_if(def.outputs, is_counted));
}

}  // namespace lamella::user_op::detail
