#include "engine/autograd/trace/profile.h"

#include <chrono>

#include "engine/autograd/graph/node.h"
#include "engine/core/allocator.h"
#include "engine/core/small_blocks.h"

namespace lamella::autograd {

namespace detail {
thread_local constinit Profile* profile = nullptr;
}

std::int64_t Profile::now() noexcept {
  return std::chrono::steady_clock::now().time_since_epoch() / std::chrono::nanoseconds(1);
}

std::uint32_t Profile::position_of(std::string_view name) {
  if (const auto found = name_positions_.find(name); found != name_positions_.end()) [[likely]]
    return found->second;
  names_.emplace_back(name);
  return name_positions_.emplace(name, static_cast<std::uint32_t>(names_.size() - 1)).first->second;
}

std::uint32_t Profile::position_of(SourceLine line) {
  if (!line) return 0;
  const auto [found, is_new] = line_positions_.try_emplace(line, lines_.size());
  if (is_new) lines_.push_back(line);
  return found->second;
}

std::size_t Profile::start(ProfileEvent::Kind kind, std::string_view name, std::uint64_t node) {
  const bool backward = kind == ProfileEvent::Kind::Backward;
  ProfileEvent event{.kind = kind,
                     .depth = depth_++,
                     .name = position_of(name),
                     .line = with_lines_ && !backward ? position_of(user_line()) : 0,
                     .first_node = backward ? node : next_node_number()};
  // Read last, so that the profile's own work is not measured.
  event.begin = now() - begin_;
  events_.push_back(event);
  return events_.size() - 1;
}

void Profile::finish(std::size_t at) {
  const std::int64_t end = now() - begin_;
  ProfileEvent& event = events_[at];
  event.end = end;
  event.last_node = event.kind == ProfileEvent::Kind::Backward ? event.first_node + 1 : next_node_number();
  // memory_stats() would also add up what is reserved.
  event.allocated = allocator(Device(DeviceType::CPU)).stats().allocated + lamella::detail::small_block_bytes();
  --depth_;
}

Profile* exchange_profile(Profile* next) noexcept { return std::exchange(detail::profile, next); }

}  // namespace lamella::autograd
