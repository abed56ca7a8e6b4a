#include "python/bindings/operators.h"

#include <algorithm>
#include <string>

#include "python/bindings/errors.h"
#include "python/bindings/method.h"
#include "python/bindings/named_result.h"
#include "python/bindings/operator_definitions.h"
#include "python/bindings/result_forms.h"

namespace lamella::python {
namespace {

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
  if (info.example) text += str("\n\nExample: ``lm.", info.example, "``");
  return keep(std::move(text));
}

const char* in_place_docstring(const OpInfo& info, const Signature& signature, bool method) {
  return keep(
      str(info.name, "_", signature.text_signature(method), "\n--\n\nThe same as ", info.name,
          "(), in place: the result is written into x, which is returned.\n\nRuntimeError for a leaf that wants "
          "a gradient, ValueError where the result has another shape, TypeError where its dtype is of a higher "
          "kind than x's."));
}

void prepare(const Definition& op) {
  const Signature*& signature = *op.form.signature;
  if (signature) return;
  signature = new Signature(op.info->name, op.takes_out ? keep(with_out(op.parameters)) : op.parameters);
  if (signature->size() != op.values) {
    fail<RuntimeError>("[", op.info->name, "] its description has ", signature->size(), " parameters, the function ",
                       op.values);
  }
  if (!op.fields.empty()) *op.result_type = named_result_type(op.info->name, op.fields);
}

template <bool kMethod>
PyMethodDef method_def(const EntryPoints& form, const char* doc) {
  return {(*form.signature)->function(), as_c_function(kMethod ? form.method : form.function),
          METH_FASTCALL | METH_KEYWORDS, doc};
}

template <bool kMethod>
std::vector<PyMethodDef> definitions() {
  std::vector<PyMethodDef> defs;
  const std::vector<const char*>& names = operator_names();
  const auto define = [&](const Definition& op) {
    prepare(op);
    if (kMethod && !op.info->method) return;
    defs.push_back(method_def<kMethod>(op.form, docstring(*op.info, **op.form.signature, kMethod)));
    // Not of one that gives bools, nor where the in-place form is an operator of its own.
    if (!op.in_place.function || (op.elementwise && op.elementwise().mask_output) ||
        !is_free_in_place(op.info->name, names))
      return;
    const Signature*& signature = *op.in_place.signature;
    if (!signature) signature = new Signature(keep(std::string(op.info->name) + "_"), op.parameters);
    defs.push_back(method_def<kMethod>(op.in_place, in_place_docstring(*op.info, *signature, kMethod)));
  };
  std::ranges::for_each(definitions_of_elementwise(), define);
  std::ranges::for_each(definitions_of_others(), define);
  return defs;
}

}  // namespace

std::vector<PyMethodDef> operator_functions() { return definitions<false>(); }
std::vector<PyMethodDef> operator_methods() { return definitions<true>(); }

}  // namespace lamella::python
