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

#include "ops/user_op/context.h"

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

}  // namespace lamella::user_op
