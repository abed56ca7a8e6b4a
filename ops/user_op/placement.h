#pragma once

// What an operator says of the devices that its tensors lie on, and of its inputs' gradients.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ops/user_op/context.h"
#include "ops/user_op/maybe.h"
#include "ops/user_op/sbp.h"

namespace lamella::user_op {

/// A setting of SetInputArgModifyFn or SetOutputArgModifyFn, for one tensor.
class ArgModifier {
 public:
  /// False: no gradient flows through the tensor.
  void set_requires_grad(bool value) { requires_grad_ = value; }
  /// True: the kernel writes to the input, which a call refuses.
  void set_is_mutable(bool value) { is_mutable_ = value; }
  // The others matter to static graphs only.
  void set_header_infered_before_compute(bool) {}
  void set_use_header_only(bool) {}

  bool requires_grad() const { return requires_grad_; }
  bool is_mutable() const { return is_mutable_; }

 private:
  bool requires_grad_ = true;
  bool is_mutable_ = false;
};
using OutputArgModifier = ArgModifier;
using InputArgModifier = ArgModifier;
/// Returns the setting of a tensor; null if the call does not have it.
using GetOutputArgModifier = std::function<OutputArgModifier*(const std::string&, std::int32_t)>;
using GetInputArgModifier = std::function<InputArgModifier*(const std::string&, std::int32_t)>;

/// A shared, constant T.
template <class T>
class Symbol {
 public:
  Symbol() = default;
  explicit Symbol(T value) : value_(std::make_shared<const T>(std::move(value))) {}
  const T* operator->() const { return value_.get(); }
  const T& operator*() const { return *value_; }
  explicit operator bool() const { return value_ != nullptr; }

 private:
  std::shared_ptr<const T> value_;
};

/// A device by its type, "cpu" or "cuda", and its number.
class NamedDevice {
 public:
  NamedDevice(std::string type, std::int64_t id) : type_(std::move(type)), id_(id) {}
  static Maybe<Symbol<NamedDevice>> New(const std::string& type, std::int64_t id = 0) {
    CHECK_OR_RETURN(type == "cpu" || type == "cuda" || type == "gpu") << type << " is no type of device";
    return Symbol<NamedDevice>(NamedDevice(type == "gpu" ? "cuda" : type, id));
  }
  const std::string& type() const { return type_; }
  std::int64_t device_id() const { return id_; }
  DeviceType enum_type() const { return type_ == "cpu" ? DeviceType::kCPU : DeviceType::kGPU; }

 private:
  std::string type_;
  std::int64_t id_;
};

/// The context of SetDeviceInferFn, which says where the outputs lie: a call refuses another place than the inputs'.
class DeviceInferContext : public OpContext {
 public:
  using OpContext::OpContext;
  Symbol<NamedDevice> InputTensorDevice4ArgNameAndIndex(const std::string&, std::int32_t) const {
    return Symbol<NamedDevice>(NamedDevice(device_type() == DeviceType::kCPU ? "cpu" : "cuda", 0));
  }
  Symbol<NamedDevice>* OutputTensorDevice4ArgNameAndIndex(const std::string& name, std::int32_t index) {
    return &devices_[{name, index}];
  }
  /// Throws NotImplementedError for an output that is to lie elsewhere than the call's device.
  void check() const;

 private:
  std::map<std::pair<std::string, std::int32_t>, Symbol<NamedDevice>> devices_;
};

// Functions with the contexts below are never called, as they choose among ways to split an operator over devices, of
// which each gives the same numbers.

/// An integer that may be absent.
class OptInt64 {
 public:
  bool has_value() const { return value_.has_value(); }
  std::int64_t value() const { return value_.value_or(0); }
  void set_value(std::int64_t value) { value_ = value; }
  void clear_value() { value_.reset(); }

 private:
  std::optional<std::int64_t> value_;
};

/// The context of SetBatchAxisInferFn.
class BatchAxisContext : public SbpContext {
 public:
  using SbpContext::SbpContext;
  OptInt64* BatchAxis4ArgNameAndIndex(const std::string& name, std::int32_t index) { return &axes_[{name, index}]; }

 private:
  std::map<std::pair<std::string, std::int32_t>, OptInt64> axes_;
};
struct BatchAxisInferFnUtil {
  static Maybe<void> NaiveInferBatchAxis(BatchAxisContext*) { return Maybe<void>::Ok(); }
  static Maybe<void> DefaultAsFirstHasValueInput(BatchAxisContext*) { return Maybe<void>::Ok(); }
};

class InferSbpSignatureFnContext : public OpContext {
 public:
  using OpContext::OpContext;
};
using InferNdSbpFnContext = InferSbpSignatureFnContext;
using InferOutputBlobTimeShapeFnContext = InferSbpSignatureFnContext;

/// Functions for SetGetSbpFn that many operators share.
struct GetSbpFnUtil {
  /// Every device has everything, which is a way of all operators.
  static Maybe<void> DefaultBroadcastToBroadcast(SbpContext*) { return Maybe<void>::Ok(); }
  /// All tensors are split along one axis, each that the first input has.
  static Maybe<void> SplitForEachAxis(SbpContext* ctx) {
    CHECK_OR_RETURN(!ctx->inputs().empty());
    const auto& [name, index] = ctx->inputs().front();
    const std::int64_t axes = ctx->LogicalTensorDesc4InputArgNameAndIndex(name, index).shape().NumAxes();
    for (std::int64_t axis = 0; axis < axes; ++axis) {
      ctx->NewBuilder().Split(ctx->inputs(), axis).Split(ctx->outputs(), axis).Build();
    }
    return Maybe<void>::Ok();
  }
};

}  // namespace lamella::user_op
