#pragma once

#include "engine/core/tensor.h"
#include "ops/op_info.h"
#include "ops/operand.h"

namespace lamella {

// Operators that write into their first argument and return it.
//
// While gradients are recorded and an argument requires one, the change is recorded as well: the tensor then stands for
// its new value, and so do its views and its base. Throws RuntimeError for a leaf that requires a gradient, and for
// memory shared in a way that the tape does not track (detach(), a view made under no_grad(), an input that a custom
// layer returned). A saved tensor that was overwritten is detected when backward reads it.

struct AddInPlace {
  static constexpr OpInfo info{
      .name = "add_",
      .doc = "Adds `other`, broadcast, to x in place. TypeError where the sum's dtype is of a higher kind than x's.",
      .parameters = "x, other, /",
      .example = "ones([2]).add_(1)"};
  static Tensor call(const Tensor& x, const Operand& other);
};

struct SubtractInPlace {
  static constexpr OpInfo info{.name = "sub_",
                               .doc = "Subtracts `other`, broadcast, from x in place.",
                               .parameters = "x, other, /",
                               .example = "ones([2]).sub_(1)"};
  static Tensor call(const Tensor& x, const Operand& other);
};

struct MultiplyInPlace {
  static constexpr OpInfo info{.name = "mul_",
                               .doc = "Multiplies x by `other`, broadcast, in place.",
                               .parameters = "x, other, /",
                               .example = "ones([2]).mul_(3)"};
  static Tensor call(const Tensor& x, const Operand& other);
};

struct DivideInPlace {
  static constexpr OpInfo info{.name = "div_",
                               .doc = "Divides x by `other`, broadcast, in place. TypeError for an integer x.",
                               .parameters = "x, other, /",
                               .example = "ones([2]).div_(4)"};
  static Tensor call(const Tensor& x, const Operand& other);
};

struct CopyInPlace {
  static constexpr OpInfo info{
      .name = "copy_",
      .doc = "Writes the values of `source`, broadcast and cast, into x. The gradient goes to `source` alone.",
      .parameters = "x, source, /",
      .example = "zeros([2]).copy_(ones([2]))"};
  static Tensor call(const Tensor& x, const Operand& source);
};

struct FillInPlace {
  static constexpr OpInfo info{.name = "fill_",
                               .doc = "Sets every element of x to a number.",
                               .parameters = "x, value, /",
                               .example = "zeros([2]).fill_(3)"};
  static Tensor call(const Tensor& x, Scalar value);
};

struct MaskedFillInPlace {
  static constexpr OpInfo info{
      .name = "masked_fill_",
      .doc =
          "Sets the elements of x where `mask`, a bool tensor that broadcasts to x's shape, is true to `value`, a "
          "number or a 0-d tensor. The gradient of a tensor is summed over what it filled.",
      .parameters = "x, mask, value, /",
      .example = "zeros([2]).masked_fill_(tensor([True, False]), 3)"};
  static Tensor call(const Tensor& x, const Tensor& mask, const Operand& value);
};

struct ZeroInPlace {
  static constexpr OpInfo info{.name = "zero_", .doc = "Sets every element of x to 0.", .example = "ones([2]).zero_()"};
  static Tensor call(const Tensor& x);
};

inline Tensor add_(const Tensor& x, const Operand& other) { return AddInPlace::call(x, other); }
inline Tensor sub_(const Tensor& x, const Operand& other) { return SubtractInPlace::call(x, other); }
inline Tensor mul_(const Tensor& x, const Operand& other) { return MultiplyInPlace::call(x, other); }
inline Tensor div_(const Tensor& x, const Operand& other) { return DivideInPlace::call(x, other); }
inline Tensor copy_(const Tensor& x, const Operand& source) { return CopyInPlace::call(x, source); }
inline Tensor fill_(const Tensor& x, Scalar value) { return FillInPlace::call(x, value); }
inline Tensor masked_fill_(const Tensor& x, const Tensor& mask, const Operand& value) {
  return MaskedFillInPlace::call(x, mask, value);
}
inline Tensor zero_(const Tensor& x) { return ZeroInPlace::call(x); }

struct ElementwiseOp;

/// Computes x = op(x, other) for a binary elementwise operator. The result is cast to x's dtype; throws TypeError if it
/// is of a higher kind. `name` is the operation's name in messages.
Tensor update_in_place(const ElementwiseOp& op, const Tensor& x, const Operand& other, const char* name);

}  // namespace lamella
