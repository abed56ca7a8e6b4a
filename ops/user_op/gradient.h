#pragma once

// The gradient of an operator, as a small graph of operators. Blobs (inputs, outputs, gradients) are referred to by
// their names in that graph.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "ops/user_op/bound_call.h"

namespace lamella::user_op {

/// Builds a use of an operator.
class BackwardOpBuilder {
 public:
  explicit BackwardOpBuilder(std::string op_name);

  /// Sets the operator: one of this dialect, or any registered one ("ns::name").
  BackwardOpBuilder& OpTypeName(const std::string& op_type_name);
  BackwardOpBuilder& Op(const std::string& op_type_name) { return OpTypeName(op_type_name); }
  /// Binds a blob to an argument; several calls for one name add its tensors, in order.
  BackwardOpBuilder& InputBind(const std::string& arg_name, const std::string& blob);
  BackwardOpBuilder& Input(const std::string& arg_name, const std::string& blob) { return InputBind(arg_name, blob); }
  BackwardOpBuilder& Output(const std::string& arg_name, std::int32_t count = 1);
  /// Sets an attribute to a value of its type, or one that converts to it. `Attr<T>(name, value)` converts it to T
  /// first.
  template <class T>
  BackwardOpBuilder& Attr(const std::string& name, const T& value) {
    conf_->attrs.insert_or_assign(name, detail::loose_value(value));
    return *this;
  }
  UserOpConfWrapper Build();

 private:
  std::shared_ptr<UserOpConf> conf_;
};
using UserOpConfWrapperBuilder = BackwardOpBuilder;

namespace detail {
struct GradientGraph;
}

/// The operator whose gradient is described.
class UserOpWrapper : public UserOpConfWrapper {
 public:
  UserOpWrapper(detail::GradientGraph& graph, std::shared_ptr<const UserOpConf> conf)
      : UserOpConfWrapper(std::move(conf)), graph_(&graph) {}

  /// Sets the source of an input's gradient: `fn()` returns the name of a blob, and is called if the input requires a
  /// gradient. Throws ValueError that lists the operator's arguments if there is no such input.
  template <class F>
  void InputGradBind(const OpArg& input, F&& fn) const {
    static_assert(std::is_convertible_v<std::invoke_result_t<F&>, std::string>,
                  "the function given to InputGradBind returns the name of a blob");
    if (!NeedGenGradTensor4OpInput(input.name(), input.index())) return;
    const std::string blob = fn();  // fn() may return a value or a reference, so the name is copied
    BindGradTensorWithOpInput(blob, input.name(), input.index());
  }
  /// Returns the gradient of an output.
  const std::string& output_grad(const std::string& name, std::int32_t index) const;
  /// Returns shape and type of an input or output.
  const TensorDesc& arg_tensor_desc(const std::string& name, std::int32_t index) const;
  const TensorDesc& TensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
    return arg_tensor_desc(name, index);
  }

  // Names of the older style.
  bool NeedGenGradTensor4OpInput(const std::string& name, std::int32_t index) const;
  const std::string& GetGradTensorWithOpOutput(const std::string& name, std::int32_t index) const {
    return output_grad(name, index);
  }
  void BindGradTensorWithOpInput(const std::string& blob, const std::string& name, std::int32_t index) const;

 private:
  detail::GradientGraph* graph_;
};

/// The argument of a function that describes a gradient.
class BackwardOpConfContext {
 public:
  using Define = std::function<UserOpConfWrapper(BackwardOpBuilder&)>;

  explicit BackwardOpConfContext(detail::GradientGraph& graph) : graph_(&graph) {}
  UserOpWrapper& FwOp();
  /// Defines the operator of that name; `fn` builds it with its first use. Throws ValueError if the name is taken.
  void DefineOp(const std::string& op_name, Define fn);
  /// Returns a defined operator; throws ValueError that lists the existing ones.
  UserOpConfWrapper& GetOp(const std::string& op_name);

 private:
  detail::GradientGraph* graph_;
};

/// Adds an operator to the graph, in the older style.
using AddOpFn = std::function<void(const UserOpConfWrapper&)>;

namespace detail {

/// A gradient during and after its description by the author's function.
struct GradientGraph {
  GradientGraph(const Call& of, std::vector<bool> needed)
      : call(of), needs(std::move(needed)), bound(call.inputs.size()), fw(*this, call.conf.conf()) {
    for (const auto& [name, blobs] : call.conf.conf()->outputs) {
      for (const std::string& blob : blobs) grads[name].push_back(blob + "_grad");
    }
  }
  GradientGraph(const GradientGraph&) = delete;
  GradientGraph& operator=(const GradientGraph&) = delete;

  const Call& call;
  /// The inputs that require a gradient, and the blobs that provide it.
  std::vector<bool> needs;
  std::vector<std::string> bound;
  UserOpWrapper fw;
  /// The gradients of the outputs.
  std::map<std::string, std::vector<std::string>> grads;
  std::map<std::string, BackwardOpConfContext::Define> defined;
  std::map<std::string, UserOpConfWrapper> built;

  /// Returns the position of an input; throws ValueError if the call does not have it.
  std::size_t input(const std::string& name, std::int32_t index) const;
  /// Adds a use of an operator; throws ValueError for a name that is taken.
  void add(UserOpConfWrapper op);
};

/// The gradient of an operator.
struct GradDef {
  std::string op;
  SourcePlace place;
  std::function<Maybe<void>(BackwardOpConfContext*)> make;
  std::function<Maybe<void>(const UserOpWrapper&, const AddOpFn&)> make_older;
};

}  // namespace detail
}  // namespace lamella::user_op
