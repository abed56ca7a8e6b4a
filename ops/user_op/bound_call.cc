#include "ops/user_op/bound_call.h"

#include <utility>

#include "engine/core/error.h"
#include "ops/user_op/schema.h"

namespace lamella::user_op::detail {
namespace {

std::string indexed(const std::string& name, std::int32_t index) { return name + "_" + std::to_string(index); }

TensorDesc describe_tensor(const lamella::Tensor& x) {
  return {Shape(DimVector(x.shape().begin(), x.shape().end())), to_data_type(x.dtype())};
}

void check_count(const Call& call, const ArgDef& arg, std::int64_t given, const char* what) {
  if (given == 0 && arg.optional) return;
  if (given == arg.count || (arg.at_least && given > arg.count)) return;
  fail<ValueError>(call.where(), " ", what, " '", arg.name, "' is ", arg.optional ? "none or " : "",
                   arg.at_least ? "at least " : "", arg.count, arg.count == 1 ? " tensor, " : " tensors, ", given,
                   given == 1 ? " was given" : " were given");
}

}  // namespace

Call::Call(std::shared_ptr<const OpDef> of, DeviceType on)
    : def(std::move(of)), device(on), conf(std::make_shared<const UserOpConf>()) {}

void Call::add_inputs(const ArgDef& arg, std::span<const lamella::Tensor> given) {
  check_count(*this, arg, static_cast<std::int64_t>(given.size()), "input");
  for (std::size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined()) fail<ValueError>(where(), " input '", arg.name, "' got an undefined tensor");
    inputs.emplace_back(arg.name, static_cast<std::int32_t>(i));
    input_descs.push_back(describe_tensor(given[i]));
    tensors.push_back(given[i]);
  }
}

void Call::add_outputs(const ArgDef& arg, std::int64_t count) {
  check_count(*this, arg, count, "output");
  for (std::int64_t i = 0; i < count; ++i) outputs.emplace_back(arg.name, static_cast<std::int32_t>(i));
}

void Call::finish(const std::string& name, std::map<std::string, AttrValue> attrs) {
  auto made = std::make_shared<UserOpConf>();
  made->op_name = name.empty() ? def->name : name;
  made->op_type_name = def->name;
  for (const auto& [arg, index] : inputs)
    made->inputs[arg].push_back("in/" + made->op_name + "/" + indexed(arg, index));
  for (const auto& [arg, index] : outputs) made->outputs[arg].push_back(made->op_name + "/" + indexed(arg, index));
  made->attrs = std::move(attrs);
  conf = UserOpConfWrapper(std::move(made));
  if (!def->check_attr) return;
  run_authors(where() + " the check of its attributes:", [&] {
    const UserOpDefWrapper wrapper(def->name, def->inputs, def->outputs, def->attrs);
    const Maybe<void> checked = def->check_attr(wrapper, conf);
    if (!checked.IsOk()) checked.error().Throw(where());
  });
}

void Call::infer() {
  const auto& infer = def->infer ? def->infer : def->infer_part;
  if (!infer) {
    fail<NotImplementedError>(where(),
                              " has no infer function, which says what its outputs are: give it one with "
                              "SetTensorDescInferFn (",
                              str(def->place), ")");
  }
  output_descs.assign(outputs.size(), TensorDesc());
  const std::vector<TensorDesc> before = input_descs;
  InferContext ctx(*this);
  for (const auto& function : {infer, def->infer_dtype}) {
    if (!function) continue;
    run_authors(where() + " the infer function:", [&] {
      const Maybe<void> inferred = function(&ctx);
      if (!inferred.IsOk()) inferred.error().Throw(where() + " the infer function:");
    });
  }
  input_descs = before;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TensorDesc& y = output_descs[i];
    if (!y.shape().is_initialized()) {
      fail<ValueError>(where(), " the infer function left the shape of output '", outputs[i].first,
                       "' unset: it has to assign to *ctx->Shape4ArgNameAndIndex(\"", outputs[i].first, "\", ",
                       outputs[i].second, ")");
    }
    for (const std::int64_t size : y.shape().dim_vec()) {
      if (size < 0) {
        fail<ValueError>(where(), " the infer function gave output '", outputs[i].first, "' the shape ",
                         y.shape().ToString(), ", with a negative size");
      }
    }
    if (y.data_type() != kInvalidDataType) continue;
    if (input_descs.empty()) {
      fail<ValueError>(where(), " the infer function left the data type of output '", outputs[i].first,
                       "' unset, and there is no input to take it from");
    }
    y.set_data_type(input_descs.front().data_type());
  }
}

void Call::modify() {
  input_modifiers.assign(inputs.size(), ArgModifier());
  output_modifiers.assign(outputs.size(), ArgModifier());
  const auto run = [&](const auto& function, bool of_outputs) {
    if (!function) return;
    const std::string what =
        where() + (of_outputs ? " SetOutputArgModifyFn's" : " SetInputArgModifyFn's") + " function:";
    const auto get = [&](const std::string& name, std::int32_t index) -> ArgModifier* {
      const auto position = find(name, index);
      if (!position) return nullptr;
      if ((*position >= inputs.size()) != of_outputs) {
        fail<ValueError>("'", name, "' is an ", of_outputs ? "input" : "output");
      }
      return of_outputs ? &output_modifiers[*position - inputs.size()] : &input_modifiers[*position];
    };
    run_authors(what, [&] {
      const Maybe<void> modified = function(get, conf);
      if (!modified.IsOk()) modified.error().Throw(what);
    });
  };
  run(def->modify_inputs, false);
  run(def->modify_outputs, true);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!input_modifiers[i].is_mutable()) continue;
    fail<NotImplementedError>(where(), " input '", inputs[i].first,
                              "' is to be written to (set_is_mutable(true)), and kernels read their inputs only here: "
                              "declare the new value as an output");
  }
  if (!def->infer_device) return;
  DeviceInferContext ctx(*this);
  run_authors(where() + " SetDeviceInferFn's function:", [&] {
    const Maybe<void> inferred = def->infer_device(&ctx);
    if (!inferred.IsOk()) inferred.error().Throw(where() + " SetDeviceInferFn's function:");
  });
  ctx.check();
}

std::optional<std::size_t> Call::find(const std::string& name, std::int32_t index) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].second == index && inputs[i].first == name) return i;
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].second == index && outputs[i].first == name) return inputs.size() + i;
  }
  const ArgDef* declared = nullptr;
  for (const auto* args : {&def->inputs, &def->outputs}) {
    for (const ArgDef& arg : *args) {
      if (arg.name == name) declared = &arg;
    }
  }
  const auto name_of = [](const ArgDef& arg) { return arg.name; };
  if (!declared) {
    fail<ValueError>(where(), " has no argument '", name, "': its inputs are ", quoted(def->inputs, name_of),
                     ", its outputs ", quoted(def->outputs, name_of));
  }
  if (index < 0 || (!declared->optional && !declared->at_least)) {
    fail<IndexError>(where(), " argument '", name, "' has no tensor ", index, ": it has ", declared->count);
  }
  return std::nullopt;
}

}  // namespace lamella::user_op::detail
