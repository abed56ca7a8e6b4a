#pragma once

#include "engine/autograd/hooks.h"
#include "engine/core/tensor.h"

namespace lamella::autograd {

// Note [Lent gradients]
// A backward of the user's, or a hook, may write into the gradient that it is given. Where others hold that gradient
// (another branch, the caller's seed, a gradient that was kept), they must not see it. So a shared gradient is *lent*:
// the function gets another tensor on the same memory with a storage of its own, marked kLent. The first write into
// that storage, through any view, moves it and all its views to a copy. Where nobody writes, nothing is copied, and a
// loan that comes back as a result is exchanged for the gradient itself.

/// g, or where somebody else holds it another tensor on its memory, to be given to a function that may write into it.
/// `holders` is the number of references to g that belong to the caller.
Tensor lend(const Tensor& g, std::uint32_t holders = 1);
/// What `lent`, lend()'s answer for g, stands for after the function has run: g where nothing was written, else `lent`.
inline const Tensor& after_loan(const Tensor& lent, const Tensor& g) {
  return lent->storage->has_mark(Storage::kLent) ? g : lent;
}
/// Moves a storage marked kLent, and the tensors on it, to memory of their own. Called before a write.
void end_loan(Storage& storage);

/// Lends the gradients that a node's function is given.
class LentGradients {
 public:
  /// Exchanges, in `grads`, what others hold.
  explicit LentGradients(TensorList& grads);
  /// The results of the function, with loans exchanged for what was lent.
  TensorList returned(TensorList results) const;

 private:
  struct Loan {
    Tensor lent;
    Tensor own;
  };
  SmallVector<Loan, 1> loans_;
};

}  // namespace lamella::autograd
