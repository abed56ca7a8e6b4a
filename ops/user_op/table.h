#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "engine/core/tensor.h"
#include "ops/user_op/definitions.h"
#include "ops/user_op/gradient.h"

// The registrations of the OneFlow dialect, besides those in the registry of operators.

namespace lamella::user_op::detail {

/// Computes the outputs of a call outside of C++, from the inputs and the descriptions of the outputs.
using HostKernel =
    std::function<std::vector<lamella::Tensor>(const std::vector<lamella::Tensor>&, const std::vector<TensorDesc>&)>;

/// Everything registered under one operator's name. Never destroyed: kernels in the registry point to it.
struct Entry {
  explicit Entry(std::string op) : name(std::move(op)) {}

  const std::string name;
  std::mutex mutex;  // guards the members below
  /// Equal definitions by several libraries; the first one counts.
  std::vector<std::shared_ptr<const OpDef>> defs;
  std::vector<std::shared_ptr<const KernelDef>> kernels;
  std::vector<std::shared_ptr<const GradDef>> grads;
  std::shared_ptr<const HostKernel> host_kernel;
  /// The states of kernels, by the name of the operator's use.
  std::map<const KernelDef*, std::map<std::string, std::shared_ptr<OpKernelState>>> states;

  /// Returns the definition; throws RuntimeError if the operator was removed.
  std::shared_ptr<const OpDef> def();
  /// Returns the gradient, or null.
  std::shared_ptr<const GradDef> grad();
};

/// Returns the entry of that name, creating it if necessary.
Entry& entry(const std::string& op);
/// Returns the entry of that name; throws ValueError with similar names if no such operator is defined.
Entry& defined_entry(const std::string& op);
/// Returns the entry of that name; null if no such operator is defined.
Entry* find_defined(const std::string& op);
/// Returns all entries.
std::vector<Entry*> all_entries();
/// Returns the names for which kernels or gradients are registered, but no operator.
std::vector<std::string> dangling_names();

}  // namespace lamella::user_op::detail
