#include <algorithm>

#include "engine/core/error.h"
#include "engine/distributed/process_group.h"

namespace lamella::distributed {
namespace {

struct Groups {
  std::mutex mutex;
  /// The groups in the order in which they were made; the first one is the default.
  std::vector<std::shared_ptr<ProcessGroup>> all;
};
Groups& groups() {
  static auto* const one = new Groups;  // never destroyed: threads of groups may outlive static destructors
  return *one;
}

const std::shared_ptr<ProcessGroup>& self_group() {
  static const auto* const group = [] {
    GroupOptions options{
        .name = "self", .backend_name = "self", .ranks = {0}, .rank = 0, .timeout = Milliseconds(1000)};
    options.backend = solo_backend();
    return new std::shared_ptr<ProcessGroup>(std::make_shared<ProcessGroup>(std::move(options)));
  }();
  return *group;
}

auto find(std::vector<std::shared_ptr<ProcessGroup>>& all, std::string_view name) {
  return std::ranges::find_if(all, [&](const auto& group) { return group->name() == name; });
}

}  // namespace

std::shared_ptr<ProcessGroup> find_group(std::string_view name) {
  if (name == "self") return self_group();
  const std::lock_guard lock(groups().mutex);
  auto& all = groups().all;
  if (name.empty() && !all.empty()) return all.front();
  if (const auto found = find(all, name); found != all.end()) return *found;
  if (all.empty()) {
    fail<RuntimeError>(
        "[distributed] there is no process group yet: call lamella.distributed.init_process_group() first");
  }
  std::string known;
  for (const auto& group : all) known += (known.empty() ? "'" : ", '") + group->name() + "'";
  fail<RuntimeError>("[distributed] there is no process group '", std::string(name), "'; there are ", known);
}

std::shared_ptr<ProcessGroup> default_group() {
  const std::lock_guard lock(groups().mutex);
  return groups().all.empty() ? nullptr : groups().all.front();
}

void add_group(const std::shared_ptr<ProcessGroup>& group) {
  const std::lock_guard lock(groups().mutex);
  auto& all = groups().all;
  if (group->name().empty() || group->name() == "self" || find(all, group->name()) != all.end()) {
    fail<RuntimeError>("[distributed] the name '", group->name(), "' of a process group is taken");
  }
  all.push_back(group);
}

void remove_group(std::string_view name) {
  std::vector<std::shared_ptr<ProcessGroup>> removed;  // their threads end outside of the lock
  {
    const std::lock_guard lock(groups().mutex);
    auto& all = groups().all;
    const auto found = name.empty() ? all.begin() : find(all, name);
    if (found == all.end()) return;
    const auto last = found == all.begin() ? all.end() : found + 1;
    removed.assign(found, last);
    all.erase(found, last);
  }
  while (!removed.empty()) {
    removed.back()->leave();  // also where somebody holds it, such as a model
    removed.pop_back();
  }
}

}  // namespace lamella::distributed
