#include "engine/autograd/saved_tensor.h"

#include "engine/autograd/accumulate.h"
#include "engine/autograd/duals.h"
#include "engine/autograd/meta.h"
#include "engine/autograd/modes.h"
#include "engine/core/error.h"

namespace lamella::autograd {
namespace {

std::string at(SourceLine line) { return line ? str(" at ", line.file, ":", line.line) : std::string(); }

}  // namespace

SavedTensor::SavedTensor(const Tensor& x) : tensor_(x), version_(x.defined() ? x.version() : 0) {
  if (x.defined() && (x->flags & TensorImpl::kInference)) {
    fail<RuntimeError>(
        "[save_for_backward] a tensor made in inference_mode cannot be saved for backward; use a copy made outside "
        "(clone())");
  }
}

void SavedTensor::become_output(std::uint32_t output_nr) {
  tensor_ = make_alias(tensor_);
  tensor_->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
  output_nr_ = output_nr;
  kind_ = Kind::Output;
}

void SavedTensor::refresh_version() noexcept { version_ = tensor_.version(); }

Tensor SavedTensor::unpack(Node& owner, std::size_t position, SourceLine saved_at) const {
  if (!tensor_.defined()) return {};
  if (tensor_.version() != version_) {
    const WriteRecord& write = tensor_->storage->last_write;
    fail<RuntimeError>("[", owner.name(), "] saved tensor ", position, " (", describe(tensor_), "), saved",
                       at(saved_at), ", was overwritten by ", write.op ? write.op : "an operation", at(write.line),
                       ": it is at version ", tensor_.version(), ", and version ", version_,
                       " was saved; write into a copy instead (clone())");
  }
  if (!is_grad_enabled()) return tensor_;
  if (kind_ == Kind::Output) {
    // The saved handle has no graph; a recorded backward needs the output as it stands on the tape.
    Tensor output = make_alias(tensor_);
    AutogradMeta& meta = make_meta(output);
    meta.grad_fn = Ref<Node>::share(&owner);
    meta.output_nr = output_nr_;
    if (duals_active()) share_tangents(tensor_, output);
    return output;
  }
  if (kind_ == Kind::Intermediate) {
    Tensor value = make_alias(tensor_);
    AutogradMeta& meta = make_meta(value);
    meta.grad_fn = Ref<Node>::adopt(new DetachedIntermediate(owner));
    return value;
  }
  return tensor_;
}

}  // namespace lamella::autograd
