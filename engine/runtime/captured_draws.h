#pragma once

#include <cstdint>
#include <memory>

#include "engine/core/device.h"

// Note [Random numbers of graphs]
// Captured work is repeated with the arguments that its kernels had, so a kernel that draws cannot have its place in
// the stream as an argument: each run would draw the same numbers. It gets the address of two words of the device, the
// seed and the counter at which a run's numbers begin, and its own distance from there. A launch of the graph reserves
// as many counters of the default generator as the capture drew, and writes their beginning there first. So runs draw
// the numbers that calls of the work would draw, and a capture, during which nothing is done, draws none.

namespace lamella {

struct GeneratorState;

/// Has this thread draw from a generator of its own in the place of a device's default one, from the same position,
/// from here to the end of the object's life. What was drawn then was not taken from the default generator. Generators
/// of scopes within (RandomReplay) are as ever. Defined in generator.cc.
class CapturedDraws {
 public:
  /// Throws RuntimeError if there is no such device.
  explicit CapturedDraws(Device device);
  ~CapturedDraws();
  CapturedDraws(const CapturedDraws&) = delete;
  CapturedDraws& operator=(const CapturedDraws&) = delete;

  /// Returns the position from which the first number is drawn.
  GeneratorState start() const;
  /// Returns the number of counters that were drawn.
  std::uint64_t drawn() const;

  struct Stream;

 private:
  std::unique_ptr<Stream> stream_;
};

}  // namespace lamella
