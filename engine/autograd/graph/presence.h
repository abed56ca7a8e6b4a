#pragma once

#include <memory>

#include "engine/autograd/graph/meta.h"

namespace lamella::autograd {

/// Returns the presence of a tensor, by which others look its meta up without keeping it alive; makes both where there
/// is none.
std::shared_ptr<Presence> presence_of(const Tensor& x);

}  // namespace lamella::autograd
