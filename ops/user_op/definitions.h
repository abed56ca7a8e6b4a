#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "ops/user_op/hob.h"
#include "ops/user_op/maybe.h"
#include "ops/user_op/messages.h"
#include "ops/user_op/placement.h"
#include "ops/user_op/sbp.h"

// The parts of an operator as their authors describe them, besides its gradient.

namespace lamella::user_op::detail {

/// The declaration and definition of an operator.
struct OpDef {
  std::string name;
  SourcePlace place;
  std::vector<ArgDef> inputs;
  std::vector<ArgDef> outputs;
  std::vector<AttrDef> attrs;
  std::function<Maybe<void>(const UserOpDefWrapper&, const UserOpConfWrapper&)> check_attr;
  std::function<Maybe<void>(InferContext*)> infer;
  /// The one for parts of tensors, if there is no `infer`.
  std::function<Maybe<void>(InferContext*)> infer_part;
  std::function<Maybe<void>(InferContext*)> infer_dtype;
  std::function<Maybe<void>(SbpContext*)> sbp;
  std::function<Maybe<void>(DeviceInferContext*)> infer_device;
  std::function<Maybe<void>(const GetInputArgModifier&, const UserOpConfWrapper&)> modify_inputs;
  std::function<Maybe<void>(const GetOutputArgModifier&, const UserOpConfWrapper&)> modify_outputs;
  /// True if the operator's outputs are constants to gradients.
  bool no_grad = false;
};

/// A kernel of an operator.
struct KernelDef {
  std::string op;
  SourcePlace place;
  std::function<std::unique_ptr<OpKernel>(KernelCreateContext*)> create;
  std::function<std::size_t(InferContext*)> tmp_size;
  std::vector<Hob> conditions;
  /// The highest priority of the kernels that match a call decides which one computes it.
  int priority = 0;
};

}  // namespace lamella::user_op::detail
