#include "python/bindings/operators.h"

#include <algorithm>
#include <deque>
#include <string>
#include <unordered_set>

#include "ops/registration/all_ops.h"
#include "python/bindings/definition.h"
#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/named_result.h"

namespace lamella::python {
namespace {

/// Returns a copy of the text that lives as long as the process, like the functions that refer to it.
const char* keep(std::string text) {
  static auto* texts = new std::deque<std::string>;
  return texts->emplace_back(std::move(text)).c_str();
}

/// Returns the parameters with a keyword-only `out` appended.
std::string with_out(std::string_view parameters) {
  const bool marked = parameters.find("*,") != std::string_view::npos;
  return std::string(parameters) + (marked ? ", out=None" : ", *, out=None");
}

std::string dtype_list(DTypeSet dtypes) {
  if (dtypes == AnyDType) return "any";
  std::string text;
  for (std::size_t i = 0; i < kDTypeCount; ++i) {
    if (dtypes.contains(static_cast<DType>(i))) text += (text.empty() ? "" : ", ") + std::string(kDTypeNames[i]);
  }
  return text;
}

const char* docstring(const OpInfo& info, const Signature& signature, bool method) {
  std::string text = str(info.name, signature.text_signature(method), "\n--\n\n", info.doc);
  text += "\n\nDtypes: " + dtype_list(info.dtypes) + ".";
  text += str("\n\nExample: ``lm.", example_of(info), "``");
  return keep(std::move(text));
}

const char* in_place_docstring(const OpInfo& info, const Signature& signature, bool method) {
  return keep(
      str(info.name, "_", signature.text_signature(method), "\n--\n\nThe same as ", info.name,
          "(), in place: the result is written into the first argument, which is returned.\n\nRuntimeError for a leaf "
          "that wants a gradient, ValueError where the result has another shape, TypeError where its dtype is of a "
          "higher kind than that argument's."));
}

void prepare(const Definition& op) {
  const Signature*& signature = *op.form.signature;
  if (signature) return;
  signature = new Signature(op.info->name, op.takes_out ? keep(with_out(op.parameters)) : op.parameters);
  if (signature->size() != op.types.size()) {
    fail<RuntimeError>("[", op.info->name, "] its description has ", signature->size(), " parameters, the function ",
                       op.types.size());
  }
  if (!op.fields.empty()) *op.result_type = named_result_type(op.info->name, op.fields);
}

template <bool kMethod>
PyMethodDef method_def(const EntryPoints& form, const char* doc) {
  return {(*form.signature)->function(), as_c_function(kMethod ? form.method : form.function),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

template <bool kMethod>
std::vector<PyMethodDef> method_defs() {
  std::vector<PyMethodDef> defs;
  for (const Definition& op : operator_definitions()) {
    prepare(op);
    if (kMethod && !op.info->method) continue;
    defs.push_back(method_def<kMethod>(op.form, docstring(*op.info, **op.form.signature, kMethod)));
    if (!has_in_place_form(op)) continue;
    const Signature*& signature = *op.in_place.signature;
    if (!signature) signature = new Signature(keep(std::string(op.info->name) + "_"), op.parameters);
    defs.push_back(method_def<kMethod>(op.in_place, in_place_docstring(*op.info, *signature, kMethod)));
  }
  return defs;
}

}  // namespace

const std::vector<Definition>& operator_definitions() {
  static const auto* const definitions = [] {
    auto* all = new std::vector<Definition>;
    OperatorLists::for_each([&]<class Ops> { std::ranges::copy(definitions_of<Ops>(), std::back_inserter(*all)); });
    return all;
  }();
  return *definitions;
}

bool has_in_place_form(const Definition& op) {
  static const auto* const names = [] {
    auto* all = new std::unordered_set<std::string>;
    for (const Definition& each : operator_definitions()) all->emplace(each.info->name);
    return all;
  }();
  if (!op.in_place.function || (op.elementwise && op.elementwise().mask_output)) return false;
  return !names->contains(str(op.info->name, "_"));
}

std::vector<PyMethodDef> operator_functions() { return method_defs<false>(); }
std::vector<PyMethodDef> operator_methods() { return method_defs<true>(); }

}  // namespace lamella::python
