#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "engine/core/device.h"
#include "engine/core/host.h"

namespace lamella {

/// The last write in place into a storage, for the message about an overwritten saved tensor.
struct WriteRecord {
  const char* op = nullptr;
  SourceLine line;
};

/// The bytes that a tensor and its views share.
///
/// Allocated in the same block as the tensor object that created it, but counted separately: a view keeps the bytes
/// alive, not the first tensor's graph.
class Storage {
 public:
  using Deleter = void (*)(void* context);

  /// Marks that a write in place, or a view, must check. Ordinary memory has none.
  enum Mark : std::uint8_t {
    /// Memory that must not be written to (a read-only numpy array).
    kReadOnly = 1,
    /// A custom layer returned this memory in two outputs, or its input's memory as an output with a gradient of its
    /// own, so that the effect of a write on the other tensor is unknown.
    kAliased = 2,
    /// A tensor on the tape shares this memory with an alias that left the tape: see Note [Aliases off the tape].
    kDeparted = 4,
    /// A gradient that a user's function may write to while others read it: see Note [Lent gradients].
    kLent = 8,
    /// `context` is a detail::Loan: the memory is, or was, lent.
    kLoaned = 16,
  };
  bool has_mark(unsigned mark) const noexcept { return (marks.load(std::memory_order_relaxed) & mark) != 0; }
  void set_mark(Mark mark) noexcept { marks.fetch_or(mark, std::memory_order_acq_rel); }
  void clear_mark(Mark mark) noexcept { marks.fetch_and(static_cast<std::uint8_t>(~mark), std::memory_order_acq_rel); }

  void* data = nullptr;
  std::size_t bytes = 0;
  /// Set for memory of another owner: called with `context` when the last reference is gone.
  Deleter deleter = nullptr;
  /// For the engine's own memory: the stream that was current when it was allocated; null on the CPU.
  void* context = nullptr;
  Device device;
  /// True if the data is in this block, behind the storage.
  bool embedded = false;
  /// Bit mask of Mark.
  std::atomic<std::uint8_t> marks{0};
  /// Number of recorded writes in place: tracked views older than the last one look up their gradient node again.
  std::atomic<std::uint32_t> history{0};
  /// Returns the last write; its op is null if there was none.
  WriteRecord last_write() const noexcept { return {write_op_, {write_file_, write_line_}}; }
  std::uint32_t version() const noexcept { return version_word() & ~kForeign; }
  /// Returns the version, with kForeign set while memory may be written from outside without counting: see Note
  /// [Foreign memory].
  std::uint32_t version_word() const noexcept { return version_.load(std::memory_order_relaxed); }
  static constexpr std::uint32_t kForeign = 1u << 31;
  void set_foreign() noexcept { version_.fetch_or(kForeign, std::memory_order_relaxed); }
  void clear_foreign() noexcept { version_.fetch_and(~kForeign, std::memory_order_relaxed); }
  /// Records a write in place.
  void bump_version(const char* op, SourceLine line) noexcept {
    write_op_ = op;
    write_file_ = line.file;
    write_line_ = line.line;
    version_.fetch_add(1, std::memory_order_relaxed);
  }

  void retain() noexcept { refs_.fetch_add(1, std::memory_order_relaxed); }
  void release() noexcept {
    // A sole owner needs no read-modify-write, because nobody else can gain a reference meanwhile.
    if (refs_.load(std::memory_order_acquire) == 1 || refs_.fetch_sub(1, std::memory_order_acq_rel) == 1) destroy();
  }
  bool unique() const noexcept { return use_count() == 1; }
  /// Returns the number of references that keep the bytes alive.
  std::uint32_t use_count() const noexcept { return refs_.load(std::memory_order_acquire); }

 private:
  /// Defined in tensor.cc: a storage lies in the block of the tensor that it was made with.
  void destroy() noexcept;

  // A WriteRecord, ordered without padding: the tensor object and its storage fill four cache lines exactly.
  std::int32_t write_line_ = 0;
  const char* write_op_ = nullptr;
  const char* write_file_ = nullptr;
  std::atomic<std::uint32_t> refs_{1};
  std::atomic<std::uint32_t> version_{0};
};

}  // namespace lamella
