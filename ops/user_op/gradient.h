#pragma once

// The gradient of an operator, as a small graph of operators. Blobs (inputs, outputs, gradients) go by their names in
// that graph.

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

  /// The operator: one of this dialect, or any of the registry ("ns::name").
  BackwardOpBuilder& OpTypeName(const std::string& op_type_name);
  BackwardOpBuilder& Op(const std::string& op_type_name) { return OpTypeName(op_type_name); }
  /// Several for one name are its tensors, in order.
  BackwardOpBuilder& InputBind(const std::string& arg_name, const std::string& blob);
  BackwardOpBuilder& Input(const std::string& arg_name, const std::string& blob) { return InputBind(arg_name, blob); }
  BackwardOpBuilder& Output(const std::string& arg_name, std::int32_t count = 1);
  /// A value of the attribute's type, or one that it can be brought to. `Attr<T>(name, value)` makes it a T first.
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

/// The operator whose gradient is asked for.
class UserOpWrapper : public UserOpConfWrapper {
 public:
  UserOpWrapper(detail::GradientGraph& graph, std::shared_ptr<const UserOpConf> conf)
      : UserOpConfWrapper(std::move(conf)), graph_(&graph) {}

  /// Says where the gradient of an input comes from: `fn()` returns the name of a blob, and is called where the input
  /// wants a gradient. ValueError naming the operator's arguments where it has no such input.
  template <class F>
  void InputGradBind(const OpArg& input, F&& fn) const {
    static_assert(std::is_convertible_v<std::invoke_result_t<F&>, std::string>,
                  "the function given to InputGradBind returns the name of a blob");
    if (!NeedGenGradTensor4OpInput(input.name(), input.index())) return;
    const std::string blob = fn();  // a value or a reference: copied before it can go
    BindGradTensorWithOpInput(blob, input.name(), input.index());
  }
  /// The gradient of an output.
  const std::string& output_grad(const std::string& name, std::int32_t index) const;
  /// Shape and type of an input or output.
  const TensorDesc& arg_tensor_desc(const std::string& name, std::int32_t index) const;
  const TensorDesc& TensorDesc4ArgNameAndIndex(const std::string& name, std::int32_t index) const {
    return arg_tensor_desc(name, index);
  }

  // The older style.
  bool NeedGenGradTensor4OpInput(const std::string& name, std::int32_t index) const;
  const std::string& GetGradTensorWithOpOutput(const std::string& name, std::int32_t index) const {
    return output_grad(name, index);
  }
  void BindGradTensorWithOpInput(const std::string& blob, const std::string& name, std::int32_t index) const;

 private:
  detail::GradientGraph* graph_;
};

/// What a function that makes a gradient is given.
class BackwardOpConfContext {
 public:
  using Define = std::function<UserOpConfWrapper(BackwardOpBuilder&)>;

  explicit BackwardOpConfContext(detail::GradientGraph& graph) : graph_(&graph) {}
  UserOpWrapper& FwOp();
  /// Defines the operator of that name, which `fn` builds when it is first asked for. ValueError where the name is
  /// taken.
  void DefineOp(const std::string& op_name, Define fn);
  /// ValueError naming those defined where there is none.
  UserOpConfWrapper& GetOp(const std::string& op_name);

 private:
  detail::GradientGraph* graph_;
};

/// The older style: adds an operator to the graph.
using AddOpFn = std::function<void(const UserOpConfWrapper&)>;

}  // namespace lamella::user_op
