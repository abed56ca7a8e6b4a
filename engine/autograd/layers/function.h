#pragma once

#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>

#include "engine/autograd/autocast/autocast.h"
#include "engine/autograd/backward/lent.h"
#include "engine/autograd/checkpoint/selection.h"
#include "engine/autograd/layers/backward_rules.h"
#include "engine/autograd/layers/dual_call.h"
#include "engine/autograd/layers/dual_rules.h"
#include "engine/autograd/layers/layer_gradients.h"
#include "engine/autograd/layers/once.h"
#include "engine/autograd/recording/capture.h"
#include "engine/autograd/recording/recorder.h"
#include "engine/autograd/saved/context.h"
#include "engine/autograd/trace/departure.h"
#include "engine/autograd/vmap/vmap_rule.h"
#include "engine/core/tensors_in.h"
#include "engine/core/thread_state.h"

namespace lamella {

template <class Layer>
class Function;

namespace autograd::detail {

/// True for a layer with a rule of its own for vmap.
template <class Layer, class... Args>
concept HasVmapRule =
    requires(const VmapInfo& info, std::decay_t<Args>&... args) { Layer::vmap(info, std::as_const(args)...); };

/// Calls the layer's rule with the innermost batched axis shown, and hides it again in the result.
template <class Layer, class Result, class... Args>
Result call_vmap_rule(const VmapRule& rule, std::tuple<Args...> args) {
  std::apply([&](auto&... arg) { (for_each_tensor(arg, [&](Tensor& x) { x = rule.shown(x); }), ...); }, args);
  Result result = [&] {
    const VmapRule::Left left(rule);
    return std::apply([&](const auto&... arg) -> Result { return Layer::vmap(rule.info(), arg...); }, args);
  }();
  for_each_tensor(result, [&](Tensor& y) {
    if (y.defined()) y = rule.hidden(y, layer_name<Layer>());
  });
  return result;
}

/// Returns the name of a call of the layer for messages; `ctx` says which operator it is where the layer stands for
/// several.
template <class Layer>
std::string call_name(const Context& ctx) {
  if constexpr (requires { Layer::name_of(ctx); }) {
    if (ctx.tag) return Layer::name_of(ctx);
  }
  return layer_name<Layer>();
}

/// Node of a C++ layer.
template <class Layer>
class FunctionNode final : public Node {
 public:
  FunctionNode() : ctx(this) {}
  std::string name() const override { return call_name<Layer>(ctx); }
  TensorList run(TensorList grads) override {
    if constexpr (Layer::kChecksGradients) {
      prepare_gradients(ctx, grads);
      if (Layer::kOnceDifferentiable && duals_active()) refuse_once_dual(*this, grads);
      if (Layer::kOnceDifferentiable && is_grad_enabled()) return run_once(std::move(grads));
      const RecordedBackward scope(*this);
      lend_all(grads);
      return assign_gradients(*this, ctx, to_entries(call_backward<Layer>(ctx, grads), ctx));
    } else {
      auto result = call_backward<Layer>(ctx, grads);
      if constexpr (std::is_same_v<decltype(result), TensorList>) {
        return result;
      } else {
        TensorList list;
        for_each_tensor(result, Collect{list});
        return list;
      }
    }
  }
  void release_saved() noexcept override { ctx.release_saved(); }
  const Context* context() const noexcept override { return &ctx; }
  bool was_called_dual() const noexcept override { return ctx.was_called_dual(); }

  Context ctx;

 private:
  TensorList run_once(TensorList grads) {
    const TensorList incoming = grads;
    TensorList results;
    {
      const NoGrad scope;
      const UserScope user;
      for (Tensor& grad : grads) {
        if (grad.defined()) grad = grad.detach();
      }
      lend_all(grads);
      results = assign_gradients(*this, ctx, to_entries(call_backward<Layer>(ctx, grads), ctx));
    }
    forbid_second_derivative(*this, incoming, results);
    return results;
  }
};

/// Type that forward returns for these arguments; void where it cannot be called with them.
template <class Layer, class... Args>
struct ForwardResult {
  using type = void;
};
template <class Layer, class... Args>
  requires requires(Context& ctx, Args&&... args) { Layer::forward(ctx, std::forward<Args>(args)...); }
struct ForwardResult<Layer, Args...> {
  using type = std::decay_t<decltype(Layer::forward(std::declval<Context&>(), std::declval<Args>()...))>;
};

/// Parameters of a layer's forward after the context; nothing where it is overloaded, a template or not public.
template <class Forward>
struct Parameters {};
template <class R, bool kNoexcept, class... P>
struct Parameters<R (*)(Context&, P...) noexcept(kNoexcept)> {
  using type = std::tuple<P...>;
};

/// Type as which apply() passes an argument on to a parameter: by constant reference where forward cannot tell the
/// difference, so that apply() is compiled once for constants, variables and temporaries.
template <class P, class Arg>
using Passed = std::conditional_t<(std::is_reference_v<P>
                                       ? std::is_lvalue_reference_v<P> && std::is_const_v<std::remove_reference_t<P>>
                                       : std::is_trivially_copyable_v<std::remove_cvref_t<Arg>> ||
                                             std::is_lvalue_reference_v<Arg>) &&
                                      std::is_convertible_v<const std::remove_reference_t<Arg>&, P>,
                                  const std::remove_reference_t<Arg>&, Arg&&>;

}  // namespace autograd::detail

/// Base of a differentiable operation with a gradient of its own.
///
///     struct Tanh : lamella::Function<Tanh> {
///       static Tensor forward(Context& ctx, const Tensor& x) {
///         const Tensor y = lamella::tanh(x);
///         ctx.save_for_backward(y);
///         return y;
///       }
///       static Tensor backward(Context& ctx, const Tensor& dy) {
///         const auto [y] = ctx.saved_tensors<1>();
///         return dy - dy * y * y;
///       }
///     };
///     Tensor y = Tanh::apply(x);
///
/// `forward` takes the context and any arguments; tensors in vectors, arrays, tuples, pairs, optionals and plain
/// structs are seen. It runs with recording off and returns a Tensor, a tuple, array, pair or vector of tensors beside
/// anything else, or a plain struct. `backward` takes the context and the gradients of the outputs in order (or one
/// TensorList or std::vector<Tensor>), and returns one gradient for each tensor argument, or for each argument. Wrong
/// counts and shapes are a ValueError when it runs. A layer whose backward is not made of differentiable operators
/// declares `static constexpr bool kOnceDifferentiable = true;`, and a second derivative is a RuntimeError.
///
/// Forward mode (forward_ad.h) is derived from backward. A layer may know better: `static R jvp(Context&, const Tensor&
/// tangent, ...)` takes a tangent for each tensor of the call, in order (or one TensorList; zeros for tensors without
/// one, undefined after set_materialize_grads(false)), reads the tensors that forward saved, and returns one tangent
/// for each output tensor. Or the layer declares `static constexpr bool kLinear = true;`, which says that it is linear
/// in all its tensors together, or `kMultilinear`, that it is in each of them: forward is then all that is needed.
///
/// In autocast, forward's operators are cast as anywhere. A layer that works in one dtype only declares `static
/// constexpr DType kCastInputs = DType::Float32;`: its floating tensors (but float64) then arrive in that dtype, and
/// autocast is off in forward. In backward it always is.
///
/// Under vmap forward and backward see single examples. A layer that cannot work so (it reads raw memory, say) has a
/// `static R vmap(const autograd::VmapInfo& info, ...)` with forward's arguments, which is called instead of forward:
/// tensors for which `info.mapped` is set have the mapped axis as their axis 0, and so have all tensors of the result.
/// Its operations are recorded as if they were done outside of vmap.
template <class Layer>
class Function {
 public:
  /// False if backward returns gradients of exactly the right number, shapes and dtypes, and saves the checks.
  static constexpr bool kChecksGradients = true;
  /// True if backward is not itself differentiable (it works on raw memory, say): a second derivative is an error.
  static constexpr bool kOnceDifferentiable = false;
  /// True if the layer is linear in all its tensors together, so that the tangents are its results for the tangents.
  static constexpr bool kLinear = false;
  /// True if it is linear in each of its tensors, so that the tangents are a sum of its results for one tangent each.
  static constexpr bool kMultilinear = false;

  /// Runs forward on `args` and records the call where an input wants a gradient.
  template <class... Args>
  static typename autograd::detail::ForwardResult<Layer, Args...>::type apply(Args&&... args) {
    static_assert(
        requires(Context& ctx) { Layer::forward(ctx, std::forward<Args>(args)...); },
        "the layer needs `static R forward(Context&, ...)` that can be called with the arguments given to apply");
    if constexpr (requires { typename autograd::detail::Parameters<decltype(&Layer::forward)>::type; }) {
      using Parameters = typename autograd::detail::Parameters<decltype(&Layer::forward)>::type;
      return [&]<std::size_t... i>(std::index_sequence<i...>) {
        return apply_as<autograd::detail::Passed<std::tuple_element_t<i, Parameters>, Args>...>(
            std::forward<Args>(args)...);
      }(std::index_sequence_for<Args...>{});
    } else {
      return apply_as<Args...>(std::forward<Args>(args)...);
    }
  }

 private:
  template <class... Args>
  static typename autograd::detail::ForwardResult<Layer, Args...>::type apply_as(Args&&... args) {
    using Result = typename autograd::detail::ForwardResult<Layer, Args...>::type;
    static_assert(
        autograd::kHoldsTensors<Result>,
        "forward must return at least one tensor: a Tensor, or a tuple, array, vector or plain struct that holds one");
    constexpr bool kChecked = Layer::kChecksGradients;

    SmallVector<const Tensor*, 4> inputs;
    (autograd::for_each_tensor(args, [&](const Tensor& x) { inputs.push_back(&x); }), ...);
    for (const Tensor* x : inputs) {
      if (!x->defined()) fail<ValueError>("[", autograd::detail::layer_name<Layer>(), "] got an undefined tensor");
    }
    if constexpr (std::is_copy_constructible_v<Result>) {
      constexpr std::uint8_t kSeen = autograd::Modes::kSelective | autograd::Modes::kCapture;
      if (autograd::modes().interceptors & kSeen) [[unlikely]] {
        if constexpr (kChecked && (autograd::kOwnsItsValue<std::decay_t<Args>> && ...)) {
          if (auto result = apply_captured<Result, Args...>(inputs, args...)) return std::move(*result);
        }
        if (autograd::modes().interceptors & autograd::Modes::kSelective) {
          return autograd::select_call<Result>(autograd::detail::layer_name<Layer>(), inputs, [&]() -> Result {
            return apply_within<Result>(std::forward<Args>(args)...);
          });
        }
      }
    }

    if constexpr (requires { Layer::kCastInputs; }) {
      if (autograd::autocast_active()) [[unlikely]] {
        std::tuple<std::decay_t<Args>...> cast(args...);
        std::apply(
            [&](auto&... arg) {
              (autograd::for_each_tensor(arg, [&](Tensor& x) { x = autograd::cast_input(x, Layer::kCastInputs); }),
               ...);
            },
            cast);
        const autograd::AutocastOff off;
        return std::apply([&](auto&... arg) -> Result { return apply_within<Result>(arg...); }, cast);
      }
    }

    if constexpr (autograd::detail::HasVmapRule<Layer, Args...>) {
      if (const auto rule = autograd::VmapRule::of(inputs)) {
        return autograd::detail::call_vmap_rule<Layer, Result>(*rule, std::tuple<std::decay_t<Args>...>(args...));
      }
    }

    // Keeps the inputs alive for the comparison with the outputs, as forward may move its arguments away or assign to
    // them.
    TensorList held;
    const auto hold_inputs = [&] {
      if (!held.empty()) return;
      for (const Tensor* x : inputs) held.push_back(*x);
      for (std::size_t i = 0; i < held.size(); ++i) inputs[i] = &held[i];
    };
    constexpr bool kMoves = ((autograd::kHoldsTensors<Args> && !std::is_lvalue_reference_v<Args>) || ...);
    const bool recording = autograd::should_record(inputs);
    if (kMoves || (kChecked && recording)) hold_inputs();
    if (autograd::duals_active()) [[unlikely]] {
      if (autograd::DualCall duals(inputs); duals) {
        hold_inputs();
        return apply_dual<Result>(duals, recording, inputs, std::forward<Args>(args)...);
      }
    }

    if (!recording) {
      Context ctx;
      if constexpr (kChecked) {
        describe_arguments(ctx, args...);
        autograd::note_departed_inputs(ctx, inputs);
      }
      Result result = run_forward(ctx, false, std::forward<Args>(args)...);
      if constexpr (kChecked) {
        SmallVector<Tensor*, 4> outputs = outputs_of(result);
        check_outputs(outputs);
        autograd::finish_unrecorded(ctx, inputs, outputs);
      } else {
        autograd::for_each_tensor(result, [&](Tensor& y) {
          if (!y.defined()) return;
          autograd::note_derived(inputs, y);
          autograd::track_result(inputs, y);
        });
      }
      if (autograd::is_tracing()) [[unlikely]] {
        autograd::for_each_tensor(result, [&](Tensor& y) {
          if (y.defined()) autograd::note_departure(autograd::detail::call_name<Layer>(ctx), inputs, y);
        });
      }
      return result;
    }

    auto* raw = new autograd::detail::FunctionNode<Layer>;
    const Ref<Node> node = Ref<Node>::adopt(raw);
    // Connects the edges before forward runs, which may ask needs_input_grad and change the inputs in place.
    autograd::connect_inputs(*node, inputs);
    if constexpr (kChecked) {
      describe_arguments(raw->ctx, args...);
      raw->ctx.created_at = current_source_line();
      for (const Tensor* x : inputs) raw->ctx.input_metas.emplace_back(*x);
    }
    Result result = run_forward(raw->ctx, true, std::forward<Args>(args)...);
    SmallVector<Tensor*, 4> outputs = outputs_of(result);
    if constexpr (kChecked) {
      check_outputs(outputs);
      for (const Tensor* y : outputs) raw->ctx.output_metas.emplace_back(*y);
    } else if (!raw->ctx.saved().empty()) {
      raw->ctx.created_at = current_source_line();
    }
    autograd::connect_outputs(node, raw->ctx, inputs, outputs);
    return result;
  }

  /// Calls apply() with its result type named, for apply() itself.
  template <class Result, class... Args>
  static Result apply_within(Args&&... args) {
    return apply(std::forward<Args>(args)...);
  }

  /// Hands the call to the graph that is recorded; nothing if it is to be made at once.
  template <class Result, class... Args>
  [[gnu::cold, gnu::noinline]] static std::optional<Result> apply_captured(std::span<const Tensor* const> inputs,
                                                                           std::remove_reference_t<Args>&... args) {
    autograd::CallCapture* const capture = autograd::thread_state().capture;
    if (!capture) return {};
    // The arguments have the types of this call, so that apply() is not compiled for others.
    const auto call = [](std::decay_t<Args>&... arg) -> Result {
      return apply_within<Result>(static_cast<Args&&>(arg)...);
    };
    return autograd::capture_layer<Result, decltype(call), std::decay_t<Args>...>(
        *capture, autograd::detail::layer_name<Layer>(), inputs, call, args...);
  }

  /// Runs forward for inputs with tangents, and gives the outputs theirs.
  template <class Result, class Inputs, class... Args>
  static Result apply_dual(autograd::DualCall& duals, bool recording, const Inputs& inputs, Args&&... args) {
    namespace detail = autograd::detail;
    if constexpr (Layer::kLinear || Layer::kMultilinear) {
      // Keeps copies, as forward may move its arguments away.
      const std::tuple<detail::Substitute<Args&&>...> kept(args...);
      Result result = [&]() -> Result {
        const autograd::HideLevels hide;
        return apply(std::forward<Args>(args)...);
      }();
      const SmallVector<Tensor*, 4> outputs = outputs_of(result);
      autograd::track_dual_views(inputs, outputs);
      duals.finish(nullptr, nullptr, outputs, [&](const TensorList& tangents) {
        return std::apply(
            [&](const auto&... argument) { return detail::linear_tangents<Layer>(tangents, argument...); }, kept);
      });
      return result;
    } else {
      constexpr bool kChecked = Layer::kChecksGradients;
      auto* raw = new detail::FunctionNode<Layer>;
      const Ref<Node> node = Ref<Node>::adopt(raw);
      autograd::connect_inputs(*node, inputs);
      duals.connect_inputs(*node);
      if constexpr (kChecked) {
        describe_arguments(raw->ctx, args...);
        raw->ctx.created_at = current_source_line();
        for (const Tensor* x : inputs) raw->ctx.input_metas.emplace_back(*x);
      }
      Result result = [&]() -> Result {
        const autograd::HideLevels hide;
        return run_forward(raw->ctx, true, std::forward<Args>(args)...);
      }();
      const SmallVector<Tensor*, 4> outputs = outputs_of(result);
      if constexpr (kChecked) {
        check_outputs(outputs);
        for (const Tensor* y : outputs) raw->ctx.output_metas.emplace_back(*y);
      }
      duals.connect_outputs(node, raw->ctx, recording, inputs, outputs);
      if constexpr (!kChecked) autograd::track_dual_views(inputs, outputs);
      duals.finish(raw, &raw->ctx, outputs, [&](TensorList tangents) -> TensorList {
        if constexpr (detail::has_jvp<Layer>()) {
          if constexpr (kChecked) tangents = duals.prepare(raw->ctx, std::move(tangents));
          return autograd::conform_tangents(*node, outputs, detail::call_jvp<Layer>(*node, raw->ctx, tangents));
        } else if constexpr (Layer::kOnceDifferentiable) {
          autograd::fail_no_jvp(*node);
        } else {
          return duals.transpose(*node, outputs, tangents);
        }
      });
      if (!recording && autograd::is_tracing()) {
        for (const Tensor* y : outputs) autograd::note_departure(detail::call_name<Layer>(raw->ctx), inputs, *y);
      }
      return result;
    }
  }

  static void check_outputs(const SmallVector<Tensor*, 4>& outputs) {
    if (outputs.empty()) fail<ValueError>("[", autograd::detail::layer_name<Layer>(), "] forward returned no tensor");
  }

  template <class... Args>
  static auto run_forward(Context& ctx, bool recording, Args&&... args) {
    if constexpr (Layer::kChecksGradients) {
      const autograd::ForwardScope scope(recording);
      return Layer::forward(ctx, std::forward<Args>(args)...);
    } else {
      const autograd::InternalScope scope;
      return Layer::forward(ctx, std::forward<Args>(args)...);
    }
  }

  template <class Result>
  static SmallVector<Tensor*, 4> outputs_of(Result& result) {
    SmallVector<Tensor*, 4> outputs;
    autograd::for_each_tensor(result, [&](Tensor& y) {
      if (y.defined()) outputs.push_back(&y);
    });
    return outputs;
  }

  template <class... Args>
  static void describe_arguments(Context& ctx, const Args&... args) {
    std::uint32_t first = 0;
    const auto describe = [&](const auto& arg) {
      ArgumentInfo info;
      info.container = !autograd::kIsTensor<std::decay_t<decltype(arg)>>;
      info.first = first;
      autograd::for_each_tensor(arg, [&](const Tensor&) { ++info.count; });
      info.has_tensors = info.count > 0;
      first += info.count;
      ctx.arguments.push_back(info);
    };
    (describe(args), ...);
  }
};

}  // namespace lamella
