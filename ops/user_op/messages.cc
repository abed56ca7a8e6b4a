#include "ops/user_op/messages.h"

#include <exception>
#include <stdexcept>
#include <string_view>

#include "engine/core/error.h"

namespace lamella::user_op::detail {
namespace {

template <class E>
[[noreturn]] void again(const std::string& where, const std::exception& error) {
  const std::string_view what = error.what();
  if (what.starts_with("[")) throw E(std::string(what));
  throw E(where + " " + std::string(what));
}

}  // namespace

std::string str(const SourcePlace& place) { return place.file + ":" + std::to_string(place.line); }

void run_authors(const std::string& where, const std::function<void()>& function) {
  try {
    function();
  } catch (const ValueError& error) {
    again<ValueError>(where, error);
  } catch (const TypeError& error) {
    again<TypeError>(where, error);
  } catch (const IndexError& error) {
    again<IndexError>(where, error);
  } catch (const NotImplementedError& error) {
    again<NotImplementedError>(where, error);
  } catch (const OutOfMemoryError&) {
    throw;
  } catch (const std::logic_error& error) {
    again<ValueError>(where, error);
  } catch (const std::runtime_error& error) {
    again<RuntimeError>(where, error);
  } catch (const std::exception&) {
    throw;  // an exception of the host language, or a lack of memory
  } catch (...) {
    fail<RuntimeError>(where, " threw an exception that is not a std::exception");
  }
}

}  // namespace lamella::user_op::detail
