#pragma once

#include "engine/core/tensor.h"

namespace lamella::autograd {

// Note [Lent gradients]
// A backward of the user's, or a hook, may write into the gradient that it is given. Other owners of that gradient
// (another branch, the caller's seed, a gradient that was kept) must not see the write. So a shared gradient is *lent*:
// the function gets another tensor on the same memory with a storage of its own, marked kLent. The first write into
// that storage, through any view, moves it and all its views to a copy. Where nobody writes, nothing is copied, but for
// gradients of a few numbers.

namespace detail {
Tensor lend_shared(const Tensor& g);
}

/// Returns g, of which the caller holds one reference, or where somebody else holds it another tensor on its memory, to
/// be given to a function that may write into it.
inline Tensor lend(const Tensor& g) {
  if (g->use_count() == 1 && g->storage->unique()) return g;
  return detail::lend_shared(g);
}
/// Exchanges, in the gradients that a function is to be given, those that others hold for loans. A loan that the
/// function returns flows on as one: it is not lent again, and not written to.
inline void lend_all(TensorList& grads) {
  for (Tensor& g : grads) {
    if (g.defined() && (g->use_count() != 1 || !g->storage->unique())) g = detail::lend_shared(g);
  }
}
/// Returns the gradient that flows on after a function was given `lent`, lend()'s result for g: g where nothing was
/// written, else `lent`.
inline Tensor after_loan(const Tensor& lent, const Tensor& g) {
  return lent->storage->has_mark(Storage::kLent) ? g : lent;
}
/// Moves a storage marked kLent, and the tensors on it, to memory of their own. Called before a write.
void end_loan(Storage& storage);

/// Loans of gradients to a hook on a node, which are settled after it ran.
class LentGradients {
 public:
  explicit LentGradients(const TensorList& own);
  const TensorList& given() const noexcept { return lent_; }
  /// Takes over what the hook wrote into its arguments, where it returned nothing.
  void settle(TensorList& own) const;
  /// Exchanges loans among the hook's results for the gradients that they stand for.
  void settle_returned(TensorList& returned, const TensorList& own) const;

 private:
  TensorList lent_;
};

}  // namespace lamella::autograd
