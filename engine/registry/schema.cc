#include "engine/registry/schema.h"

#include <array>

namespace lamella {

namespace registry {
namespace {

constexpr std::array<std::string_view, 12> kBases{"Tensor",    "int",           "float",     "bool",
                                                  "str",       "Scalar",        "dtype",     "Device",
                                                  "Generator", "Tensor|Scalar", "str|int[]", "int|int[]"};

/// Returns the type with its alias mark behind the base: "Tensor(a!)[]".
std::string type_text(const Type& type, const std::optional<Schema::Alias>& alias) {
  std::string text(kBases[static_cast<std::size_t>(type.base)]);
  if (alias) text += "(" + alias->set + (alias->write ? "!)" : ")");
  if (type.list) {
    if (type.optional_elements) text += "?";
    text += type.list_size ? "[" + std::to_string(type.list_size) + "]" : "[]";
  }
  return type.optional ? text + "?" : text;
}

}  // namespace

std::string Type::str() const { return type_text(*this, std::nullopt); }

}  // namespace registry

std::string Schema::full_name() const { return overload.empty() ? name : name + "." + overload; }

std::string Schema::str() const {
  std::string text = full_name() + "(";
  bool keyword_only = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const Argument& argument = arguments[i];
    if (i) text += ", ";
    if (argument.keyword_only && !keyword_only) {
      text += "*, ";
      keyword_only = true;
    }
    text += registry::type_text(argument.type, argument.alias) + " " + argument.name;
    if (argument.default_value) text += "=" + argument.default_value->str();
  }
  text += ") -> ";
  const bool wrapped = results.size() != 1 || !results[0].name.empty();
  if (wrapped) text += "(";
  for (std::size_t k = 0; k < results.size(); ++k) {
    if (k) text += ", ";
    text += registry::type_text(results[k].type, results[k].alias);
    if (!results[k].name.empty()) text += " " + results[k].name;
  }
  return wrapped ? text + ")" : text;
}

std::optional<std::size_t> Schema::find(std::string_view argument) const {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].name == argument) return i;
  }
  return std::nullopt;
}

bool Schema::is_mutable() const {
  for (const Argument& argument : arguments) {
    if (argument.is_written()) return true;
  }
  return false;
}

std::optional<std::size_t> Schema::aliased_argument(std::size_t k) const {
  const auto& wanted = results[k].alias;
  if (!wanted) return std::nullopt;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const auto& alias = arguments[i].alias;
    if (alias && alias->set == wanted->set) return i;
  }
  return std::nullopt;
}

}  // namespace lamella
