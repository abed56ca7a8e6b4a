#include <gtest/gtest.h>

#include <any>
#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "engine/autograd/backward/hooks.h"
#include "engine/autograd/backward/multi_grad_hook.h"
#include "engine/autograd/graph/node.h"
#include "engine/autograd/graph/running_pass.h"
#include "tests/cpp/engine/autograd/support.h"

// Tests every way in which a layer may keep a tensor, with every way of using its result: the node dies with its last
// user, and all bytes are freed. There is no collector in C++: everything is freed at once.

namespace lamella::test {
namespace {

using autograd::backward;
using autograd::grad;

/// Named action by which the layer's forward keeps something; y is the result.
struct Kept {
  const char* name;
  std::function<void(Context& ctx, const Tensor& x, const Tensor& y)> keep;
};

void PrintTo(const Kept& kept, std::ostream* out) { *out << kept.name; }

/// x * x; keeps what its options name, and may fail.
struct Keeper : Function<Keeper> {
  struct Options {
    const Kept* kept;
    bool forward_fails = false;
    bool backward_fails = false;
  };
  static Tensor forward(Context& ctx, const Tensor& x, Options options) {
    const Tensor y = x * x;
    options.kept->keep(ctx, x, y);
    ctx.saved_data()["options"] = options;
    if (options.forward_fails) throw std::domain_error("on purpose");
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    if (std::any_cast<Options>(ctx.saved_data()["options"]).backward_fails) throw std::domain_error("on purpose");
    Tensor dx = dy;
    for (const Tensor& saved : ctx.saved_tensors()) {
      if (saved.defined()) dx = dx * reshape(saved, Dims{2});
    }
    return dx;
  }
};

/// One call, and weak references to the objects of it that must die.
struct Call {
  explicit Call(const Kept& kept) : options{&kept} {}

  Tensor operator()() {
    x = leaf({1, 2});
    Tensor y = Keeper::apply(x * 1, options);
    nodes.emplace_back(y.grad_fn());
    return y;
  }
  /// Returns a hook whose lifetime is watched.
  template <class R>
  auto hook(R result) {
    auto marker = std::make_shared<int>();
    markers.push_back(marker);
    return [marker, result](const auto&...) { return result; };
  }

  Keeper::Options options;
  Tensor x;
  std::vector<WeakNode> nodes;
  std::vector<std::weak_ptr<int>> markers;
};

struct Use {
  const char* name;
  std::function<void(Call&)> use;
};

void PrintTo(const Use& use, std::ostream* out) { *out << use.name; }

const std::array kKept{
    Kept{"Nothing", [](Context&, const Tensor&, const Tensor&) {}},
    Kept{"SavedInput", [](Context& c, const Tensor& x, const Tensor&) { c.save_for_backward(x); }},
    Kept{"SavedOutput", [](Context& c, const Tensor&, const Tensor& y) { c.save_for_backward(y); }},
    Kept{"SavedTwice", [](Context& c, const Tensor& x, const Tensor& y) { c.save_for_backward(y, Tensor(), y, x); }},
    Kept{"SavedViewOfOutput",
         [](Context& c, const Tensor&, const Tensor& y) { c.save_for_backward(reshape(y, Dims{2, 1})); }},
    Kept{"SavedDetached", [](Context& c, const Tensor&, const Tensor& y) { c.save_for_backward(y.detach()); }},
    Kept{"SavedIntermediate", [](Context& c, const Tensor& x, const Tensor&) { c.save_for_backward(x * 3); }},
    Kept{"DataInput", [](Context& c, const Tensor& x, const Tensor&) { c.saved_data()["x"] = x; }},
    Kept{"DataOutput", [](Context& c, const Tensor&, const Tensor& y) { c.saved_data()["y"] = y; }},
    Kept{"DataClosure", [](Context& c, const Tensor&,
                           const Tensor& y) { c.saved_data()["f"] = std::function<Tensor()>([y] { return y; }); }},
    Kept{"StateList",
         [](Context& c, const Tensor& x, const Tensor& y) {
           c.state<std::vector<Tensor>>() = {x, y, make_alias(y), reshape(y, Dims{1, 2})};
         }},
};

template <class F>
void expect_failure(F&& run) {
  EXPECT_THROW(run(), std::domain_error);
}

const std::array kUses{
    Use{"OnlyCalled", [](Call& call) { call(); }},
    Use{"Unrecorded",
        [](Call& call) {
          const autograd::NoGrad no_grad;
          call();
        }},
    Use{"Backward", [](Call& call) { backward(sum(call())); }},
    Use{"BackwardTwice",
        [](Call& call) {
          const Tensor y = sum(call());
          backward(y, {}, /*retain_graph=*/true);
          backward(y, {}, /*retain_graph=*/true);
        }},
    Use{"Gradient",
        [](Call& call) {
          const Tensor y = call();
          grad({sum(y)}, {call.x, y}, {.retain_graph = true});
        }},
    Use{"GradientWithGraph",
        [](Call& call) {
          const Tensor y = sum(call());
          const Tensor g = grad({y}, {call.x}, {.create_graph = true})[0];
          call.nodes.emplace_back(g.grad_fn());
        }},
    Use{"BackwardWithGraph",
        [](Call& call) {
          backward(sum(call()), {}, true, /*create_graph=*/true);
          call.x.set_grad({});  // breaks the cycle: a recorded gradient leads back to its leaf
        }},
    Use{"BackwardToInputs",
        [](Call& call) {
          const std::array y{sum(call())};
          backward(y, {}, false, false, std::span(&call.x, 1));
        }},
    Use{"OnItsResult",
        [](Call& call) {
          const Tensor z = Keeper::apply(call(), call.options);
          call.nodes.emplace_back(z.grad_fn());
          backward(sum(z));
        }},
    Use{"ForwardFails",
        [](Call& call) {
          call.options.forward_fails = true;
          expect_failure([&] { call(); });
        }},
    Use{"BackwardFails",
        [](Call& call) {
          call.options.backward_fails = true;
          const Tensor y = sum(call());
          expect_failure([&] { backward(y, {}, true); });
          expect_failure([&] { backward(y); });
        }},
    Use{"TensorHooks",
        [](Call& call) {
          const Tensor y = call();
          autograd::register_hook(y, call.hook(Tensor()));
          autograd::register_hook(call.x, call.hook(Tensor()));
          backward(sum(y));
        }},
    Use{"RemovedHooks",
        [](Call& call) {
          const Tensor y = call();
          for (const Tensor& t : {y, call.x}) {
            auto handle = autograd::register_hook(t, [t](const Tensor&) { return Tensor(); });  // a cycle, until...
            backward(sum(y), {}, true);
            handle.remove();
          }
        }},
    Use{"NodeHooks",
        [](Call& call) {
          const Tensor y = call();
          autograd::register_prehook(*y.grad_fn(), call.hook(std::optional<TensorList>()));
          autograd::register_posthook(*y.grad_fn(), call.hook(std::optional<TensorList>()));
          backward(sum(y));
        }},
    Use{"PostAccumulateHook",
        [](Call& call) {
          const Tensor y = call();
          autograd::register_post_accumulate_grad_hook(
              call.x, [hook = call.hook(0)](const Tensor& leaf) { static_cast<void>(hook(leaf)); });
          backward(sum(y));
        }},
    Use{"MultiGradHook",
        [](Call& call) {
          const std::array tensors{call(), call.x};
          autograd::register_multi_grad_hook(
              tensors, [hook = call.hook(0)](const std::vector<Tensor>& grads) { static_cast<void>(hook(grads)); });
          backward(sum(tensors[0]));
        }},
    Use{"RetainedGradient",
        [](Call& call) {
          const Tensor y = call();
          autograd::retain_grad(y);
          backward(sum(y), {}, true);
          grad({sum(y * 1)}, {call.x}, {.create_graph = true});
          y.set_grad({});
        }},
    Use{"PassData",
        [](Call& call) {
          const Tensor y = call();
          autograd::register_hook(y, [&call](const Tensor& g) {
            autograd::pass_data(&call) = g;
            autograd::queue_callback([hook = call.hook(0), g] { static_cast<void>(hook(g)); });
            return Tensor();
          });
          backward(sum(y));
        }},
    Use{"FailingHookAfterAQueuedCallback",
        [](Call& call) {
          const Tensor y = call();
          autograd::register_hook(call.x, [](const Tensor& g) -> Tensor {
            autograd::queue_callback([g] {});
            throw std::domain_error("on purpose");
          });
          expect_failure([&] { backward(sum(y), {}, true); });
        }},
    Use{"WrittenInPlace",
        [](Call& call) {
          const Tensor y = call();
          const Tensor z = y * 1;
          mul_(narrow(z, 0, 0, 1), 2);
          add_(z, y);
          call.nodes.emplace_back(z.grad_fn());
          backward(sum(z), {}, true);
        }},
    Use{"OtherThread",
        [](Call& call) {
          Tensor y = call();
          std::thread([&] {
            backward(sum(y));
            y = Tensor();
          }).join();
        }},
    Use{"ManyThreads",
        [](Call& call) {
          Tensor y = call();
          std::vector<std::thread> threads;
          for (int t = 0; t < 4; ++t) {
            threads.emplace_back([own = y] { backward(sum(own), {}, /*retain_graph=*/true); });
          }
          y = Tensor();
          for (std::thread& thread : threads) thread.join();
        }},
};

class LeakTest : public ::testing::TestWithParam<std::tuple<Kept, Use>> {};

TEST_P(LeakTest, EverythingIsFreedAtOnce) {
  const auto& [kept, use] = GetParam();
  const NoLeak no_leak;
  Call call(kept);
  use.use(call);
  call.x = Tensor();
  for (const WeakNode& node : call.nodes) EXPECT_TRUE(node.expired());
  for (const auto& marker : call.markers) EXPECT_TRUE(marker.expired());
}

INSTANTIATE_TEST_SUITE_P(Combinations, LeakTest,
                         ::testing::Combine(::testing::ValuesIn(kKept), ::testing::ValuesIn(kUses)),
                         [](const ::testing::TestParamInfo<LeakTest::ParamType>& info) {
                           return std::string(std::get<0>(info.param).name) + std::get<1>(info.param).name;
                         });

}  // namespace
}  // namespace lamella::test
