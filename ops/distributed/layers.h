#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "engine/core/tensor.h"
#include "ops/distributed/form.h"

namespace lamella::distributed {

/// Returns the result of a collective operation with its gradient.
Tensor apply(const Tensor& x, const Form& form);

/// Arguments of a collective operation as its callers give them.
struct Arguments {
  std::string_view op = "sum";
  std::int64_t root = 0;
  std::int64_t tag = 0;
  std::int64_t axis = 0;
  std::int64_t joined_axis = 0;
  std::optional<Dims> sizes = {};
  std::optional<Dims> received = {};
  std::string_view group = {};
};

/// Returns the checked form of a call; where sizes are missing that only the other processes know, asks them. `caller`
/// is the operator's name in errors.
Form form_of(Pattern pattern, const Tensor& x, const Arguments& arguments, const char* caller);

}  // namespace lamella::distributed
