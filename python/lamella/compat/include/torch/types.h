#pragma once

// The names of torch::, which are those of at:: and c10::.

#include <optional>
#include <vector>

#include "ATen/Dispatch.h"
#include "ATen/Functions.h"
#include "ATen/MatrixFunctions.h"
#include "ATen/MoreFunctions.h"
#include "ATen/OutFunctions.h"
#include "ATen/SearchFunctions.h"
#include "ATen/TensorIndexing.h"
#include "ATen/core/LegacyTypeDispatch.h"

namespace c10 {
template <class T>
using optional = std::optional<T>;
using std::make_optional;
using std::nullopt;
using std::nullopt_t;
using string_view = std::string_view;
/// Returns the value, or what `otherwise` makes.
template <class T, class F>
T value_or_else(const std::optional<T>& value, F&& otherwise) {
  return value ? *value : T(otherwise());
}
}  // namespace c10

namespace torch {
using namespace at;  // NOLINT(google-build-using-namespace): as in PyTorch
using at::Tensor;
using Dtype = at::ScalarType;

}  // namespace torch
