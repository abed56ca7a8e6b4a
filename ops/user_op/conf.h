#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ops/user_op/attribute.h"

namespace lamella::user_op {

/// An input or an output of an operator: its name, and its index if there are several.
class OpArg {
 public:
  OpArg(std::string name, std::int32_t index) : name_(std::move(name)), index_(index) {}
  const std::string& name() const { return name_; }
  std::int32_t index() const { return index_; }

 private:
  std::string name_;
  std::int32_t index_;
};

/// A use of an operator: the names of its inputs and outputs in the graph that contains it, and its attributes.
struct UserOpConf {
  std::string op_name;
  std::string op_type_name;
  std::map<std::string, std::vector<std::string>> inputs;
  std::map<std::string, std::vector<std::string>> outputs;
  std::map<std::string, AttrValue> attrs;
};

namespace detail {
const AttrValue& attr_of(const UserOpConf& conf, const std::string& name);
[[noreturn]] void wrong_attr_type(const UserOpConf& conf, const std::string& name, UserOpAttrType wanted);
const std::string& blob_of(const UserOpConf& conf, bool output, const std::string& name, std::int32_t index);
}  // namespace detail

/// Read access to a use of an operator.
class UserOpConfWrapper {
 public:
  explicit UserOpConfWrapper(std::shared_ptr<const UserOpConf> conf) : conf_(std::move(conf)) {}

  const std::string& op_name() const { return conf_->op_name; }
  const std::string& op_type_name() const { return conf_->op_type_name; }
  /// Returns the graph's name of input or output `index`; throws ValueError that lists the existing ones.
  const std::string& input(const std::string& name, std::int32_t index) const {
    return detail::blob_of(*conf_, false, name, index);
  }
  const std::string& output(const std::string& name, std::int32_t index) const {
    return detail::blob_of(*conf_, true, name, index);
  }
  bool has_input(const std::string& name, std::int32_t index) const { return index < input_size(name); }
  bool has_output(const std::string& name, std::int32_t index) const { return index < output_size(name); }
  std::int32_t input_size(const std::string& name) const { return size(conf_->inputs, name); }
  std::int32_t output_size(const std::string& name) const { return size(conf_->outputs, name); }
  /// Returns the value of an attribute. Throws ValueError that lists the attributes if there is none of that name,
  /// TypeError if its type differs.
  template <class T>
  const T& attr(const std::string& name) const {
    const T* value = std::get_if<T>(&detail::attr_of(*conf_, name));
    if (!value) detail::wrong_attr_type(*conf_, name, detail::attr_type_of<T>());
    return *value;
  }
  /// Returns the value of an attribute, or `otherwise` if there is none of that name.
  template <class T>
  T attr_or_default(const std::string& name, const T& otherwise) const {
    return conf_->attrs.contains(name) ? attr<T>(name) : otherwise;
  }
  /// Returns the inputs, one entry per tensor, and the outputs.
  std::vector<std::pair<std::string, std::int32_t>> input_arg_names_and_indexes() const {
    return listed(conf_->inputs);
  }
  std::vector<std::pair<std::string, std::int32_t>> output_arg_names_and_indexes() const {
    return listed(conf_->outputs);
  }
  const std::shared_ptr<const UserOpConf>& conf() const { return conf_; }

 private:
  static std::int32_t size(const std::map<std::string, std::vector<std::string>>& blobs, const std::string& name) {
    const auto found = blobs.find(name);
    return found == blobs.end() ? 0 : static_cast<std::int32_t>(found->second.size());
  }
  static std::vector<std::pair<std::string, std::int32_t>> listed(
      const std::map<std::string, std::vector<std::string>>& blobs) {
    std::vector<std::pair<std::string, std::int32_t>> all;
    for (const auto& [name, tensors] : blobs) {
      for (std::size_t i = 0; i < tensors.size(); ++i) all.emplace_back(name, static_cast<std::int32_t>(i));
    }
    return all;
  }

  std::shared_ptr<const UserOpConf> conf_;
};

/// An input or output as an operator declares it.
struct ArgDef {
  std::string name;
  /// Smallest number of tensors, and whether there may be more.
  std::int32_t count = 1;
  bool at_least = false;
  bool optional = false;

  /// True if the name stands for exactly one tensor.
  bool single() const { return count == 1 && !at_least; }
};

struct AttrDef {
  std::string name;
  UserOpAttrType type = UserOpAttrType::kAtInt32;
  bool has_default = false;
  AttrValue default_value;
};

/// The declaration of an operator.
class UserOpDefWrapper {
 public:
  UserOpDefWrapper(const std::string& name, const std::vector<ArgDef>& inputs, const std::vector<ArgDef>& outputs,
                   const std::vector<AttrDef>& attrs)
      : name_(name), inputs_(inputs), outputs_(outputs), attrs_(attrs) {}
  const std::string& name() const { return name_; }
  const std::vector<ArgDef>& inputs() const { return inputs_; }
  const std::vector<ArgDef>& outputs() const { return outputs_; }
  const std::vector<AttrDef>& attrs() const { return attrs_; }

 private:
  const std::string& name_;
  const std::vector<ArgDef>& inputs_;
  const std::vector<ArgDef>& outputs_;
  const std::vector<AttrDef>& attrs_;
};

}  // namespace lamella::user_op
