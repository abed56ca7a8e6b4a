#include "engine/registry/convert.h"

#include "engine/core/error.h"

namespace lamella::registry {

namespace detail {

void wrong_list_size(std::size_t got, std::size_t wanted) {
  fail<ValueError>("a list of ", wanted, " was expected, got one of ", got);
}
void undefined_tensor() { fail<ValueError>("an undefined tensor was given where a tensor is needed"); }
void wrong_value_kind(Arg::Kind wanted, Arg::Kind got) {
  fail<TypeError>("a kernel expected ", describe(wanted), ", got ", describe(got));
}

}  // namespace detail
}  // namespace lamella::registry
