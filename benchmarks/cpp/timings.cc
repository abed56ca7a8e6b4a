// Times a call of an op, the tape and a user's layer in C++, without Python, by Google Benchmark. With --results it
// times nothing, and prints each workload's results instead, a line of numbers for each.

#include <benchmark/benchmark.h>

#include <cstdio>
#include <string_view>

#include "workloads.h"

namespace {

void print_results() {
  benchmarks::visit_workloads([](const char* name, int, auto make) {
    const auto work = make();
    const auto print = [](const benchmarks::Tensor& x) {
      for (const float value : framework::values(x)) std::printf(" %.9g", static_cast<double>(value));
    };
    std::printf("%s", name);
    print(work.run());
    for (const benchmarks::Tensor& leaf : work.leaves) print(framework::gradient(leaf));
    std::printf("\n");
  });
}

void register_timings() {
  benchmarks::visit_workloads([](const char* name, int, auto make) {
    benchmark::RegisterBenchmark(name, [make](benchmark::State& state) {
      const auto work = make();
      for (auto _ : state) benchmarks::keep(work.run());
    });
  });
}

}  // namespace

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "--results") {
    print_results();
    return 0;
  }
  register_timings();
  benchmark::Initialize(&count, arguments);
  if (benchmark::ReportUnrecognizedArguments(count, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
