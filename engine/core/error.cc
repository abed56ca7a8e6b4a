#include "engine/core/error.h"

namespace lamella {

void write_message_text(std::ostream& out, const void* text) { out << static_cast<const char*>(text); }

std::string join_message(std::span<const MessagePart> parts) {
  std::ostringstream out;
  for (const MessagePart& part : parts) part.write(out, part.value);
  return std::move(out).str();
}

}  // namespace lamella
