#include "engine/autograd/diagnosis/inspect.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <thread>
#include <utility>

#include "engine/autograd/diagnosis/draw.h"
#include "engine/autograd/diagnosis/explain.h"
#include "engine/autograd/graph/origin.h"
#include "engine/autograd/trace/anomaly.h"
#include "engine/autograd/trace/departure.h"
#include "tests/cpp/engine/autograd/support.h"

namespace lamella::test {
namespace {

using autograd::draw;
using autograd::explain;
using autograd::graph_stats;
using autograd::Trace;

// graph_stats, live_nodes, saved_bytes

TEST(InspectTest, CountsNodesAndSavedBytesByName) {
  const Tensor x = leaf({1.0f, 2.0f});
  const Tensor y = Cube::apply(x) * vec({3, 4});
  const auto stats = graph_stats({&y, 1});
  ASSERT_EQ(stats.size(), 3u);
  EXPECT_EQ(stats.at("AccumulateGrad").nodes, 1u);
  EXPECT_EQ(stats.at("AccumulateGrad").saved_bytes, 0u);
  EXPECT_EQ(stats.at("Cube").nodes, 1u);
  EXPECT_EQ(stats.at("Cube").saved_bytes, x->storage->bytes);
  EXPECT_EQ(stats.at("multiply").saved_bytes, x->storage->bytes);
}

TEST(InspectTest, SharedMemoryCountsOnce) {
  const Tensor x = leaf({1.0f, 2.0f});
  const Tensor y = Cube::apply(x) + Cube::apply(x) + sum(x * x);
  std::size_t saved = 0;
  for (const auto& [name, count] : graph_stats({&y, 1})) saved += count.saved_bytes;
  EXPECT_EQ(saved, x->storage->bytes);
  autograd::backward(sum(y));
  saved = 0;
  for (const auto& [name, count] : graph_stats({&y, 1})) saved += count.saved_bytes;
  EXPECT_EQ(saved, 0u);
}

TEST(InspectTest, AConstantHasNoGraph) {
  const Tensor x = vec({1});
  EXPECT_TRUE(graph_stats({&x, 1}).empty());
  EXPECT_TRUE(graph_stats({}).empty());
}

TEST(InspectTest, LiveNodesAreThoseMadeUnderTrace) {
  const auto count = [](const std::string& name) {
    const auto counts = autograd::live_nodes();
    const auto found = counts.find(name);
    return found == counts.end() ? std::size_t{0} : found->second;
  };
  const Tensor x = leaf({1.0f});
  const Tensor outside = Cube::apply(x);
  EXPECT_EQ(count("Cube"), 0u);
  {
    const Trace trace;
    const Tensor a = Cube::apply(x);
    Tensor b;
    std::thread([&] {
      const Trace its_own;
      b = Cube::apply(x);
    }).join();
    EXPECT_EQ(count("Cube"), 2u);
    EXPECT_EQ(autograd::saved_bytes().at("Cube"), x->storage->bytes);
  }
  EXPECT_EQ(count("Cube"), 0u);
}

// Notes of trace()

TEST(InspectTest, NodesKnowTheirPlaceAndResults) {
  const Tensor x = leaf({1.0f, 2.0f});
  const Trace trace;
  const Tensor y = sum(x);
  const auto origin = autograd::origin_of(*y.grad_fn());
  ASSERT_TRUE(origin);
  ASSERT_EQ(origin->outputs.size(), 1u);
  EXPECT_EQ(origin->outputs[0].shape, Dims{});
  EXPECT_FALSE(origin->native.empty());
  EXPECT_FALSE(autograd::origin_of(*Cube::apply(x).grad_fn())->native.empty());
}

TEST(InspectTest, OutsideNothingIsNoted) {
  const Tensor x = leaf({1.0f, 2.0f});
  EXPECT_FALSE(autograd::origin_of(*sum(x).grad_fn()));
  EXPECT_FALSE(autograd::departure_of(x.detach()));
  EXPECT_FALSE(autograd::peek_meta(x.detach()));
}

TEST(InspectTest, ALongChainOfDeparturesIsShort) {
  const Tensor x = leaf({1.0f});
  const Trace trace;
  Tensor y = x.detach();
  for (int i = 0; i < 10000; ++i) y = y + 1;
  std::size_t length = 0;
  std::size_t skipped = 0;
  for (auto d = autograd::departure_of(y); d; d = d->before) {
    ++length;
    skipped += d->skipped;
  }
  EXPECT_LE(length, 17u);
  EXPECT_EQ(length + skipped, 10001u);
}

/// Host that runs user code when it is asked for its stack, like one whose garbage collector runs finalizers then.
class HostWithFinalizers {
 public:
  explicit HostWithFinalizers(std::function<void()> code) {
    code_ = std::move(code);
    host_hooks().stack = [](HostFrame*, std::size_t) {
      if (const auto code = std::exchange(code_, nullptr)) {
        code();
        code_ = code;
      }
      return std::size_t{0};
    };
  }
  ~HostWithFinalizers() {
    host_hooks().stack = nullptr;
    code_ = nullptr;
  }
  HostWithFinalizers(const HostWithFinalizers&) = delete;
  HostWithFinalizers& operator=(const HostWithFinalizers&) = delete;

 private:
  static inline std::function<void()> code_;
};

TEST(InspectTest, TheHostsStackIsAskedForUnderNoLock) {
  const Tensor x = leaf({1.0f, 2.0f});
  const Tensor unused = leaf({1.0f});
  const Tensor base = zeros({2});
  const Tensor view = narrow(base, 0, 0, 1);
  copy_(base, x * x);
  const Tensor y = FromIntermediate::apply(x);
  int looks = 0;
  const HostWithFinalizers host([&] {
    ++looks;
    EXPECT_FALSE(unused.grad().defined());
    EXPECT_TRUE(view.requires_grad());
    EXPECT_EQ(autograd::saved_tensors(*y.grad_fn()).size(), 1u);
  });
  const Trace trace;
  EXPECT_TRUE(autograd::gradient_edge(unused));
  EXPECT_EQ(looks, 1);
  mul_(base, 2);
  looks = 0;
  EXPECT_TRUE(view.requires_grad());
  EXPECT_GE(looks, 1);
  looks = 0;
  const Tensor dx = autograd::grad({sum(y)}, {x}, {.create_graph = true})[0];
  EXPECT_GE(looks, 1);
  EXPECT_EQ(values(dx), (Values{8, 16}));
}

// explain

TEST(ExplainTest, FollowsTheChainBack) {
  const Tensor x = leaf({1.0f});
  const Trace trace;
  const Tensor y = vec({1}) + x.detach();
  EXPECT_EQ(
      explain(y),
      "x (float32[1] on cpu) was computed by `add` from input 1, which left the tape at `detach`: detach() gives a "
      "constant. Use the tensor itself where a gradient is to flow.");
}

TEST(ExplainTest, InferenceMode) {
  const Tensor x = leaf(1.0f);
  Tensor y;
  {
    const autograd::InferenceMode inference;
    y = x * 2;
  }
  EXPECT_EQ(explain(y),
            "x (float32[] on cpu) was made in inference_mode: it never takes part in a recorded operation. Make it "
            "outside of that scope, or use a copy made outside, x.clone().");
}

TEST(ExplainTest, RetainedGradients) {
  const Tensor x = leaf({1.0f});
  const Tensor y = Cube::apply(x);
  autograd::retain_grad(y);
  EXPECT_EQ(explain(y),
            "x (float32[1] on cpu) is the result of `Cube`. retain_grad() was called for it, and no backward pass has "
            "brought a gradient since: call backward() on something computed from it.");
  autograd::backward(y);
  EXPECT_EQ(explain(y),
            "x (float32[1] on cpu) has a gradient: x.grad holds what backward passes have added up since it was last "
            "cleared.");
}

TEST(ExplainTest, UnrecordedViews) {
  const Tensor w = vec({1, 2});
  const Tensor v = narrow(w, 0, 0, 1);
  EXPECT_TRUE(contains(explain(v),
                       "x (float32[1] on cpu) is a view of a tensor that is off the tape itself: base "
                       "(float32[2] on cpu) has stop_gradient=True and no history."));
}

TEST(ExplainTest, AnUndefinedTensorIsAnError) { EXPECT_THROW(explain(Tensor()), ValueError); }

// draw

TEST(DrawTest, AsText) {
  const Tensor x = leaf({1.0f, 2.0f});
  const Tensor w = leaf({3.0f, 4.0f});
  const Tensor h = Cube::apply(x);
  const Tensor y = sum(h * w + h);
  autograd::DrawOptions options{.format = "text", .names = {{w, "weight"}}, .max_nodes = 100};
  EXPECT_EQ(draw({&y, 1}, options),
            "sum  float32[]\n"
            "add\n"
            "├─ multiply  saves " +
                std::to_string(h->storage->bytes + w->storage->bytes) +
                " B\n"
                "│  ├─ #1 Cube  float32[2]  saves " +
                std::to_string(x->storage->bytes) +
                " B\n"
                "│  │  leaf  float32[2]\n"
                "│  └─ leaf weight  float32[2]\n"
                "└─ see #1\n");
}

TEST(DrawTest, LeavesOutWhatIsTooMuchAndSaysSo) {
  const Tensor x = leaf({1.0f, 2.0f});
  Tensor y = x;
  for (int i = 0; i < 10; ++i) y = Cube::apply(y);
  const std::string text = draw({&y, 1}, {.format = "text", .names = {}, .max_nodes = 2});
  const std::string bytes = std::to_string(y->storage->bytes);
  EXPECT_EQ(text, "Cube  float32[2]  saves " + bytes + " B\nCube  float32[2]  saves " + bytes +
                      " B\n...\n(9 more nodes, which save " + std::to_string(8 * y->storage->bytes) +
                      " B, left out: raise max_nodes to see them)\n");
  EXPECT_TRUE(contains(draw({&y, 1}, {.format = "svg", .names = {}, .max_nodes = 2}), "9 more nodes, which save "));
}

TEST(DrawTest, ALongChainNeedsNoStack) {
  Tensor y = leaf({1.0f});
  for (int i = 0; i < 100000; ++i) y = y + 1;
  EXPECT_TRUE(contains(draw({&y, 1}, {.format = "text", .names = {}, .max_nodes = 1000000}), "leaf  float32[1]\n"));
}

TEST(DrawTest, SvgIsEscapedAndWhole) {
  const Tensor x = leaf({1.0f});
  const Tensor y = x * 2;
  const std::string svg = draw({&y, 1}, {.format = "svg", .names = {{x, "<&\"'\x01>"}}, .max_nodes = 10});
  EXPECT_TRUE(svg.starts_with("<svg xmlns="));
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
  EXPECT_TRUE(contains(svg, ">&lt;&amp;&quot;&#39; &gt;</text>"));
}

TEST(DrawTest, WrongCalls) {
  const Tensor x = vec({1});
  const Tensor y = leaf({1.0f}) * 2;
  EXPECT_EQ(message_of<ValueError>([&] { draw({&y, 1}, {.format = "png", .names = {}, .max_nodes = 1}); }),
            "[draw] format: expected 'svg' or 'text', got 'png'");
  EXPECT_EQ(message_of<ValueError>([&] { draw({&y, 1}, {.format = "svg", .names = {}, .max_nodes = 0}); }),
            "[draw] max_nodes: expected at least 1, got 0");
  EXPECT_EQ(message_of<ValueError>([&] { draw({&x, 1}); }),
            "[draw] none of the tensors is on the tape: pass results of recorded operations (explain() tells why a "
            "tensor is off the tape)");
}

}  // namespace
}  // namespace lamella::test
