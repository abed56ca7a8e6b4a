#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/device.h"
#include "engine/core/dtype.h"
#include "engine/core/tensor.h"

namespace lamella {
class Generator;
}

namespace lamella::registry {

/// An argument of a call on its way to a kernel: a view of the caller's value, 16 bytes, freely copied and valid during
/// the call.
struct Arg {
  enum class Kind : std::uint8_t {
    None,
    /// A tensor; an undefined one stands for None.
    Tensor,
    Int,
    Float,
    Bool,
    Str,
    Scalar,
    DType,
    Device,
    Generator,
    /// A list of tensors; undefined ones stand for None.
    Tensors,
    Ints,
    Floats,
    Bools,
    Strs,
  };

  Kind kind = Kind::None;
  /// Number of elements, or of bytes of text.
  std::uint32_t size = 0;
  union {
    std::int64_t integer = 0;
    double number;
    bool truth;
    lamella::DType dtype;
    lamella::Device device;
    const lamella::Tensor* tensors;
    const lamella::Scalar* scalar;
    const char* text;
    const std::int64_t* integers;
    const double* numbers;
    const bool* truths;
    const std::string_view* texts;
    lamella::Generator* generator;
  };

  Arg() noexcept {}
  Arg(const lamella::Tensor& x) noexcept : kind(Kind::Tensor), size(1), tensors(&x) {}
  Arg(std::int64_t value) noexcept : kind(Kind::Int), integer(value) {}
  Arg(double value) noexcept : kind(Kind::Float), number(value) {}
  Arg(bool value) noexcept : kind(Kind::Bool), truth(value) {}
  Arg(std::string_view value) noexcept
      : kind(Kind::Str), size(static_cast<std::uint32_t>(value.size())), text(value.data()) {}
  /// Takes a view of the number, which must outlive it.
  Arg(const lamella::Scalar& value) noexcept : kind(Kind::Scalar), scalar(&value) {}
  Arg(lamella::DType value) noexcept : kind(Kind::DType), dtype(value) {}
  Arg(lamella::Device value) noexcept : kind(Kind::Device), device(value) {}
  Arg(lamella::Generator* value) noexcept : kind(value ? Kind::Generator : Kind::None), generator(value) {}
  Arg(std::span<const lamella::Tensor> values) noexcept
      : kind(Kind::Tensors), size(static_cast<std::uint32_t>(values.size())), tensors(values.data()) {}
  Arg(std::span<const std::int64_t> values) noexcept
      : kind(Kind::Ints), size(static_cast<std::uint32_t>(values.size())), integers(values.data()) {}
  Arg(std::span<const double> values) noexcept
      : kind(Kind::Floats), size(static_cast<std::uint32_t>(values.size())), numbers(values.data()) {}
  Arg(std::span<const bool> values) noexcept
      : kind(Kind::Bools), size(static_cast<std::uint32_t>(values.size())), truths(values.data()) {}
  Arg(std::span<const std::string_view> values) noexcept
      : kind(Kind::Strs), size(static_cast<std::uint32_t>(values.size())), texts(values.data()) {}

  bool is_none() const noexcept { return kind == Kind::None || (kind == Kind::Tensor && !tensors->defined()); }
  bool holds_tensors() const noexcept { return kind == Kind::Tensor || kind == Kind::Tensors; }
  std::string_view str() const noexcept { return {text, size}; }
  /// Returns the tensors of a Tensor or Tensors; empty for other kinds.
  std::span<const lamella::Tensor> tensor_span() const noexcept {
    return holds_tensors() ? std::span(tensors, size) : std::span<const lamella::Tensor>();
  }
};

/// A value that owns its contents: a result, a default, a stored argument. Lists and texts are shared between copies
/// and immutable.
class Value {
 public:
  using Kind = Arg::Kind;

  Value() noexcept {}
  Value(Tensor x) noexcept : kind_(Kind::Tensor), tensor_(std::move(x)) {}
  Value(std::int64_t value) noexcept : kind_(Kind::Int), integer_(value) {}
  Value(int value) noexcept : Value(std::int64_t{value}) {}
  Value(double value) noexcept : kind_(Kind::Float), number_(value) {}
  Value(bool value) noexcept : kind_(Kind::Bool), truth_(value) {}
  Value(DType value) noexcept : kind_(Kind::DType), dtype_(value) {}
  Value(Device value) noexcept : kind_(Kind::Device), device_(value) {}
  Value(Scalar value);
  Value(std::string text);
  Value(std::string_view text) : Value(std::string(text)) {}
  Value(const char* text) : Value(std::string(text)) {}
  Value(std::vector<Tensor> values);
  Value(std::vector<std::int64_t> values);
  Value(std::vector<double> values);
  Value(const std::vector<bool>& values);
  Value(std::vector<std::string> values);
  /// Copies the contents of a view. A generator is not copied and must outlive the value.
  explicit Value(const Arg& view);

  Value(const Value& other) noexcept { copy(other); }
  Value(Value&& other) noexcept { take(other); }
  Value& operator=(Value other) noexcept {
    reset();
    take(other);
    return *this;
  }
  ~Value() { reset(); }

  Kind kind() const noexcept { return kind_; }
  bool is_none() const noexcept { return kind_ == Kind::None; }
  bool is_tensor() const noexcept { return kind_ == Kind::Tensor; }

  // Return the contents; throw TypeError that names both kinds if the kind is another one.
  const Tensor& tensor() const;
  Tensor take_tensor() {
    if (kind_ != Kind::Tensor) [[unlikely]]
      wrong_kind(Kind::Tensor);
    return std::move(tensor_);
  }
  std::int64_t integer() const;
  /// Returns the number; integers are allowed.
  double number() const;
  bool truth() const;
  std::string_view text() const;
  Scalar scalar() const;
  DType dtype() const;
  Device device() const;
  std::span<const Tensor> tensors() const;
  std::span<const std::int64_t> integers() const;
  std::span<const double> numbers() const;
  std::span<const bool> truths() const;
  std::span<const std::string_view> texts() const;

  /// Returns a view of the value, valid while it is neither changed nor destroyed.
  Arg view() const noexcept;
  /// Returns the value in the notation of schemas: "1e-05", "\"same\"", "[1, 2]", "None"; tensors by their description.
  std::string str() const;
  /// True if the values are equal; tensors are equal if they are the same.
  friend bool operator==(const Value& a, const Value& b);

 private:
  struct Box;

  void reset() noexcept {
    if (kind_ == Kind::Tensor) {
      tensor_.~Tensor();
    } else if (is_boxed()) {
      release_box();
    }
    kind_ = Kind::None;
  }
  void take(Value& other) noexcept {
    kind_ = other.kind_;
    if (kind_ == Kind::Tensor) {
      new (&tensor_) Tensor(std::move(other.tensor_));
      other.tensor_.~Tensor();
    } else {
      integer_ = other.integer_;  // copies eight bytes, the size of every other member
    }
    other.kind_ = Kind::None;
  }
  bool is_boxed() const noexcept { return kind_ == Kind::Str || kind_ == Kind::Scalar || kind_ >= Kind::Tensors; }
  void copy(const Value& other) noexcept;
  void release_box() noexcept;
  void expect(Kind kind) const {
    if (kind_ != kind) wrong_kind(kind);
  }
  [[noreturn]] void wrong_kind(Kind wanted) const;

  Kind kind_ = Kind::None;
  union {
    std::int64_t integer_ = 0;
    double number_;
    bool truth_;
    DType dtype_;
    Device device_;
    Generator* generator_;
    Box* box_;
    Tensor tensor_;
  };
};

/// Returns "a Tensor", "an int", for messages.
std::string_view describe(Arg::Kind kind);

}  // namespace lamella::registry
