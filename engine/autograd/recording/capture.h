#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/core/tensor.h"
#include "engine/core/tensors_in.h"

namespace lamella::autograd {

/// Interface that is handed calls of C++ layers while this thread records a graph.
class CallCapture {
 public:
  /// Makes the call with other tensors, in the order of the first ones.
  using Run = std::function<std::vector<Tensor>(std::vector<Tensor>)>;

  virtual ~CallCapture() = default;
  /// Records a call and returns tensors that stand for its results; nothing if the call is to be made at once.
  virtual std::optional<std::vector<Tensor>> capture(const std::string& name, std::span<const Tensor* const> inputs,
                                                     Run run) = 0;
};

/// True for a type whose copy owns what it refers to.
template <class T>
inline constexpr bool kOwnsItsValue =
    std::is_copy_constructible_v<T> && !std::is_pointer_v<T> && !std::is_same_v<T, std::string_view>;
template <class T, std::size_t N>
inline constexpr bool kOwnsItsValue<std::span<T, N>> = false;

/// Hands a layer's call to the thread's capture; `apply` makes the call with its arguments. Returns nothing if the call
/// is to be made at once.
template <class Result, class Apply, class... Args>
std::optional<Result> capture_layer(CallCapture& capture, const std::string& name,
                                    std::span<const Tensor* const> inputs, Apply apply, const Args&... args) {
  // The result's form is that of the first call, which the capture makes to learn the shapes.
  const auto form = std::make_shared<std::optional<Result>>();
  const std::weak_ptr<std::optional<Result>> wanted = form;
  const auto run = [kept = std::tuple<Args...>(args...), apply, wanted](std::vector<Tensor> tensors) {
    auto copy = kept;
    std::size_t next = 0;
    std::apply([&](auto&... arg) { (for_each_tensor(arg, [&](Tensor& x) { x = std::move(tensors[next++]); }), ...); },
               copy);
    Result result = std::apply(apply, copy);
    std::vector<Tensor> results;
    for_each_tensor(result, [&](Tensor& y) {
      if (y.defined()) results.push_back(y);
    });
    if (const auto first = wanted.lock()) *first = std::move(result);
    return results;
  };
  std::optional<std::vector<Tensor>> symbols = capture.capture(name, inputs, run);
  if (!symbols || !form->has_value()) return {};
  std::size_t next = 0;
  for_each_tensor(form->value(), [&](Tensor& y) {
    if (y.defined()) y = std::move((*symbols)[next++]);
  });
  return std::move(*form);
}

}  // namespace lamella::autograd
