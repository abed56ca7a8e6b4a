#pragma once

#include <memory>

namespace lamella {

/// In this scope the default generators of this thread are others, which go on from where those were: what the scope
/// draws is what it would have drawn, and can be drawn again by RandomReplay, whatever other threads draw meanwhile.
/// They take numbers that lie far ahead; where none did, the default generators end where the scope's own do.
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
