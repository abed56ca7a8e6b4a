#pragma once

// Conditions under which a kernel is the one for a call, as expressions:
//
//     (HobDeviceType() == DeviceType::kCPU) & !(HobDataType("in", 0) == GetDataType<double>::value)

#include <functional>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>

#include "ops/user_op/context.h"

namespace lamella::user_op {

/// A condition on a call, and its text for the author.
class Hob {
 public:
  using Test = std::function<bool(const KernelRegContext&)>;
  Hob(Test test, std::string text) : test_(std::move(test)), text_(std::move(text)) {}

  bool operator()(const KernelRegContext& ctx) const { return test_(ctx); }
  const std::string& text() const { return text_; }

  friend Hob operator&(Hob a, Hob b) {
    std::string text = a.text_ + " & " + b.text_;
    return Hob([a = std::move(a), b = std::move(b)](const KernelRegContext& ctx) { return a(ctx) && b(ctx); },
               std::move(text));
  }
  friend Hob operator|(Hob a, Hob b) {
    std::string text = "(" + a.text_ + " | " + b.text_ + ")";
    return Hob([a = std::move(a), b = std::move(b)](const KernelRegContext& ctx) { return a(ctx) || b(ctx); },
               std::move(text));
  }
  friend Hob operator!(Hob a) {
    std::string text = "!(" + a.text_ + ")";
    return Hob([a = std::move(a)](const KernelRegContext& ctx) { return !a(ctx); }, std::move(text));
  }
  friend Hob operator&&(Hob a, Hob b) { return std::move(a) & std::move(b); }
  friend Hob operator||(Hob a, Hob b) { return std::move(a) | std::move(b); }

 private:
  Test test_;
  std::string text_;
};

namespace detail {

inline std::string hob_text(DeviceType type) { return DeviceTag(type); }
inline std::string hob_text(DataType type) { return DataTypeName(type); }
template <class T>
std::string hob_text(const T& value) {
  std::ostringstream out;
  out << value;
  return out.str();
}

}  // namespace detail

/// A property of a call that can be compared.
template <class T>
class HobValue {
 public:
  using Get = std::function<T(const KernelRegContext&)>;
  HobValue(Get get, std::string text) : get_(std::move(get)), text_(std::move(text)) {}

  Hob operator==(T wanted) const { return compare(std::move(wanted), true); }
  Hob operator!=(T wanted) const { return compare(std::move(wanted), false); }
  friend Hob operator==(T wanted, const HobValue& value) { return value.compare(std::move(wanted), true); }
  friend Hob operator!=(T wanted, const HobValue& value) { return value.compare(std::move(wanted), false); }

 private:
  Hob compare(T wanted, bool equal) const {
    std::string text = text_ + (equal ? " == " : " != ") + detail::hob_text(wanted);
    return Hob([get = get_, wanted = std::move(wanted),
                equal](const KernelRegContext& ctx) { return (get(ctx) == wanted) == equal; },
               std::move(text));
  }

  Get get_;
  std::string text_;
};

inline HobValue<DeviceType> HobDeviceType() {
  return {[](const KernelRegContext& ctx) { return ctx.device_type(); }, "device type"};
}
/// A device tag, compared with "cpu" or "gpu", or with a DeviceType.
class HobTag : public HobValue<std::string> {
 public:
  using HobValue::HobValue;
  using HobValue::operator==;
  using HobValue::operator!=;
  Hob operator==(DeviceType wanted) const { return HobValue::operator==(std::string(DeviceTag(wanted))); }
  Hob operator!=(DeviceType wanted) const { return HobValue::operator!=(std::string(DeviceTag(wanted))); }
  friend Hob operator==(DeviceType wanted, const HobTag& tag) { return tag == wanted; }
  friend Hob operator!=(DeviceType wanted, const HobTag& tag) { return tag != wanted; }
};
inline HobTag HobDeviceTag() {
  return {[](const KernelRegContext& ctx) { return ctx.device_tag(); }, "device tag"};
}
/// Returns the element type of an argument; kInvalidDataType if the call does not have it.
inline HobValue<DataType> HobDataType(const std::string& name, std::int32_t index) {
  return {[=](const KernelRegContext& ctx) {
            const TensorDesc* desc = ctx.TensorDesc4ArgNameAndIndex(name, index);
            return desc ? desc->data_type() : kInvalidDataType;
          },
          "data type of " + name};
}
template <class T>
HobValue<T> HobAttr(const std::string& name) {
  return {[=](const KernelRegContext& ctx) { return ctx.Attr<T>(name); }, "attribute " + name};
}
/// Returns the number of tensors of an input.
inline HobValue<std::int32_t> HobInputSize(const std::string& name) {
  return {[=](const KernelRegContext& ctx) { return ctx.input_size(name); }, "number of " + name};
}
/// Returns a property that is computed by any function of the call.
template <class T>
HobValue<T> HobCtxGetter(const std::string& text, std::type_identity_t<typename HobValue<T>::Get> get) {
  return {std::move(get), text};
}
/// Returns a condition made of any function of the call.
inline Hob HobCtxGetter(const std::string& text, Hob::Test test) { return Hob(std::move(test), text); }
inline Hob HobTrue() {
  return Hob([](const KernelRegContext&) { return true; }, "always");
}
inline Hob HobFalse() { return !HobTrue(); }

}  // namespace lamella::user_op
