#include "engine/graph/graph.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/graph/executor.h"
#include "engine/registry/dispatcher.h"
#include "ops/elementwise/arithmetic.h"
#include "tests/cpp/messages.h"
#include "tests/cpp/tensors.h"

namespace lamella::testing {
namespace {

using graph::Executor;
using graph::Graph;
using graph::kNoValue;
using graph::NodeArgument;
using graph::ValueId;
using graph::ValueType;
using test::contains;
using test::message_of;

const ValueType kRow{DType::Float32, {2}};

/// Adds a call of an elementwise operator.
ValueId call(Graph& graph, const char* op, std::vector<NodeArgument> arguments) {
  return graph
      .add_operator(Dispatcher::singleton().find_schema_or_throw(op), std::move(arguments), {kRow}, {-1}, "test.cc:1")
      .results[0];
}

/// The graph of 3 x * x, with the id of x and of the result.
struct Parabola {
  Graph graph{"parabola"};
  ValueId x = graph.add_input("x", kRow);
  ValueId square = call(graph, "lamella::multiply", {NodeArgument::of(x), NodeArgument::of(x)});
  ValueId y =
      call(graph, "lamella::multiply", {NodeArgument::of(square), NodeArgument::of(registry::Value(Scalar(3.0)))});
};

std::vector<Tensor> run(const Graph& graph, std::vector<ValueId> fetches, const Tensor& x) {
  Executor executor(graph, std::move(fetches), {});
  Executor::Failure failure;
  return executor.run(std::vector{x}, failure);
}

TEST(Graph, RunsItsNodes) {
  Parabola p;
  EXPECT_EQ(values<float>(run(p.graph, {p.y}, tensor_of<float>({1, 2}))[0]), (std::vector<float>{3, 12}));
}

TEST(Graph, ComputesGradientsOnTheTape) {
  Parabola p;
  const auto& grads = p.graph.add_gradients({p.y}, {p.x}, {p.square}, "");
  const ValueId dx = grads.results[0];
  // The gradient to begin with is x * x, so that dx = 6 x^3.
  EXPECT_EQ(values<float>(run(p.graph, {dx}, tensor_of<float>({1, 2}))[0]), (std::vector<float>{6, 48}));
  p.graph.set_stop_gradient(p.square, true);
  EXPECT_EQ(p.graph.add_gradients({p.y}, {p.x}, {}, "").results[0], kNoValue);
}

TEST(Graph, TextIsReadAsAnEqualGraph) {
  Parabola p;
  const std::string text = p.graph.text();
  EXPECT_TRUE(contains(text, "%t: float32[2] = lamella::multiply(%x, %x)  # test.cc:1\n"));
  const Graph parsed = Graph::parse(text, {});
  EXPECT_EQ(parsed.text(), text);
  EXPECT_EQ(values<float>(run(parsed, {*parsed.find("t0")}, tensor_of<float>({1, 2}))[0]), (std::vector<float>{3, 12}));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { Graph::parse(text + "%z = nothing(%y)\n", {}); }), "line 5"));
}

TEST(Graph, CapturedTensorsAreThoseOfTheRun) {
  Graph graph;
  const Tensor weight = tensor_of<float>({1, 1});
  const ValueId x = graph.add_input("x", kRow);
  const ValueId w = graph.add_captured(weight, "w");
  EXPECT_EQ(graph.add_captured(weight, "again"), w);
  const ValueId y = call(graph, "lamella::add", {NodeArgument::of(x), NodeArgument::of(w)});
  Executor executor(graph, {y}, {});
  Executor::Failure failure;
  EXPECT_EQ(values<float>(executor.run(std::vector{tensor_of<float>({1, 2})}, failure)[0]), (std::vector<float>{2, 3}));
  weight.data<float>()[0] = 5;
  EXPECT_EQ(values<float>(executor.run(std::vector{tensor_of<float>({1, 2})}, failure)[0]), (std::vector<float>{6, 3}));
}

TEST(Graph, PrunedGraphsKeepWhatIsNeeded) {
  Parabola p;
  const Graph pruned = p.graph.pruned(std::vector{p.square});
  EXPECT_EQ(pruned.nodes().size(), 1u);
  EXPECT_EQ(p.graph.nodes().size(), 2u);
}

TEST(Graph, ErrorsNameNodesAndValues) {
  Parabola p;
  EXPECT_TRUE(contains(message_of<ValueError>([&] { p.graph.add_input("x", kRow); }), "'x'"));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { p.graph.rename(p.y, "x"); }), "'x'"));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { call(p.graph, "lamella::tanh", {}); }), "takes 1"));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { call(p.graph, "lamella::tanh", {NodeArgument::of(ValueId{99})}); }),
                       "'lamella::tanh' (test.cc:1)"));
  EXPECT_TRUE(contains(message_of<TypeError>([&] { run(p.graph, {p.y}, tensor_of<double>({1, 2})); }), "'x'"));
  EXPECT_TRUE(contains(message_of<ValueError>([&] { run(p.graph, {p.y}, tensor_of<float>({1, 2, 3})); }), "'x'"));
  Executor executor(p.graph, {p.y}, {});
  Executor::Failure failure;
  EXPECT_TRUE(contains(message_of<ValueError>([&] { executor.run({}, failure); }), "takes 1 inputs"));
}

}  // namespace
}  // namespace lamella::testing
