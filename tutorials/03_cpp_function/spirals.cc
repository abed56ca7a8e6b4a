// Learns to classify points of two spirals: a network, a custom layer and an optimizer, in C++ alone.

#include <lamella/lamella.h>

#include <any>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <numbers>
#include <random>
#include <utility>
#include <vector>

namespace {

using lamella::Context;
using lamella::Tensor;

/// y = x + sin(f x)^2 / f, element by element: like the identity at large, and periodic in detail.
///
/// dy/dx = 1 + sin(2 f x).
/// Source: Ziyin et al. 2020, "Neural networks fail to learn periodic functions and how to fix it".
struct Snake : lamella::Function<Snake> {
  static Tensor forward(Context& ctx, const Tensor& x, double frequency) {
    ctx.save_for_backward(x);
    ctx.saved_data()["frequency"] = frequency;
    return x + lamella::square(lamella::sin(frequency * x)) / frequency;
  }

  static Tensor backward(Context& ctx, const Tensor& dy) {
    const auto [x] = ctx.saved_tensors<1>();
    const double frequency = std::any_cast<double>(ctx.saved_data()["frequency"]);
    return dy * (1 + lamella::sin((2 * frequency) * x));
  }
};

/// Points of shape [n, 2] and, for each, the spiral that it belongs to: 0 or 1.
struct Points {
  Tensor positions;
  Tensor spirals;
};

/// Draws points of two spirals of one and a half turns, with a little noise.
Points draw_points(std::int64_t n, std::mt19937& random) {
  Points points{lamella::empty({n, 2}), lamella::empty({n}, lamella::DType::Int64)};
  auto* position = points.positions.data<float>();
  auto* spiral = points.spirals.data<std::int64_t>();
  std::uniform_real_distribution<double> radius(0.05, 1.0);
  std::normal_distribution<double> blur(0.0, 0.02);
  for (std::int64_t i = 0; i < n; ++i) {
    spiral[i] = i % 2;
    const double r = radius(random);
    const double angle = std::numbers::pi * (3.0 * r + static_cast<double>(spiral[i]));
    position[2 * i] = static_cast<float>(r * std::cos(angle) + blur(random));
    position[2 * i + 1] = static_cast<float>(r * std::sin(angle) + blur(random));
  }
  return points;
}

/// Returns a leaf that wants a gradient, uniform in [-bound, bound].
Tensor parameter(std::initializer_list<std::int64_t> shape, double bound, std::mt19937& random) {
  Tensor x = lamella::empty(shape);
  std::uniform_real_distribution<double> uniform(-bound, bound);
  for (std::int64_t i = 0; i < x.numel(); ++i) x.data<float>()[i] = static_cast<float>(uniform(random));
  x.set_requires_grad(true);
  return x;
}

struct Linear {
  Linear(std::int64_t inputs, std::int64_t outputs, std::mt19937& random)
      : weight(parameter({inputs, outputs}, 1.0 / std::sqrt(static_cast<double>(inputs)), random)),
        bias(parameter({outputs}, 1.0 / std::sqrt(static_cast<double>(inputs)), random)) {}

  Tensor operator()(const Tensor& x) const { return lamella::matmul(x, weight) + bias; }

  Tensor weight;
  Tensor bias;
};

struct Network {
  explicit Network(std::mt19937& random) : first(2, 32, random), second(32, 32, random), last(32, 2, random) {}

  /// Maps positions of shape [n, 2] to one score for each spiral, [n, 2].
  Tensor operator()(const Tensor& positions) const {
    return last(Snake::apply(second(Snake::apply(first(positions), 2.0)), 2.0));
  }

  std::vector<Tensor*> parameters() {
    return {&first.weight, &first.bias, &second.weight, &second.bias, &last.weight, &last.bias};
  }

  Linear first;
  Linear second;
  Linear last;
};

/// Optimizer Adam. Source: Kingma & Ba 2015, "Adam: a method for stochastic optimization", algorithm 1.
class Adam {
 public:
  Adam(std::vector<Tensor*> parameters, double rate) : parameters_(std::move(parameters)), rate_(rate) {
    for (const Tensor* p : parameters_) {
      means_.push_back(lamella::zeros_like(p->detach()));
      squares_.push_back(lamella::zeros_like(p->detach()));
    }
  }

  /// Replaces each parameter by one that has moved against its gradient.
  void step() {
    const lamella::autograd::NoGrad off;  // the steps themselves are not differentiated
    ++steps_;
    const double mean_weight = 1.0 - std::pow(kBeta1, steps_);
    const double square_weight = 1.0 - std::pow(kBeta2, steps_);
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      const Tensor gradient = parameters_[i]->grad();
      means_[i] = kBeta1 * means_[i] + (1.0 - kBeta1) * gradient;
      squares_[i] = kBeta2 * squares_[i] + (1.0 - kBeta2) * lamella::square(gradient);
      const Tensor scale = lamella::sqrt(squares_[i] / square_weight) + 1e-8;
      Tensor moved = *parameters_[i] - (rate_ / mean_weight) * means_[i] / scale;
      moved.set_requires_grad(true);
      *parameters_[i] = moved;
    }
  }

 private:
  static constexpr double kBeta1 = 0.9;
  static constexpr double kBeta2 = 0.999;

  std::vector<Tensor*> parameters_;
  std::vector<Tensor> means_;
  std::vector<Tensor> squares_;
  double rate_;
  int steps_ = 0;
};

/// Returns the fraction of points whose spiral has the higher score.
double accuracy(const Network& network, const Points& points) {
  const lamella::autograd::NoGrad off;
  const Tensor scores = network(points.positions);
  const std::int64_t n = points.spirals.numel();
  const auto* score = scores.data<float>();
  const auto* spiral = points.spirals.data<std::int64_t>();
  std::int64_t right = 0;
  for (std::int64_t i = 0; i < n; ++i) right += (score[2 * i + 1] > score[2 * i]) == (spiral[i] == 1);
  return static_cast<double>(right) / static_cast<double>(n);
}

int train() {
  constexpr int kSteps = 200;
  constexpr double kRequired = 0.97;

  std::mt19937 random(0);
  const Points seen = draw_points(500, random);
  const Points unseen = draw_points(500, random);
  Network network(random);
  Adam optimizer(network.parameters(), 0.02);

  for (int step = 1; step <= kSteps; ++step) {
    const Tensor loss = lamella::cross_entropy(network(seen.positions), seen.spirals);
    lamella::autograd::backward(loss);
    optimizer.step();
    if (step % 20 == 0) {
      std::printf("step %3d   loss %.4f   accuracy %6.2f %%\n", step, static_cast<double>(*loss.data<float>()),
                  100.0 * accuracy(network, seen));
    }
  }
  const double held_out = accuracy(network, unseen);
  std::printf("accuracy on points never seen: %.2f %%\n", 100.0 * held_out);
  if (held_out < kRequired) {
    std::fprintf(stderr, "that is below %.0f %%\n", 100.0 * kRequired);
    return 1;
  }
  return 0;
}

}  // namespace

int main() {
  try {
    return train();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
