#pragma once

#include "engine/core/dtype.h"
#include "ops/elementwise/list.h"

namespace lamella {

/// True if an operator of the list accepts the dtype.
template <class Ops>
constexpr bool any_takes(DType dtype) {
  bool takes = false;
  Ops::for_each([&]<class Op> { takes |= Op::info.dtypes.contains(dtype); });
  return takes;
}

/// Calls f.operator()<T, Ops>(first) for each list of elementwise operators and each element type that one of its
/// operators accepts; `first` is the position of the list in ElementwiseOps.
template <class... T, class F>
void for_each_instance(F&& f) {
  int first = 0;
  ElementwiseLists::for_each([&]<class Ops> {
    const auto call = [&]<class Element> {
      if constexpr (any_takes<Ops>(dtype_of<Element>)) f.template operator()<Element, Ops>(first);
    };
    (call.template operator()<T>(), ...);
    first += Ops::size;
  });
}

}  // namespace lamella
