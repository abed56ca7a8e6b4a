// The contexts that an operator's functions receive.

#include "engine/core/error.h"
#include "ops/user_op/bound_call.h"

namespace lamella::user_op {

namespace detail {

const AttrValue& attr_of(const UserOpConf& conf, const std::string& name) {
  const auto found = conf.attrs.find(name);
  if (found == conf.attrs.end()) {
    fail<ValueError>("[", conf.op_type_name, "] has no attribute '", name, "': it has ",
                     quoted(conf.attrs, [](const auto& attr) { return attr.first; }));
  }
  return found->second;
}

void wrong_attr_type(const UserOpConf& conf, const std::string& name, UserOpAttrType wanted) {
  fail<TypeError>("[", conf.op_type_name, "] attribute '", name, "' is of type ",
                  AttrTypeName(static_cast<UserOpAttrType>(attr_of(conf, name).index())), ", and ",
                  AttrTypeName(wanted), " was asked for");
}

const std::string& blob_of(const UserOpConf& conf, bool output, const std::string& name, std::int32_t index) {
  const auto& blobs = output ? conf.outputs : conf.inputs;
  const auto found = blobs.find(name);
  if (found == blobs.end()) {
    const auto name_of = [](const auto& arg) { return arg.first; };
    fail<ValueError>("[", conf.op_type_name, "] has no ", output ? "output" : "input", " '", name, "': its inputs are ",
                     quoted(conf.inputs, name_of), ", its outputs ", quoted(conf.outputs, name_of));
  }
  if (index < 0 || static_cast<std::size_t>(index) >= found->second.size()) {
    fail<IndexError>("[", conf.op_type_name, "] '", name, "' has ", found->second.size(), " tensors, and no number ",
                     index);
  }
  return found->second[static_cast<std::size_t>(index)];
}

}  // namespace detail

void Tensor::wrong_type(DataType asked) const {
  fail<TypeError>("'", name_, "' holds ", DataTypeName(desc_.data_type()), ", and its memory was asked for as ",
                  DataTypeName(asked));
}
void Tensor::refuse_writing() const {
  fail<lamella::RuntimeError>("'", name_, "' is an input: mut_dptr() is for outputs");
}

void Tensor::refuse_shape() const {
  fail<lamella::RuntimeError>("'", name_,
                              "' has the shape that was inferred: mut_shape() is for outputs that the infer ",
                              "function marks with set_is_dynamic(true)");
}

void OpKernel::fail_no_compute() {
  fail<NotImplementedError>("overrides no Compute(): void Compute(user_op::KernelComputeContext*) const");
}

const std::vector<std::pair<std::string, std::int32_t>>& OpContext::inputs() const { return call_->inputs; }
const std::vector<std::pair<std::string, std::int32_t>>& OpContext::outputs() const { return call_->outputs; }
bool OpContext::has_input(const std::string& name, std::int32_t index) const { return index < input_size(name); }
bool OpContext::has_output(const std::string& name, std::int32_t index) const { return index < output_size(name); }
std::int32_t OpContext::input_size(const std::string& name) const { return call_->conf.input_size(name); }
std::int32_t OpContext::output_size(const std::string& name) const { return call_->conf.output_size(name); }
const UserOpConfWrapper& OpContext::user_op_conf() const { return call_->conf; }
DeviceType OpContext::device_type() const { return call_->device; }

TensorDesc* InferContext::TensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
  const auto position = call_->find(name, index);
  return position ? &call_->desc(*position) : nullptr;
}

TensorDesc& InferContext::present(const std::string& name, std::int32_t index) const {
  const auto position = call_->find(name, index);
  if (!position) fail<ValueError>(call_->where(), " this call has no '", name, "' number ", index);
  return call_->desc(*position);
}

const TensorDesc* KernelRegContext::TensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
  const auto position = call_->find(name, index);
  return position ? &call_->desc(*position) : nullptr;
}

DeviceCtx* KernelInitContext::device_ctx() const { return &call_->device_ctx; }

Tensor* KernelComputeContext::Tensor4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
  if (name == "tmp_buffer") {
    if (call_->memory.size() == call_->inputs.size() + call_->outputs.size()) {
      fail<ValueError>(call_->where(), " the kernel has no tmp_buffer: SetInferTmpSizeFn says how large it is to be");
    }
    return &call_->memory.back();
  }
  const auto position = call_->find(name, index);
  return position ? &call_->memory[*position] : nullptr;
}

void DeviceInferContext::check() const {
  for (const auto& [argument, device] : devices_) {
    if (!device || device->enum_type() == call_->device) continue;
    fail<NotImplementedError>(call_->where(), " output '", argument.first, "' is to lie on ", device->type(),
                              ", and outputs lie where the operator is computed, on ", DeviceTag(call_->device),
                              ": x.to_device() copies them");
  }
}

// --- Ways to split an operator ---------------------------------------------------------------------------------------

std::string Sbp::ToString() const {
  switch (kind) {
    case Kind::kSplit:
      return "S(" + std::to_string(axis) + ")";
    case Kind::kBroadcast:
      return "B";
    case Kind::kPartialSum:
      return "P";
  }
  return "";
}

const TensorDesc& SbpContext::LogicalTensorDesc4InputArgNameAndIndex(const std::string& name,
                                                                     std::int32_t index) const {
  const auto position = call_->find(name, index);
  if (!position || *position >= call_->inputs.size()) {
    fail<ValueError>(call_->where(), " the SBP function asked for input '", name, "' number ", index,
                     ", which this call does not have");
  }
  return call_->input_descs[*position];
}

UserOpSbpSignatureBuilder& UserOpSbpSignatureBuilder::add(const OpArg& arg, Sbp sbp) {
  detail::Call& call = *ctx_->call_;
  const auto position = call.find(arg.name(), arg.index());
  if (!position) {
    fail<ValueError>(call.where(), " the SBP signature names '", arg.name(), "' number ", arg.index(),
                     ", which this call does not have");
  }
  const bool known = *position < call.inputs.size() || !call.output_descs.empty();
  if (sbp.kind == Sbp::Kind::kSplit && known) {
    const std::int64_t axes = call.desc(*position).shape().NumAxes();
    if (sbp.axis < 0 || sbp.axis >= axes) {
      fail<ValueError>(call.where(), " the SBP signature splits '", arg.name(), "' along axis ", sbp.axis,
                       ", and it has ", axes, axes == 1 ? " axis" : " axes");
    }
  }
  for (const auto& [other, earlier] : signature_) {
    if (other.name() == arg.name() && other.index() == arg.index()) {
      fail<ValueError>(call.where(), " the SBP signature names '", arg.name(), "' twice: ", earlier.ToString(), " and ",
                       sbp.ToString());
    }
  }
  signature_.emplace_back(arg, sbp);
  return *this;
}

void UserOpSbpSignatureBuilder::Build() {
  const detail::Call& call = *ctx_->call_;
  if (signature_.size() != call.inputs.size() + call.outputs.size()) {
    for (const auto* args : {&call.inputs, &call.outputs}) {
      for (const auto& [name, index] : *args) {
        bool mentioned = false;
        for (const auto& [arg, sbp] : signature_) mentioned |= arg.name() == name && arg.index() == index;
        if (!mentioned) {
          fail<ValueError>(call.where(), " an SBP signature does not say how '", name, "' lies on the devices");
        }
      }
    }
  }
  ctx_->signatures_.push_back(std::move(signature_));
}

}  // namespace lamella::user_op
