#pragma once

#include <initializer_list>
#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/operand.h"
#include "ops/random/fill.h"

// What random operators are made of: the places of a draw, and draws of numbers that no tensor has a say in.

namespace lamella::random {

/// Shape, dtype and device of numbers whose distribution is given by parameters.
struct Target {
  Dims shape;
  DType dtype = DType::Float32;
  Device device;

  /// What it is computed in: float32 for dtypes of less precision.
  DType computed() const noexcept { return dtype == DType::Float64 ? DType::Float64 : DType::Float32; }
};

/// The shape of the parts of complex numbers.
inline Dims with_pairs(Dims shape) {
  shape.push_back(2);
  return shape;
}

/// A draw's target: `shape`, or without one the shape that the parameters broadcast to; `dtype`, or the one that their
/// floating tensors promote to (float32 where there is none); `device`, or theirs. ValueError where they do not
/// broadcast to `shape`, TypeError for a dtype that is not floating, RuntimeError for parameters on several devices.
Target target_of(const char* op, const std::optional<Dims>& shape, std::initializer_list<const Operand*> parameters,
                 std::optional<DType> dtype, std::optional<Device> device);

/// A parameter as the computation takes it: a number, or a tensor in the computation's dtype.
class Parameter {
 public:
  Parameter(const Operand& given, const Target& target);
  operator Operand() const { return tensor_.defined() ? Operand(tensor_) : Operand(number_); }

 private:
  Tensor tensor_;
  Scalar number_ = 0;
};

/// ValueError with `what` where an element of `valid`, a bool tensor, is false. On other devices than the CPU
/// parameters are taken on trust: asking would wait for them.
void check_valid(const char* op, const char* what, const Tensor& valid);

/// A new tensor of numbers, with some for each example of the calls of vmap that want it. `dtype`: floating for
/// uniform, normal and exponential numbers, an integer dtype for integers, bool for coins.
Tensor draw(const char* op, const Fill& fill, const Dims& shape, DType dtype, Device device, Generator* generator);
/// The same in x, which is contiguous, has such a dtype (floating: float32 or float64) and hides no axis; outside vmap.
void draw_into(const char* op, const Fill& fill, const Tensor& x, Generator* generator);
/// Whether draw_into() can.
bool takes_draws(const Tensor& x);

/// Uniform numbers in [low, high) as `dtype` has them. ValueError where low > high, or one is not finite.
Fill uniform_fill(const char* op, double low, double high, DType dtype);
/// Bools that are true with probability p, to 2^-32.
Fill coin_fill(double p);

/// Integers of 64 random bits, to make a stream of numbers for each element of.
Tensor draw_keys(const char* op, const Dims& shape, Device device, Generator* generator);

}  // namespace lamella::random
