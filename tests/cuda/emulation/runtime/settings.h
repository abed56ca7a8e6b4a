#pragma once

#include <cstddef>

namespace emulation {

/// The order in which the blocks of a grid, and the threads of a block, run.
enum class Order { Forward, Reversed };

struct Settings {
  /// LAMELLA_EMULATION_DEVICES: number of devices, 2 by default.
  int devices = 2;
  /// LAMELLA_EMULATION_MEMORY: bytes that each device has, 2 GiB by default.
  std::size_t memory_bytes = std::size_t{2} << 30;
  /// LAMELLA_EMULATION_ORDER: "forward" (the default) or "reversed".
  Order order = Order::Forward;
  /// LAMELLA_EMULATION_DEFERRED=1: work waits in its stream until something waits for it.
  bool deferred = false;
  /// LAMELLA_EMULATION_RACES=1: each kernel runs in both orders, and has to write the same both times.
  bool races = false;
  /// Set by tests: cuBLASLt finds no algorithm for any product.
  bool refuse_lt = false;
  /// Set by tests: cuDNN's heuristics know no algorithm for any problem.
  bool refuse_cudnn = false;
};

/// Returns the settings, which are read from the environment once and may be changed between launches.
Settings& settings();

}  // namespace emulation
