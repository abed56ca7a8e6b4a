#pragma once

#include <cstdint>
#include <span>

#include "engine/core/modes.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

// Note [Aliases off the tape]
// A view that is made while recording is off, the result of detach(), and a tensor that a layer's forward kept share
// memory with a tensor on the tape without being on it. They are for reading: a write into one while recording is on
// would change the value of the tensor on the tape, and its derivative would not know. So the tensor on the tape (of a
// tracked view its base: the *holder*) is listed when such an alias is made, or when a tensor that has aliases gets its
// place; its storage is marked kDeparted, and a write while recording is on looks whether another holder whose elements
// it touches is alive. Such a write is refused. One through detach() goes on, as programs reuse the memory of values
// that they have done with; the holder loses its place, and a gradient that arrives there is an error. One through
// detach() into a leaf's memory changes nothing on the tape: a leaf has no history that it could contradict, and
// programs set parameters so. The library's own code makes many such views that nobody sees: Modes::internal says so,
// and they are left out.

/// Makes `view`, an alias of x, a tracked view where recording is on, with the tangents that its part of x has.
void follow_view(const Tensor& x, const Tensor& view);
/// Makes y a tracked view of the input whose memory it shows; see Note [Views].
void track_unrecorded(std::span<const Tensor* const> inputs, const Tensor& y);
/// Notes that y, which may show memory of an input, is an alias off the tape, as recording is off.
void note_unrecorded_view(std::span<const Tensor* const> inputs, const Tensor& y);
/// Notes that y, a result of a user's code that was not recorded and no view of its inputs, shows memory of another
/// result or of a tensor that is kept: a recorded write into y would not reach that one.
inline void note_shared_result(const Tensor& y) {
  if ((y->flags & (TensorImpl::kView | TensorImpl::kTracked)) == TensorImpl::kView && is_grad_enabled() &&
      !y->storage->unique()) {
    y->storage->set_mark(Storage::kAliased);
  }
}
/// Throws RuntimeError where `op`, which is to write into x, would change another tensor on the tape unseen; where x
/// was made by detach(), that tensor loses its place instead. Called where x's storage is marked kDeparted and
/// recording is on.
void check_holders(const char* op, const Tensor& x);
/// True if a holder other than x's own, whose elements x shows, is on the tape.
bool shows_holder(const Tensor& x);

}  // namespace lamella::autograd
