#include "engine/runtime/file_cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/runtime/own_file.h"

namespace lamella {
namespace {

constexpr char kMark[] = "lamella-kernel-1";

/// The end of a file, after a kernel and its key.
struct Trailer {
  std::uint64_t compiled_bytes = 0;
  std::uint64_t key_bytes = 0;
  std::uint64_t checksum = 0;
  char mark[sizeof kMark] = {};
};

/// FNV-1a.
std::uint64_t hash_from(std::uint64_t start, const std::string& text) {
  std::uint64_t hash = start;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  return hash;
}
std::uint64_t checksum_of(const std::string& text) { return hash_from(0xcbf29ce484222325, text); }

std::string folder_of_environment() {
  const auto variable = [](const char* name) -> std::string {
    const char* const value = std::getenv(name);
    return value ? value : "";
  };
  std::string base = variable("LAMELLA_CACHE");
  if (base.empty()) {
    const std::string cache = variable("XDG_CACHE_HOME");
    const std::string home = variable("HOME");
    if (cache.starts_with('/')) {
      base = cache + "/lamella";
    } else if (home.starts_with('/')) {
      base = home + "/.cache/lamella";
    } else {
      return "";
    }
  }
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(base, error);
  return error ? "" : (path / "kernels").string();
}

std::string with_trailer(const std::string& key, const std::string& compiled) {
  std::string text = compiled + key;
  Trailer trailer{.compiled_bytes = compiled.size(), .key_bytes = key.size(), .checksum = checksum_of(text)};
  std::memcpy(trailer.mark, kMark, sizeof kMark);
  const std::size_t at = text.size();
  text.resize(at + sizeof trailer);
  std::memcpy(text.data() + at, &trailer, sizeof trailer);
  return text;
}

}  // namespace

FileCache::FileCache(const std::string& folder, std::string suffix)
    : folder_(folder.empty() ? folder_of_environment() : folder + "/kernels"), suffix_(std::move(suffix)) {}

std::string FileCache::prepare() const {
  if (folder_.empty()) return "there is no home for it: LAMELLA_CACHE, XDG_CACHE_HOME and HOME name no folder";
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(folder_).parent_path(), error);
  if (error) return folder_ + " cannot be made: " + error.message();
  if (mkdir(folder_.c_str(), S_IRWXU) != 0 && errno != EEXIST)
    return folder_ + " cannot be made: " + std::system_category().message(errno);
  struct stat found{};
  if (lstat(folder_.c_str(), &found) != 0 || !S_ISDIR(found.st_mode)) return folder_ + " is no folder";
  if (!is_own(found)) return folder_ + " belongs to another user, or others may write to it";
  return "";
}

FileCache::Found FileCache::find(const std::string& name, const std::string& key, std::string* compiled) const {
  std::error_code error;
  if (!std::filesystem::exists(std::filesystem::symlink_status(path(name), error))) return Found::Nothing;
  std::optional<std::string> text = read_own_file(path(name));
  Trailer trailer;
  if (!text || text->size() < sizeof trailer) return Found::Damaged;
  const std::size_t size = text->size() - sizeof trailer;
  std::memcpy(&trailer, text->data() + size, sizeof trailer);
  text->resize(size);
  const bool whole = std::memcmp(trailer.mark, kMark, sizeof kMark) == 0 && trailer.key_bytes == key.size() &&
                     trailer.compiled_bytes == size - key.size() && trailer.checksum == checksum_of(*text);
  if (!whole || !text->ends_with(key)) return Found::Damaged;
  if (compiled) *compiled = text->substr(0, trailer.compiled_bytes);
  return Found::Whole;
}

void FileCache::remove(const std::string& name) const { unlink(path(name).c_str()); }

std::optional<std::string> FileCache::temporary() const {
  std::string path = folder_ + "/.new-XXXXXX";
  const File file(mkostemp(path.data(), O_CLOEXEC));
  return file.is_open() ? std::optional(path) : std::nullopt;
}

bool FileCache::add(const std::string& name, const std::string& key, const std::string& compiled) const {
  const std::optional<std::string> temporary_path = temporary();
  if (!temporary_path) return false;
  const auto written = [&] {
    const File file(open(temporary_path->c_str(), O_WRONLY | O_CLOEXEC | O_NOFOLLOW));
    return file.is_open() && write_all(file.get(), with_trailer(key, compiled)) && fsync(file.get()) == 0;
  };
  if (written() && rename(temporary_path->c_str(), path(name).c_str()) == 0) return true;
  unlink(temporary_path->c_str());
  return false;
}

std::string hash_of(const std::string& text) {
  std::string digits;
  for (const std::uint64_t start : {0xcbf29ce484222325ULL, 0x84222325cbf29ce4ULL}) {
    char part[16];
    const auto end = std::to_chars(std::begin(part), std::end(part), hash_from(start, text), 16).ptr;
    digits += std::string(static_cast<std::size_t>(std::end(part) - end), '0') + std::string(part, end);
  }
  return digits;
}

}  // namespace lamella
