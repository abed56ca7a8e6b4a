// Lets a program that runs under callgrind (Python, by ctypes) say where counting begins and ends.

#include <valgrind/callgrind.h>

extern "C" {

/// Counts from now on.
void start_counting() {
  CALLGRIND_START_INSTRUMENTATION;
  CALLGRIND_ZERO_STATS;
}

/// Stops, and dumps what was counted.
void stop_counting() {
  CALLGRIND_STOP_INSTRUMENTATION;
  CALLGRIND_DUMP_STATS_AT("counted");
}
}
