#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "engine/core/host.h"

namespace lamella {
class Node;
}

namespace lamella::autograd {

/// A call that was measured. Times are nanoseconds since the profile began.
struct ProfileEvent {
  enum class Kind : std::uint8_t { Operator, Backward, Scope };

  Kind kind = Kind::Operator;
  /// Number of calls around this one.
  std::uint16_t depth = 0;
  /// Positions among the profile's names and lines.
  std::uint32_t name = 0;
  std::uint32_t line = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
  /// Numbers of the nodes that were recorded meanwhile: from `first_node` on, before `last_node`. Of a call in a
  /// backward pass, the first is that of its own node.
  std::uint64_t first_node = 0;
  std::uint64_t last_node = 0;
  /// Bytes that tensors held on the CPU when the call ended.
  std::int64_t allocated = 0;
};

/// Measures the calls of one thread while it is that thread's active profile.
class Profile {
 public:
  /// `lines`: find the line of the user's code for each call.
  explicit Profile(bool lines) : begin_(now()), with_lines_(lines), lines_{{}} {}

  /// Returns the position of a new event, which finish() ends.
  std::size_t start(ProfileEvent::Kind kind, std::string_view name, std::uint64_t node);
  void finish(std::size_t event);

  const std::vector<ProfileEvent>& events() const noexcept { return events_; }
  const std::vector<std::string>& names() const noexcept { return names_; }
  /// Lines by position; the first one stands for an unknown line.
  const std::vector<SourceLine>& lines() const noexcept { return lines_; }

 private:
  static std::int64_t now() noexcept;
  std::uint32_t position_of(std::string_view name);
  std::uint32_t position_of(SourceLine line);

  const std::int64_t begin_;
  const bool with_lines_;
  std::uint16_t depth_ = 0;
  std::vector<ProfileEvent> events_;
  std::vector<std::string> names_;
  std::vector<SourceLine> lines_;
  /// Hashes texts of both kinds alike, so that a name is looked up without a copy.
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept { return std::hash<std::string_view>()(text); }
  };
  std::unordered_map<std::string, std::uint32_t, TextHash, std::equal_to<>> name_positions_;
  struct LineHash {
    std::size_t operator()(const SourceLine& line) const noexcept {
      return std::hash<const char*>()(line.file) ^ static_cast<std::size_t>(line.line) * 0x9E3779B97F4A7C15u;
    }
  };
  struct SameLine {
    bool operator()(const SourceLine& a, const SourceLine& b) const noexcept {
      return a.file == b.file && a.line == b.line;
    }
  };
  /// File names are interned, and compared by address.
  std::unordered_map<SourceLine, std::uint32_t, LineHash, SameLine> line_positions_;
};

namespace detail {
[[gnu::tls_model("initial-exec")]] extern thread_local constinit Profile* profile;
}

/// Returns this thread's active profile, or null.
inline Profile* active_profile() noexcept { return detail::profile; }
/// Makes a profile, or none, this thread's active one; returns the one before.
Profile* exchange_profile(Profile* next) noexcept;

/// Measures a scope if this thread has an active profile.
class ProfileSpan {
 public:
  ProfileSpan(ProfileEvent::Kind kind, std::string_view name, std::uint64_t node = 0)
      : profile_(active_profile()), event_(profile_ ? profile_->start(kind, name, node) : 0) {}
  ~ProfileSpan() {
    // The profile may have ended within the scope.
    if (profile_ && profile_ == active_profile()) profile_->finish(event_);
  }
  ProfileSpan(const ProfileSpan&) = delete;
  ProfileSpan& operator=(const ProfileSpan&) = delete;

 private:
  Profile* profile_;
  std::size_t event_;
};

}  // namespace lamella::autograd
