#pragma once

#include <memory>

namespace lamella {

/// A scope in which this thread's default generators are replaced by others that continue from their states: the scope
/// draws the numbers that it would have drawn, and RandomReplay can draw them again, whatever other threads draw
/// meanwhile. Other threads get numbers from far ahead; if none drew any, the default generators end in the states of
/// the scope's own.
///
/// Defined in generator.cc. Does nothing inside a RandomReplay or another lease, whose generators no other thread uses.
class RandomLease {
 public:
  RandomLease();
  ~RandomLease();
  RandomLease(const RandomLease&) = delete;
  RandomLease& operator=(const RandomLease&) = delete;

 private:
  struct Generators;
  std::unique_ptr<Generators> generators_;
};

}  // namespace lamella
