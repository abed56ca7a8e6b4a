#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "engine/core/access_watch.h"
#include "engine/core/tensor.h"

// Note [What a checkpoint reads]
// A checkpoint's function may refer to tensors that are not its arguments. Written to in place before backward, they
// would give the second run other values, in silence. So the first run notes, for each tensor that a call gets, its
// memory and its version; the second run makes the same calls, and compares. A tensor that the function computed itself
// lies elsewhere the second time, or at the same address with the same number of writes: only memory that outlived the
// first run, and was written to since, differs. Memory that the function itself writes to (running statistics) is left
// out. The notes hold no tensor, so that those which the function drops are freed.

namespace lamella::autograd {

/// Tensors that the first run of a function read.
class ReadLog {
 public:
  struct Read {
    const Storage* memory = nullptr;
    std::uint32_t version = 0;
  };

 private:
  friend class ReadWatch;

  std::mutex mutex_;
  std::vector<Read> reads_;
  std::unordered_set<const Storage*> written_;
};

/// Watches one run of a function: notes its reads, or compares them with those of the first run.
class ReadWatch final : public AccessWatch {
 public:
  ReadWatch(std::shared_ptr<ReadLog> log, bool repeats);

  /// Throws RuntimeError where one of the tensors was written to since the first run.
  void begin_call(std::string_view op, std::span<const Tensor* const> inputs, const std::vector<bool>& reads) override;
  /// Notes the memory that the call wrote to itself, running statistics for one.
  void end_call() noexcept override;
  void note_write(const Storage& memory) noexcept override;

 private:
  std::shared_ptr<ReadLog> log_;
  bool repeats_;
  std::size_t next_ = 0;
  /// Inputs of the call that is under way, and their versions; in the first run only.
  std::vector<std::pair<Tensor, std::uint32_t>> inputs_;
  /// Number of the pass that this run is in; calls in another pass, begun by the function, are not watched.
  std::uint64_t pass_;
};

/// Notes that `op`, which is no call of a layer, reads x to write it somewhere. To be called under Modes::kSelective.
void note_read(std::string_view op, const Tensor& x);

/// Sends this thread's calls to `watch` in a scope, in the place of another one.
class WatchReads {
 public:
  explicit WatchReads(std::shared_ptr<AccessWatch> watch);
  ~WatchReads();
  WatchReads(const WatchReads&) = delete;
  WatchReads& operator=(const WatchReads&) = delete;

 private:
  std::shared_ptr<AccessWatch> before_;
  bool mode_before_;
};

}  // namespace lamella::autograd
