#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/user_op/register.h"

// What is registered in the OneFlow dialect, beside what the registry of operators knows.

namespace lamella::user_op::detail {

/// Computes the outputs of a call outside of C++: gets the inputs and what the outputs are to be.
using HostKernel =
    std::function<std::vector<lamella::Tensor>(const std::vector<lamella::Tensor>&, const std::vector<TensorDesc>&)>;

/// Everything that goes by one operator's name. Never freed: kernels in the registry point to it.
struct Entry {
  explicit Entry(std::string op) : name(std::move(op)) {}

  const std::string name;
  std::mutex mutex;  // guards what follows
  /// Of several libraries with the same definition; the first counts.
  std::vector<std::shared_ptr<const OpDef>> defs;
  std::vector<std::shared_ptr<const KernelDef>> kernels;
  std::vector<std::shared_ptr<const GradDef>> grads;
  std::shared_ptr<const HostKernel> host_kernel;
  /// What kernels keep, by the name of the use of the operator.
  std::map<const KernelDef*, std::map<std::string, std::shared_ptr<OpKernelState>>> states;

  /// RuntimeError where the operator is gone.
  std::shared_ptr<const OpDef> def();
  /// Null where there is none.
  std::shared_ptr<const GradDef> grad();
};

/// The entry of that name, made where there is none.
Entry& entry(const std::string& op);
/// The same; ValueError with names that are near where no operator has the name.
Entry& defined_entry(const std::string& op);
/// The names that kernels or gradients are registered for, and no operator has.
std::vector<std::string> dangling_names();

/// "file:12".
std::string str(const SourcePlace& place);
/// "'a', 'b'"; "none" where there are none.
template <class Range, class Name>
std::string quoted(const Range& range, Name&& name) {
  std::string text;
  for (const auto& each : range) text += (text.empty() ? "'" : ", '") + std::string(name(each)) + "'";
  return text.empty() ? "none" : text;
}

/// Calls a function of an operator's author: what it throws gets the operator's name in front.
void run_authors(const std::string& where, const std::function<void()>& function);

}  // namespace lamella::user_op::detail
