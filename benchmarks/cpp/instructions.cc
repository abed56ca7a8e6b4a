// Counts the instructions of a workload: `instructions NAME COUNT` under callgrind, started without counting
// (--instr-atstart=no), dumps those of COUNT runs. The workload "nothing" is the cost of the loop itself.

#include <valgrind/callgrind.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "workloads.h"

namespace {

/// Counts the loop, after two uncounted ones that fill the caches.
template <class Run>
void count(const char* name, int runs, const Run& run) {
  const auto loop = [&] {
    for (int i = 0; i < runs; ++i) benchmarks::keep(run());
  };
  loop();
  loop();
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
  loop();
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT(name);
}

}  // namespace

int main(int argument_count, char** arguments) {
  if (argument_count != 3) {
    std::fprintf(stderr, "usage: %s NAME COUNT\n", arguments[0]);
    return 2;
  }
  const std::string_view wanted = arguments[1];
  const int runs = std::atoi(arguments[2]);
  bool found = wanted == "nothing";
  if (found) count("nothing", runs, [] { return 0; });
  benchmarks::visit_workloads([&](const char* name, int, auto make) {
    if (wanted != name) return;
    found = true;
    count(name, runs, make().run);
  });
  if (!found) std::fprintf(stderr, "there is no workload %s\n", arguments[1]);
  return found ? 0 : 2;
}
