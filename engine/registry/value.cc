#include "engine/registry/value.h"

#include <array>
#include <atomic>
#include <charconv>
#include <cmath>
#include <memory>

#include "engine/core/error.h"

namespace lamella::registry {

/// Contents that do not fit into a Value itself; one member is used.
struct Value::Box {
  std::atomic<std::uint32_t> references{1};
  lamella::Scalar scalar = 0;
  std::vector<lamella::Tensor> tensors;
  std::vector<std::int64_t> integers;
  std::vector<double> numbers;
  std::unique_ptr<bool[]> truths;
  std::vector<std::string> texts;
  std::vector<std::string_view> views;
  std::size_t size = 0;

  void set_texts(std::vector<std::string> values) {
    texts = std::move(values);
    views.assign(texts.begin(), texts.end());
  }
};

Value::Value(lamella::Scalar value) : kind_(Kind::Scalar), box_(new Box) { box_->scalar = value; }
Value::Value(std::string text) : kind_(Kind::Str), box_(new Box) {
  std::vector<std::string> texts;
  texts.push_back(std::move(text));
  box_->set_texts(std::move(texts));
}
Value::Value(std::vector<lamella::Tensor> values) : kind_(Kind::Tensors), box_(new Box) {
  box_->tensors = std::move(values);
}
Value::Value(std::vector<std::int64_t> values) : kind_(Kind::Ints), box_(new Box) {
  box_->integers = std::move(values);
}
Value::Value(std::vector<double> values) : kind_(Kind::Floats), box_(new Box) { box_->numbers = std::move(values); }
Value::Value(const std::vector<bool>& values) : kind_(Kind::Bools), box_(new Box) {
  box_->truths = std::make_unique<bool[]>(values.size());
  box_->size = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) box_->truths[i] = values[i];
}
Value::Value(std::vector<std::string> values) : kind_(Kind::Strs), box_(new Box) { box_->set_texts(std::move(values)); }

Value::Value(const Arg& view) {
  const auto list = [&]<class T>(const T* first) { return std::vector<T>(first, first + view.size); };
  switch (view.kind) {
    case Kind::None:
      break;
    case Kind::Tensor:
      *this = Value(*view.tensors);
      break;
    case Kind::Int:
      *this = Value(view.integer);
      break;
    case Kind::Float:
      *this = Value(view.number);
      break;
    case Kind::Bool:
      *this = Value(view.truth);
      break;
    case Kind::Str:
      *this = Value(view.str());
      break;
    case Kind::Scalar:
      *this = Value(*view.scalar);
      break;
    case Kind::DType:
      *this = Value(view.dtype);
      break;
    case Kind::Device:
      *this = Value(view.device);
      break;
    case Kind::Generator:
      kind_ = Kind::Generator;
      generator_ = view.generator;
      break;
    case Kind::Tensors:
      *this = Value(list(view.tensors));
      break;
    case Kind::Ints:
      *this = Value(list(view.integers));
      break;
    case Kind::Floats:
      *this = Value(list(view.numbers));
      break;
    case Kind::Bools:
      *this = Value(std::vector<bool>(view.truths, view.truths + view.size));
      break;
    case Kind::Strs:
      *this = Value(std::vector<std::string>(view.texts, view.texts + view.size));
      break;
  }
}

void Value::copy(const Value& other) noexcept {
  kind_ = other.kind_;
  if (kind_ == Kind::Tensor) {
    new (&tensor_) lamella::Tensor(other.tensor_);
    return;
  }
  integer_ = other.integer_;
  if (is_boxed()) box_->references.fetch_add(1, std::memory_order_relaxed);
}

void Value::release_box() noexcept {
  if (box_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) delete box_;
}

void Value::wrong_kind(Kind wanted) const {
  fail<TypeError>("a value was asked for as ", describe(wanted), ", it is ", describe(kind_));
}

const lamella::Tensor& Value::tensor() const {
  expect(Kind::Tensor);
  return tensor_;
}
std::int64_t Value::integer() const {
  expect(Kind::Int);
  return integer_;
}
double Value::number() const {
  if (kind_ == Kind::Int) return static_cast<double>(integer_);
  expect(Kind::Float);
  return number_;
}
bool Value::truth() const {
  expect(Kind::Bool);
  return truth_;
}
std::string_view Value::text() const {
  expect(Kind::Str);
  return box_->views[0];
}
lamella::Scalar Value::scalar() const {
  if (kind_ == Kind::Int) return integer_;
  if (kind_ == Kind::Float) return number_;
  if (kind_ == Kind::Bool) return truth_;
  expect(Kind::Scalar);
  return box_->scalar;
}
lamella::DType Value::dtype() const {
  expect(Kind::DType);
  return dtype_;
}
lamella::Device Value::device() const {
  expect(Kind::Device);
  return device_;
}
std::span<const lamella::Tensor> Value::tensors() const {
  expect(Kind::Tensors);
  return box_->tensors;
}
std::span<const std::int64_t> Value::integers() const {
  expect(Kind::Ints);
  return box_->integers;
}
std::span<const double> Value::numbers() const {
  expect(Kind::Floats);
  return box_->numbers;
}
std::span<const bool> Value::truths() const {
  expect(Kind::Bools);
  return {box_->truths.get(), box_->size};
}
std::span<const std::string_view> Value::texts() const {
  expect(Kind::Strs);
  return box_->views;
}

Arg Value::view() const noexcept {
  switch (kind_) {
    case Kind::None:
      return {};
    case Kind::Tensor:
      return tensor_;
    case Kind::Int:
      return integer_;
    case Kind::Float:
      return number_;
    case Kind::Bool:
      return truth_;
    case Kind::Str:
      return box_->views[0];
    case Kind::Scalar:
      return box_->scalar;
    case Kind::DType:
      return dtype_;
    case Kind::Device:
      return device_;
    case Kind::Generator:
      return generator_;
    case Kind::Tensors:
      return std::span<const lamella::Tensor>(box_->tensors);
    case Kind::Ints:
      return std::span<const std::int64_t>(box_->integers);
    case Kind::Floats:
      return std::span<const double>(box_->numbers);
    case Kind::Bools:
      return std::span<const bool>(box_->truths.get(), box_->size);
    case Kind::Strs:
      return std::span<const std::string_view>(box_->views);
  }
  return {};
}

namespace {

/// Returns a float as Python writes it, so that it reads as a float.
std::string float_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
  std::string text(digits.data(), end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n') {
      result += "\\n";
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string scalar_text(const lamella::Scalar& value) {
  switch (value.kind()) {
    case lamella::Scalar::Kind::Bool:
      return value.to<bool>() ? "True" : "False";
    case lamella::Scalar::Kind::Int:
      return value.beyond_int64() ? std::to_string(value.to<std::uint64_t>())
                                  : std::to_string(value.to<std::int64_t>());
    case lamella::Scalar::Kind::Float:
      return float_text(value.to<double>());
    case lamella::Scalar::Kind::Complex:
      break;
  }
  return lamella::str("(", float_text(value.to<double>()), ", ", float_text(value.imaginary()), ")");
}

template <class T, class Text>
std::string list_text(std::span<const T> values, Text&& text) {
  std::string result = "[";
  for (std::size_t i = 0; i < values.size(); ++i) result += (i ? ", " : "") + text(values[i]);
  return result + "]";
}

}  // namespace

std::string Value::str() const {
  switch (kind_) {
    case Kind::None:
      return "None";
    case Kind::Tensor:
      return tensor_.defined() ? lamella::describe(tensor_) : "None";
    case Kind::Int:
      return std::to_string(integer_);
    case Kind::Float:
      return float_text(number_);
    case Kind::Bool:
      return truth_ ? "True" : "False";
    case Kind::Str:
      return quoted(text());
    case Kind::Scalar:
      return scalar_text(box_->scalar);
    case Kind::DType:
      return std::string(name(dtype_));
    case Kind::Device:
      return quoted(device_.str());
    case Kind::Generator:
      return "Generator";
    case Kind::Tensors:
      return list_text(tensors(), [](const lamella::Tensor& x) { return Value(x).str(); });
    case Kind::Ints:
      return list_text(integers(), [](std::int64_t x) { return std::to_string(x); });
    case Kind::Floats:
      return list_text(numbers(), float_text);
    case Kind::Bools:
      return list_text(truths(), [](bool x) { return std::string(x ? "True" : "False"); });
    case Kind::Strs:
      return list_text(texts(), quoted);
  }
  return {};
}

bool operator==(const Value& a, const Value& b) {
  if (a.kind_ != b.kind_) return false;
  if (a.kind_ == Arg::Kind::Tensor) return a.tensor_.same(b.tensor_);
  if (a.kind_ == Arg::Kind::Generator) return a.generator_ == b.generator_;
  if (a.kind_ == Arg::Kind::Tensors) {
    const auto x = a.tensors(), y = b.tensors();
    bool same = x.size() == y.size();
    for (std::size_t i = 0; same && i < x.size(); ++i) same = x[i].same(y[i]);
    return same;
  }
  return a.str() == b.str();  // the shortest texts that reproduce the numbers
}

std::string_view describe(Arg::Kind kind) {
  constexpr std::array<std::string_view, 15> kTexts{"None",
                                                    "a Tensor",
                                                    "an int",
                                                    "a float",
                                                    "a bool",
                                                    "a str",
                                                    "a number",
                                                    "a dtype",
                                                    "a Device",
                                                    "a Generator",
                                                    "a list of Tensors",
                                                    "a list of ints",
                                                    "a list of floats",
                                                    "a list of bools",
                                                    "a list of strs"};
  return kTexts[static_cast<std::size_t>(kind)];
}

}  // namespace lamella::registry
