#pragma once

#include <initializer_list>
#include <optional>

#include "engine/core/tensor.h"
#include "engine/runtime/generator.h"
#include "ops/operand.h"
#include "ops/random/fill.h"

// Building blocks of random operators: the target of a draw, and draws whose distribution no tensor determines.

namespace lamella::random {

/// Shape, dtype and device of the result of a distribution with parameters.
struct Target {
  Dims shape;
  DType dtype = DType::Float32;
  Device device;

  /// Returns the dtype of the computation: float32 for dtypes of less precision.
  DType computed() const noexcept { return dtype == DType::Float64 ? DType::Float64 : DType::Float32; }
};

/// Returns the shape of complex numbers' parts.
inline Dims with_pairs(Dims shape) {
  shape.push_back(2);
  return shape;
}

/// Returns a draw's target: `shape`, or the broadcast shape of the parameters; `dtype`, or the promoted dtype of
/// floating parameters (float32 without any); `device`, or that of the parameters. Throws ValueError if they do not
/// broadcast to `shape`, TypeError if `dtype` is not floating, RuntimeError if parameters are on several devices.
Target target_of(const char* op, const std::optional<Dims>& shape, std::initializer_list<const Operand*> parameters,
                 std::optional<DType> dtype, std::optional<Device> device);

/// A parameter in the form of the computation: a number, or a tensor in the computation's dtype.
class Parameter {
 public:
  Parameter(const Operand& given, const Target& target);
  operator Operand() const { return tensor_.defined() ? Operand(tensor_) : Operand(number_); }

 private:
  Tensor tensor_;
  Scalar number_ = 0;
};

/// Throws ValueError with `what` if an element of `valid`, a bool tensor, is false. Parameters on other devices than
/// the CPU are not checked, because that would wait for the device.
void check_valid(const char* op, const char* what, const Tensor& valid);

/// Returns a new tensor of random numbers, drawn separately for each example under vmap if randomness is to differ.
/// `dtype` is floating for uniform, normal and exponential numbers, an integer dtype for integers, bool for coins.
Tensor draw(const char* op, const Fill& fill, const Dims& shape, DType dtype, Device device, Generator* generator);
/// Overwrites x with random numbers. x is contiguous, has a dtype as for draw() (floating: float32 or float64) and
/// hides no axis; outside of vmap.
void draw_into(const char* op, const Fill& fill, const Tensor& x, Generator* generator);
/// True if draw_into() accepts x.
bool takes_draws(const Tensor& x);

/// Returns a fill of uniform numbers in [low, high), rounded to `dtype`. Throws ValueError if low > high or a bound is
/// not finite.
Fill uniform_fill(const char* op, double low, double high, DType dtype);
/// Returns a fill of bools that are true with probability p, accurate to 2^-32.
Fill coin_fill(double p);

/// Returns 64 random bits per element, the keys of their streams.
Tensor draw_keys(const char* op, const Dims& shape, Device device, Generator* generator);

}  // namespace lamella::random
