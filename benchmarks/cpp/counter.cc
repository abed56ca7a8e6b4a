// Switches callgrind's counting on and off for a program that runs under it (Python, by ctypes).

#include <valgrind/callgrind.h>

extern "C" {

/// Starts counting.
void start_counting() {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

/// Stops counting, and dumps the counts.
void stop_counting() {
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT("counted");
}
}
