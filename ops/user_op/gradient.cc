#include "ops/user_op/gradient.h"

#include "engine/core/error.h"
#include "ops/user_op/messages.h"

namespace lamella::user_op {
namespace detail {

std::size_t GradientGraph::input(const std::string& name, std::int32_t index) const {
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    if (call.inputs[i].first == name && call.inputs[i].second == index) return i;
  }
  fail<ValueError>(call.where(), " the gradient binds input '", name, "' number ", index,
                   ", which the call does not have: the operator's inputs are ",
                   quoted(call.def->inputs, [](const ArgDef& arg) { return arg.name; }), ", its outputs ",
                   quoted(call.def->outputs, [](const ArgDef& arg) { return arg.name; }));
}

void GradientGraph::add(UserOpConfWrapper op) {
  const std::string name = op.op_name();
  if (!built.try_emplace(name, std::move(op)).second || name == call.conf.op_name()) {
    fail<ValueError>(call.where(), " the gradient has two operators of the name '", name, "'");
  }
}

}  // namespace detail

using detail::GradientGraph;
using detail::quoted;

BackwardOpBuilder::BackwardOpBuilder(std::string op_name) : conf_(std::make_shared<UserOpConf>()) {
  conf_->op_name = std::move(op_name);
}
BackwardOpBuilder& BackwardOpBuilder::OpTypeName(const std::string& op_type_name) {
  conf_->op_type_name = op_type_name;
  return *this;
}
BackwardOpBuilder& BackwardOpBuilder::InputBind(const std::string& arg_name, const std::string& blob) {
  conf_->inputs[arg_name].push_back(blob);
  return *this;
}
BackwardOpBuilder& BackwardOpBuilder::Output(const std::string& arg_name, std::int32_t count) {
  auto& blobs = conf_->outputs[arg_name];
  for (std::int32_t i = 0; i < count; ++i) {
    blobs.push_back(conf_->op_name + "/" + arg_name + "_" + std::to_string(blobs.size()));
  }
  return *this;
}
UserOpConfWrapper BackwardOpBuilder::Build() {
  if (conf_->op_type_name.empty()) {
    fail<ValueError>("[user_op] the operator '", conf_->op_name, "' of a gradient has no type: call OpTypeName()");
  }
  return UserOpConfWrapper(std::make_shared<const UserOpConf>(*conf_));
}

const std::string& UserOpWrapper::output_grad(const std::string& name, std::int32_t index) const {
  output(name, index);  // throws with a list of the existing outputs
  return graph_->grads.at(name)[static_cast<std::size_t>(index)];
}
const TensorDesc& UserOpWrapper::arg_tensor_desc(const std::string& name, std::int32_t index) const {
  const auto position = graph_->call.find(name, index);
  if (!position) fail<ValueError>(graph_->call.where(), " this call has no '", name, "' number ", index);
  const detail::Call& call = graph_->call;
  return *position < call.inputs.size() ? call.input_descs[*position]
                                        : call.output_descs[*position - call.inputs.size()];
}
bool UserOpWrapper::NeedGenGradTensor4OpInput(const std::string& name, std::int32_t index) const {
  return graph_->needs[graph_->input(name, index)];
}
void UserOpWrapper::BindGradTensorWithOpInput(const std::string& blob, const std::string& name,
                                              std::int32_t index) const {
  std::string& bound = graph_->bound[graph_->input(name, index)];
  if (!bound.empty()) {
    fail<ValueError>(graph_->call.where(), " the gradient of input '", name, "' is bound twice");
  }
  bound = blob;
}

UserOpWrapper& BackwardOpConfContext::FwOp() { return graph_->fw; }
void BackwardOpConfContext::DefineOp(const std::string& op_name, Define fn) {
  if (!graph_->defined.try_emplace(op_name, std::move(fn)).second) {
    fail<ValueError>(graph_->call.where(), " the gradient defines two operators of the name '", op_name, "'");
  }
}
UserOpConfWrapper& BackwardOpConfContext::GetOp(const std::string& op_name) {
  const auto built = graph_->built.find(op_name);
  if (built != graph_->built.end()) return built->second;
  const auto defined = graph_->defined.find(op_name);
  if (defined == graph_->defined.end()) {
    fail<ValueError>(graph_->call.where(), " the gradient asks for the operator '", op_name, "', and defines ",
                     quoted(graph_->defined, [](const auto& each) { return each.first; }));
  }
  BackwardOpBuilder builder(op_name);
  graph_->add(defined->second(builder));
  return graph_->built.at(op_name);
}

}  // namespace lamella::user_op
