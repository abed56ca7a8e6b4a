#include "engine/autograd/saved/saved_tensor.h"

#include <mutex>

#include "engine/autograd/graph/accumulate.h"
#include "engine/autograd/graph/meta.h"
#include "engine/autograd/graph/origin.h"
#include "engine/autograd/graph/place.h"
#include "engine/autograd/saved/saved_tensor_hooks.h"
#include "engine/autograd/tangents/duals.h"
#include "engine/core/error.h"
#include "engine/core/modes.h"
#include "engine/core/thread_state.h"
#include "engine/runtime/streams.h"

namespace lamella::autograd {
namespace {

/// Returns " at file:line" of the owner's call, for messages; empty where it is not known. Operators know their line
/// under trace() only.
std::string place_of_save(const Node& owner, SourceLine saved_at) {
  if (saved_at) return str(" at ", saved_at.file, ":", saved_at.line);
  const auto origin = origin_of(owner);
  const std::string place = origin ? short_place(*origin) : std::string();
  return place.empty() ? place : " at " + place;
}

/// Returns saved output `output_nr` as it stands on the tape, for a recorded backward: the saved handle has no graph.
Tensor output_of(const Tensor& x, Node& owner, std::uint32_t output_nr) {
  Tensor output = make_alias(x);
  AutogradMeta& meta = make_meta(output);
  meta.grad_fn = Ref<Node>::share(&owner);
  meta.output_nr = output_nr;
  if (duals_active()) share_tangents(x, output);
  return output;
}

Tensor intermediate_of(const Tensor& x, Node& owner) {
  Tensor value = make_alias(x);
  make_meta(value).grad_fn = Ref<Node>::adopt(new DetachedIntermediate(owner));
  return value;
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& x) : tensor_(x), version_(x.defined() ? stamp_of(x) : 0) {
  if (x.defined() && (x->flags & TensorImpl::kInference)) {
    fail<RuntimeError>(
        "[save_for_backward] a tensor made in inference_mode cannot be saved for backward; use a copy made outside "
        "(clone())");
  }
}

void SavedTensor::become_output(std::uint32_t output_nr) {
  tensor_ = make_alias(tensor_);
  tensor_->flags &= static_cast<std::uint8_t>(~TensorImpl::kDerived);
  output_nr_ = output_nr & 0x3fffffffu;
  kind_ = Kind::Output;
}

void SavedTensor::take_tangent(std::uint64_t level, const Tensor& tangent) {
  if (packed_) {
    packed_->tangents.push_back(make_tangent(level, tangent));
  } else {
    set_tangent(tensor_, level, tangent);
  }
}

void SavedTensor::refresh_version() noexcept { version_ = stamp_of(tensor_); }

void SavedTensor::fail_overwritten(const Tensor& x, std::uint32_t version, const Node& owner, std::size_t position,
                                   SourceLine saved_at) const {
  const std::string place = place_of_save(owner, saved_at);
  if ((version & Storage::kForeign) || x.version() == version) {
    const bool known = x->storage->last_write().op != nullptr;
    fail<RuntimeError>("[", owner.name(), "] saved tensor ", position, " (", describe(x), ")",
                       place.empty() ? "" : ", saved" + place + ",", " was ",
                       known ? describe_last_write(x) + ", or overwritten" : std::string("overwritten"),
                       " by somebody with whom its memory is shared, through numpy or through DLPack: it holds other "
                       "values than when it was saved; save or compute with a copy (clone())");
  }
  fail<RuntimeError>("[", owner.name(), "] saved tensor ", position, " (", describe(x), ")",
                     place.empty() ? "" : ", saved" + place + ",", " was ", describe_last_write(x),
                     ": it is at version ", x.version(), ", and version ", version,
                     " was saved; write into a copy instead (clone())",
                     place.empty() ? "; compute it under lamella.autograd.trace() to learn where it was saved" : "");
}

Tensor SavedTensor::unpack(Node& owner, std::size_t position, SourceLine saved_at) const {
  if (packed_) [[unlikely]]
    return unpack_packed(owner, position, saved_at);
  if (!tensor_.defined()) return {};
  if (changed_since(tensor_, version_)) fail_overwritten(tensor_, version_, owner, position, saved_at);
  if (streams_in_use()) [[unlikely]]
    note_use(tensor_);
  if (!is_grad_enabled()) return tensor_;
  if (kind_ == Kind::Output) return output_of(tensor_, owner, output_nr_);
  if (kind_ == Kind::Intermediate) return intermediate_of(tensor_, owner);
  return tensor_;
}

void SavedTensor::pack(const Node& owner) {
  if (!tensor_.defined() || packed_) return;
  const auto packed = Ref<Packed>::adopt(new Packed);
  packed->hooks = thread_state().saved_tensor_hooks.back();
  packed->shape = tensor_.shape();
  packed->dtype = tensor_.dtype();
  packed->device = tensor_.device();
  packed->version = version_;
  if (kind_ == Kind::Input) packed->edge = gradient_edge(tensor_);
  if (AutogradMeta* meta = peek_meta(tensor_)) {
    const std::lock_guard lock(meta->lock);
    if (meta->extras) packed->tangents = meta->extras->tangents;
  }
  const Tensor given = tensor_.detach();
  // Into foreign memory, others may write meanwhile.
  const bool foreign = (given->storage->version_word() & Storage::kForeign) != 0;
  {
    const NoSavedTensorHooks no_hooks;
    const NoGrad no_grad;
    packed->value = packed->hooks->pack(given, owner);
  }
  if (!foreign && changed_since(given, version_)) {
    fail<RuntimeError>("[saved_tensors_hooks] pack wrote into the tensor that it was given (", describe(given),
                       ", saved by ", owner.name(), "): other operations use it; work on a copy (clone())");
  }
  const Tensor* kept = packed->hooks->tensor_in(packed->value);
  packed->same_memory = kept && kept->defined() && (*kept)->storage && (*kept)->storage == given->storage;
  tensor_ = Tensor();
  packed_ = packed;
}

Tensor SavedTensor::unpack_packed(Node& owner, std::size_t position, SourceLine saved_at) const {
  const Packed& packed = *packed_;
  if (packed.same_memory) {
    const Tensor& kept = *packed.hooks->tensor_in(packed.value);
    if (changed_since(kept, packed.version)) fail_overwritten(kept, packed.version, owner, position, saved_at);
  }
  Tensor x;
  {
    const NoSavedTensorHooks no_hooks;
    const NoGrad no_grad;
    x = packed.hooks->unpack(packed.value, owner);
  }
  if (!x.defined()) {
    fail<TypeError>("[", owner.name(), "] unpack of saved_tensors_hooks returned no tensor for saved tensor ",
                    position);
  }
  if (x.shape() != packed.shape || x.dtype() != packed.dtype || x.device() != packed.device) {
    fail<ValueError>("[", owner.name(), "] unpack of saved_tensors_hooks returned ", describe(x), " for saved tensor ",
                     position, ", which was ", packed.dtype, packed.shape, " on ", packed.device,
                     ": it must return a tensor like the one that pack was given");
  }
  if (!is_grad_enabled() && packed.tangents.empty()) return x;
  if (is_grad_enabled() && kind_ == Kind::Output) {
    x = output_of(x, owner, output_nr_);
  } else if (is_grad_enabled() && kind_ == Kind::Intermediate) {
    x = intermediate_of(x, owner);
  } else {
    x = make_alias(x);
    if (is_grad_enabled() && packed.edge) {
      AutogradMeta& meta = make_meta(x);
      meta.grad_fn = packed.edge.node;
      meta.output_nr = packed.edge.input_nr;
    }
  }
  if (!packed.tangents.empty()) make_meta(x).make_extras().tangents = packed.tangents;
  return x;
}

}  // namespace lamella::autograd
