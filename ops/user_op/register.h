#pragma once

// REGISTER_USER_OP, REGISTER_USER_KERNEL and REGISTER_USER_OP_GRAD.

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/registry/abi.h"
#include "ops/user_op/definitions.h"
#include "ops/user_op/gradient.h"

namespace lamella::user_op {

namespace detail {

/// A registration, which lasts as long as this object. Errors do not leave the constructors; they are reported as those
/// of the library that is being loaded.
class Registration {
 public:
  Registration(OpDef def, const registry::AbiStamp& stamp);
  Registration(KernelDef def, const registry::AbiStamp& stamp);
  Registration(GradDef def, const registry::AbiStamp& stamp);
  Registration(Registration&&) noexcept;
  Registration& operator=(Registration&&) = delete;
  ~Registration();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// A function that returns nothing, or Maybe<void>, as one that returns Maybe<void>.
template <class Fn>
struct Reporting {
  Fn fn;

  template <class... Args>
  Maybe<void> operator()(Args&&... args) {
    if constexpr (std::is_void_v<std::invoke_result_t<Fn&, Args...>>) {
      fn(std::forward<Args>(args)...);
      return Maybe<void>::Ok();
    } else {
      return fn(std::forward<Args>(args)...);
    }
  }
};

}  // namespace detail

/// Infer functions that many operators share.
struct TensorDescInferFnUtil {
  /// Makes every output like the first input.
  static Maybe<void> Unchanged(InferContext* ctx) {
    const auto& [input, index] = ctx->inputs().at(0);
    for (const auto& [output, k] : ctx->outputs()) {
      *ctx->TensorDesc4ArgNameAndIndex(output, k) = *ctx->TensorDesc4ArgNameAndIndex(input, index);
    }
    return Maybe<void>::Ok();
  }
  /// Gives every output the data type of the first input.
  static Maybe<void> UnchangedDataType(InferContext* ctx) {
    const auto& [input, index] = ctx->inputs().at(0);
    for (const auto& [output, k] : ctx->outputs()) ctx->SetOutputDType(output, k, ctx->InputDType(input, index));
    return Maybe<void>::Ok();
  }
  /// Makes each output like the input at its position.
  static Maybe<void> InOutCorrespond(InferContext* ctx) {
    CHECK_EQ_OR_RETURN(ctx->inputs().size(), ctx->outputs().size());
    for (std::size_t i = 0; i < ctx->inputs().size(); ++i) {
      const auto& [input, index] = ctx->inputs()[i];
      const auto& [output, k] = ctx->outputs()[i];
      *ctx->TensorDesc4ArgNameAndIndex(output, k) = *ctx->TensorDesc4ArgNameAndIndex(input, index);
    }
    return Maybe<void>::Ok();
  }
};

/// Describes an operator; each method returns the object itself.
class OpRegistry {
 public:
  OpRegistry(std::string name, std::string file, unsigned line) {
    def_.name = std::move(name);
    def_.place = {std::move(file), line};
  }

  /// Declares `count` tensors under a name.
  OpRegistry& Input(const std::string& name, std::int32_t count = 1) { return add(def_.inputs, {name, count}); }
  OpRegistry& InputWithMinimum(const std::string& name, std::int32_t least) {
    return add(def_.inputs, {name, least, true});
  }
  OpRegistry& OptionalInput(const std::string& name, std::int32_t count = 1) {
    return add(def_.inputs, {name, count, false, true});
  }
  OpRegistry& OptionalInputWithMinimum(const std::string& name, std::int32_t least) {
    return add(def_.inputs, {name, least, true, true});
  }
  OpRegistry& OptionalInputWithMininum(const std::string& name, std::int32_t least) {  // the dialect's spelling
    return OptionalInputWithMinimum(name, least);
  }
  OpRegistry& Output(const std::string& name, std::int32_t count = 1) { return add(def_.outputs, {name, count}); }
  OpRegistry& OutputWithMinimum(const std::string& name, std::int32_t least) {
    return add(def_.outputs, {name, least, true});
  }
  OpRegistry& OptionalOutput(const std::string& name, std::int32_t count = 1) {
    return add(def_.outputs, {name, count, false, true});
  }
  OpRegistry& OptionalOutputWithMinimum(const std::string& name, std::int32_t least) {
    return add(def_.outputs, {name, least, true, true});
  }
  OpRegistry& OptionalOutputWithMininum(const std::string& name, std::int32_t least) {
    return OptionalOutputWithMinimum(name, least);
  }

  OpRegistry& Attr(const std::string& name, UserOpAttrType type) {
    def_.attrs.push_back({name, type, false, {}});
    return *this;
  }
  template <class T>
  OpRegistry& Attr(const std::string& name, UserOpAttrType type, const T& default_value) {
    def_.attrs.push_back({name, type, true, detail::loose_value(default_value)});
    return *this;
  }
  template <class T>
  OpRegistry& Attr(const std::string& name) {
    return Attr(name, detail::attr_type_of<std::decay_t<T>>());
  }
  /// Declares an attribute whose type is that of the default; a text, or an integer of another width than an
  /// attribute's, makes a kAtString or a kAtInt64.
  template <class T>
  OpRegistry& Attr(const std::string& name, const T& default_value) {
    AttrValue value = detail::loose_value(default_value);
    const auto type = static_cast<UserOpAttrType>(value.index());
    def_.attrs.push_back({name, type, true, std::move(value)});
    return *this;
  }

  /// Sets a check of the attributes' values, which runs when the operator is used.
  OpRegistry& SetCheckAttrFn(decltype(detail::OpDef::check_attr) fn) {
    def_.check_attr = std::move(fn);
    return *this;
  }
  /// Sets the function that infers the outputs' shapes and types. A type that it leaves unset is that of the first
  /// input.
  OpRegistry& SetTensorDescInferFn(decltype(detail::OpDef::infer) fn) {
    def_.infer = std::move(fn);
    return *this;
  }
  /// Sets the infer function. A call has all of its tensors; the function below is of parts of them.
  OpRegistry& SetLogicalTensorDescInferFn(decltype(detail::OpDef::infer) fn) {
    return SetTensorDescInferFn(std::move(fn));
  }
  /// Sets the function for an operator that has no other one of these.
  OpRegistry& SetPhysicalTensorDescInferFn(decltype(detail::OpDef::infer) fn) {
    def_.infer_part = std::move(fn);
    return *this;
  }
  OpRegistry& SetDataTypeInferFn(decltype(detail::OpDef::infer) fn) {
    def_.infer_dtype = std::move(fn);
    return *this;
  }
  /// Sets the function that lists the ways to split the operator over devices.
  OpRegistry& SetGetSbpFn(decltype(detail::OpDef::sbp) fn) {
    def_.sbp = std::move(fn);
    return *this;
  }

  /// Takes a function that says which inputs have no gradient, or are written to, which a call refuses. It returns
  /// nothing, or Maybe<void>.
  template <std::invocable<const GetInputArgModifier&, const UserOpConfWrapper&> Fn>
  OpRegistry& SetInputArgModifyFn(Fn fn) {
    def_.modify_inputs = detail::Reporting<Fn>{std::move(fn)};
    return *this;
  }
  /// Takes a function that says which outputs have no gradient; it returns nothing, or Maybe<void>.
  template <std::invocable<const GetOutputArgModifier&, const UserOpConfWrapper&> Fn>
  OpRegistry& SetOutputArgModifyFn(Fn fn) {
    def_.modify_outputs = detail::Reporting<Fn>{std::move(fn)};
    return *this;
  }
  /// Takes a function that says where the outputs lie; it returns a Maybe of the device that computes.
  template <std::invocable<DeviceInferContext*> Fn>
  OpRegistry& SetDeviceInferFn(Fn fn) {
    def_.infer_device = [fn = std::move(fn)](DeviceInferContext* ctx) -> Maybe<void> {
      const auto inferred = fn(ctx);
      if (!inferred.IsOk()) return inferred.error();
      return Maybe<void>::Ok();
    };
    return *this;
  }
  /// Says that the operator's outputs are constants to gradients, as REGISTER_NO_GRAD_USER_OP does.
  OpRegistry& NoGrad() {
    def_.no_grad = true;
    return *this;
  }

  // Accepted and ignored: they choose among ways to split the operator over devices, or the contents of pipelines.
  OpRegistry& SetBatchAxisInferFn(const std::function<Maybe<void>(BatchAxisContext*)>&) { return *this; }
  OpRegistry& SetInferSbpSignatureFn(const std::function<Maybe<void>(InferSbpSignatureFnContext*)>&) { return *this; }
  OpRegistry& SetNdSbpInferFn(const std::function<Maybe<void>(InferNdSbpFnContext*)>&) { return *this; }
  OpRegistry& SetInferOutputBlobTimeShapeFn(const std::function<Maybe<void>(InferOutputBlobTimeShapeFnContext*)>&) {
    return *this;
  }
  /// Accepted and ignored: inputs are contiguous.
  OpRegistry& SupportNonContiguous() { return *this; }

  detail::Registration Finish(const registry::AbiStamp& stamp) { return {std::move(def_), stamp}; }

 private:
  OpRegistry& add(std::vector<ArgDef>& args, ArgDef arg) {
    args.push_back(std::move(arg));
    return *this;
  }

  detail::OpDef def_;
};

/// Priorities of kernels.
inline constexpr int kKernelPriorityFallback = -10;
inline constexpr int kKernelPriorityNormal = 0;
inline constexpr int kKernelPriorityOptimized = 10;
inline constexpr int kKernelPriorityExperimental = 20;

/// Returns a new kernel, for SetCreateFn.
template <class Kernel, class... Args>
OpKernel* NewOpKernel(Args&&... args) {
  return new Kernel(std::forward<Args>(args)...);
}

/// The callback that a function given to SetInplaceProposalFn receives.
using AddInplaceArgPair =
    std::function<Maybe<void>(const std::string& out, std::int32_t, const std::string& in, std::int32_t, bool)>;

/// Describes a kernel; each method returns the object itself.
class OpKernelRegistry {
 public:
  OpKernelRegistry(std::string op, std::string file, unsigned line) {
    def_.op = std::move(op);
    def_.place = {std::move(file), line};
  }

  template <class Kernel>
  OpKernelRegistry& SetCreateFn() {
    static_assert(std::is_base_of_v<OpKernel, Kernel>, "a kernel is a class derived from user_op::OpKernel");
    if constexpr (std::is_constructible_v<Kernel, KernelCreateContext*>) {
      return SetCreateFn([](KernelCreateContext* ctx) { return new Kernel(ctx); });
    } else {
      return SetCreateFn([] { return new Kernel(); });
    }
  }
  /// Takes a function that returns a new kernel.
  template <class Fn>
    requires(std::invocable<Fn&> || std::invocable<Fn&, KernelCreateContext*>)
  OpKernelRegistry& SetCreateFn(Fn fn) {
    def_.create = [fn = std::move(fn)](KernelCreateContext* ctx) mutable {
      const OpKernel* made = nullptr;
      if constexpr (std::invocable<Fn&>) {
        made = fn();
      } else {
        made = fn(ctx);
      }
      return std::unique_ptr<OpKernel>(const_cast<OpKernel*>(made));
    };
    return *this;
  }
  /// Sets which kernel is taken of several that match a call: that of the highest priority.
  OpKernelRegistry& SetPriority(int priority) {
    def_.priority = priority;
    return *this;
  }
  /// Sets the condition on calls that the kernel is for; without one, it is for all.
  OpKernelRegistry& SetIsMatchedHob(Hob condition) {
    def_.conditions.push_back(std::move(condition));
    return *this;
  }
  OpKernelRegistry& SetIsMatchedPred(Hob::Test test) { return SetIsMatchedHob(Hob(std::move(test), "a predicate")); }
  /// Sets the function that returns the number of bytes of "tmp_buffer" that Compute needs.
  OpKernelRegistry& SetInferTmpSizeFn(std::function<std::size_t(InferContext*)> fn) {
    def_.tmp_size = std::move(fn);
    return *this;
  }
  /// Accepted and ignored: outputs are always new, so a kernel that proposes otherwise must support that.
  OpKernelRegistry& SetInplaceProposalFn(
      const std::function<Maybe<void>(const InferContext&, const AddInplaceArgPair&)>&) {
    return *this;
  }

  detail::Registration Finish(const registry::AbiStamp& stamp) { return {std::move(def_), stamp}; }

 private:
  detail::KernelDef def_;
};

/// Describes a gradient.
class OpGradRegistry {
 public:
  OpGradRegistry(std::string op, std::string file, unsigned line) {
    def_.op = std::move(op);
    def_.place = {std::move(file), line};
  }

  /// Takes a function that returns nothing, or Maybe<void>, whose error is raised in backward.
  template <std::invocable<BackwardOpConfContext*> Fn>
  OpGradRegistry& SetBackwardOpConfGenFn(Fn fn) {
    def_.make = detail::Reporting<Fn>{std::move(fn)};
    return *this;
  }
  /// Takes a function of the older form, which adds operators; it returns nothing, or Maybe<void>.
  template <std::invocable<const UserOpWrapper&, const AddOpFn&> Fn>
  OpGradRegistry& SetGenBackwardOpConfFn(Fn fn) {
    def_.make_older = detail::Reporting<Fn>{std::move(fn)};
    return *this;
  }

  detail::Registration Finish(const registry::AbiStamp& stamp) { return {std::move(def_), stamp}; }

 private:
  detail::GradDef def_;
};

namespace detail {

/// The object that the macros define: initialized with the chain of calls, it registers what they described.
class Registered {
 public:
  template <class Registry>
  Registered(Registry& described) : registration_(described.Finish(registry::abi_stamp)) {}

 private:
  Registration registration_;
};

}  // namespace detail
}  // namespace lamella::user_op

#define LAMELLA_USER_OP_JOIN_(a, b) a##b
#define LAMELLA_USER_OP_JOIN(a, b) LAMELLA_USER_OP_JOIN_(a, b)
#define LAMELLA_USER_OP_REGISTER(Registry, name)                                             \
  [[maybe_unused]] static const ::lamella::user_op::detail::Registered LAMELLA_USER_OP_JOIN( \
      lamella_user_op_, __COUNTER__) = ::lamella::user_op::Registry(name, __FILE__, __LINE__)

#define REGISTER_USER_OP(name) LAMELLA_USER_OP_REGISTER(OpRegistry, name)
/// Like REGISTER_USER_OP, for an operator whose kernels are for the CPU only.
#define REGISTER_CPU_ONLY_USER_OP(name) REGISTER_USER_OP(name)
/// Like these, for an operator whose outputs are constants to gradients.
#define REGISTER_NO_GRAD_USER_OP(name) REGISTER_USER_OP(name).NoGrad()
#define REGISTER_NO_GRAD_CPU_ONLY_USER_OP(name) REGISTER_NO_GRAD_USER_OP(name)
#define REGISTER_USER_KERNEL(name) LAMELLA_USER_OP_REGISTER(OpKernelRegistry, name)
#define REGISTER_USER_OP_GRAD(name) LAMELLA_USER_OP_REGISTER(OpGradRegistry, name)
