#include "engine/registry/kernel.h"

#include "engine/registry/schema.h"

namespace lamella {

namespace registry {
namespace {

/// A boxed function of the user's as a KernelFunction calls it: counts come from the schema.
void call_boxed_function(const void* functor, const CallContext& context, const Arg* args, Value* results) {
  (*static_cast<const BoxedKernel*>(functor))(context, {args, context.schema.arguments.size()},
                                              {results, context.schema.results.size()});
}

}  // namespace

KernelFunction KernelFunction::boxed(BoxedKernel function) {
  return boxed(call_boxed_function, new BoxedKernel(function),
               [](void* functor) { delete static_cast<BoxedKernel*>(functor); });
}

bool KernelFunction::is(BoxedKernel function) const noexcept {
  return call_ == call_boxed_function && *static_cast<const BoxedKernel*>(functor_) == function;
}

KernelFunction KernelFunction::boxed(Call call, void* functor, void (*destroy)(void*)) {
  KernelFunction kernel;
  kernel.call_ = call;
  kernel.functor_ = functor;
  kernel.destroy_ = destroy;
  return kernel;
}

KernelFunction KernelFunction::fallthrough() { return {}; }

}  // namespace registry

}  // namespace lamella
