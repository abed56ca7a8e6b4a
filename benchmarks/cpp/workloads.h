// Workloads measured in C++: each is written once, over the framework whose header the build has chosen.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "framework.h"

namespace benchmarks {

using framework::leaf;
using framework::Tensor;

/// Workload that is ready to run.
template <class Run>
struct Work {
  /// Does the work once and returns its result.
  Run run;
  /// Leaves whose gradients are results, too.
  std::vector<Tensor> leaves;
};

template <class Run>
Work(Run, std::vector<Tensor>) -> Work<Run>;

/// Keeps the compiler from removing the computation of the value.
template <class T>
void keep(const T& value) {
  asm volatile("" : : "m"(value) : "memory");
}

/// Runs y = step(y) `length` times, and backward through all of them.
template <class Step>
auto chain(std::int64_t length, std::vector<Tensor> more_leaves, Step step) {
  const Tensor x = leaf(2, 3, -0.5, 0.25, true);
  const Tensor dy = leaf(2, 3, 1, 0.5);
  std::vector<Tensor> leaves = std::move(more_leaves);
  leaves.push_back(x);
  return Work{[=] {
                for (const Tensor& one : leaves) framework::clear_gradient(one);
                Tensor y = x;
                for (std::int64_t i = 0; i < length; ++i) y = step(y);
                framework::backward(y, dy);
                return y;
              },
              leaves};
}

inline auto chain_of_adds(std::int64_t length, bool shared) {
  const Tensor b = leaf(2, 3, 0.01, 0.01, shared);
  return chain(length, shared ? std::vector{b} : std::vector<Tensor>{},
               [b](const Tensor& y) { return framework::add(y, b); });
}

template <class Layer>
auto chain_of_layers(std::int64_t length) {
  return chain(length, {}, [](const Tensor& y) { return Layer::apply(y); });
}

/// Calls visit(name, ops, make) for each workload: make() prepares it, and `ops` is the number of ops in one run.
template <class Visit>
void visit_workloads(Visit&& visit) {
  const auto add = [](bool recorded) {
    return Work{[a = leaf(2, 3, 0, 1, recorded), b = leaf(2, 3, 1, 2, recorded)] { return framework::add(a, b); }, {}};
  };
  visit("add", 1, [=] { return add(false); });
  visit("add_recorded", 1, [=] { return add(true); });
  visit("reshape", 1, [] { return Work{[x = leaf(2, 3, 0, 1)] { return framework::reshape(x, 3, 2); }, {}}; });
  visit("sum", 1, [] { return Work{[x = leaf(2, 3, 0, 1)] { return framework::sum(x); }, {}}; });
  visit("matmul8", 1, [] {
    return Work{[a = leaf(8, 8, 0, 0.01), b = leaf(8, 8, 1, 0.02)] { return framework::matmul(a, b); }, {}};
  });
  visit("add_backward", 1, [] { return chain_of_adds(1, false); });
  visit("chain", 100, [] { return chain_of_adds(100, false); });
  visit("chain_shared", 100, [] { return chain_of_adds(100, true); });
  visit("function_identity", 100, [] { return chain_of_layers<framework::Identity>(100); });
  visit("function_tanh", 100, [] { return chain_of_layers<framework::Tanh>(100); });
  visit("function_identity_one", 1, [] { return chain_of_layers<framework::Identity>(1); });
  visit("function_tanh_one", 1, [] { return chain_of_layers<framework::Tanh>(1); });
}

}  // namespace benchmarks
