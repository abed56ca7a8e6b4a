#include "engine/autograd/graph/presence.h"

#include <mutex>

namespace lamella::autograd {

std::shared_ptr<Presence> presence_of(const Tensor& x) {
  AutogradMeta& meta = make_meta(x);
  const std::lock_guard lock(meta.lock);
  std::shared_ptr<Presence>& presence = meta.make_extras().presence;
  if (!presence) {
    presence = std::make_shared<Presence>();
    presence->meta = &meta;
  }
  return presence;
}

}  // namespace lamella::autograd
