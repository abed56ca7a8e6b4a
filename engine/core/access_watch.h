#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace lamella {

class Storage;
class Tensor;

namespace autograd {

/// Interface that is told, under Modes::kSelective, which memory the calls of a thread read and write.
class AccessWatch {
 public:
  virtual ~AccessWatch() = default;

  /// Notes that `op` is about to be called with these tensors; those for which `reads` is false are passed over.
  virtual void begin_call(std::string_view op, std::span<const Tensor* const> inputs,
                          const std::vector<bool>& reads) = 0;
  /// Notes that the call is over.
  virtual void end_call() noexcept = 0;
  /// Notes that memory is written to in place.
  virtual void note_write(const Storage& memory) noexcept = 0;
};

}  // namespace autograd
}  // namespace lamella
