// What a call of an op, the tape and a layer of one's own cost in C++, without Python.

#include <benchmark/benchmark.h>
#include <lamella/lamella.h>

#include <cstdint>

namespace {

using lamella::Context;
using lamella::Tensor;

Tensor make_leaf(bool wants_gradient) {
  const Tensor x = lamella::full({2, 3}, 0.5);
  x.set_requires_grad(wants_gradient);
  return x;
}

struct Identity : lamella::Function<Identity> {
  static Tensor forward(Context&, const Tensor& x) { return x; }
  static Tensor backward(Context&, const Tensor& dy) { return dy; }
};

struct Tanh : lamella::Function<Tanh> {
  static Tensor forward(Context& ctx, const Tensor& x) {
    Tensor y = lamella::tanh(x);
    ctx.save_for_backward(y);
    return y;
  }
  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [y] = ctx.saved_tensors<1>();
    return dy * (1 - lamella::square(y));
  }
};

void add(benchmark::State& state) {
  const bool recorded = state.range(0) != 0;
  const Tensor a = make_leaf(recorded);
  const Tensor b = make_leaf(recorded);
  for (auto _ : state) benchmark::DoNotOptimize(lamella::add(a, b));
}
BENCHMARK(add)->ArgName("recorded")->Arg(0)->Arg(1);

/// Shows the time of one op or layer, forward and backward, beside that of the whole chain.
void count_per_op(benchmark::State& state, std::int64_t length) {
  state.counters["per_op"] = benchmark::Counter(static_cast<double>(state.iterations() * length),
                                                benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void chain_of_adds(benchmark::State& state) {
  const Tensor x = make_leaf(true);
  const Tensor b = make_leaf(state.range(1) != 0);
  const Tensor dy = make_leaf(false);
  for (auto _ : state) {
    x.set_grad({});
    b.set_grad({});
    Tensor y = x;
    for (std::int64_t i = 0; i < state.range(0); ++i) y = lamella::add(y, b);
    lamella::autograd::backward(y, dy);
  }
  count_per_op(state, state.range(0));
}
BENCHMARK(chain_of_adds)->ArgNames({"length", "b_wants_gradient"})->Args({100, 0})->Args({100, 1})->Args({1, 0});

template <class Layer>
void chain_of_layers(benchmark::State& state) {
  const Tensor x = make_leaf(true);
  const Tensor dy = make_leaf(false);
  for (auto _ : state) {
    x.set_grad({});
    Tensor y = x;
    for (std::int64_t i = 0; i < state.range(0); ++i) y = Layer::apply(y);
    lamella::autograd::backward(y, dy);
  }
  count_per_op(state, state.range(0));
}
BENCHMARK(chain_of_layers<Identity>)->ArgName("length")->Arg(100)->Arg(1);
BENCHMARK(chain_of_layers<Tanh>)->ArgName("length")->Arg(100)->Arg(1);

}  // namespace
