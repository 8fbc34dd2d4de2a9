// tools/memory_limit.cpp - reads /proc/meminfo and the limits of control groups.
#include "tools/memory_limit.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>
#include <string>

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t kUnknownMachine = std::uint64_t{2} << 30;

std::uint64_t physical_memory(const fs::path& root) {
  std::ifstream file(root / "proc/meminfo");
  std::string word;
  while (file >> word) {
    if (std::uint64_t kib = 0; word == "MemTotal:" && file >> kib) return kib * 1024;
  }
  return kUnlimited;
}

/// A file that holds one number; "max" and everything unreadable mean no limit.
std::uint64_t read_limit(const fs::path& file) {
  std::ifstream in(file);
  std::uint64_t bytes = 0;
  return in >> bytes && bytes > 0 ? bytes : kUnlimited;
}

/// The tightest limit from the group's own folder up to the top. Inside a container the path of the group may name a
/// folder that is not mounted; then only its parents count.
std::uint64_t tightest(const fs::path& top, fs::path group, const char* file) {
  group = group.relative_path();
  std::uint64_t limit = read_limit(top / file);
  for (; !group.empty(); group = group.parent_path()) limit = std::min(limit, read_limit(top / group / file));
  return limit;
}

}  // namespace

std::uint64_t memory_limit(const fs::path& root) {
  std::uint64_t limit = physical_memory(root);
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "id:controllers:path"; version 2 has no controllers
    std::istringstream fields(line);
    std::string id, controllers, path;
    if (!std::getline(fields, id, ':') || !std::getline(fields, controllers, ':') || !std::getline(fields, path))
      continue;
    if (controllers.empty()) limit = std::min(limit, tightest(root / "sys/fs/cgroup", path, "memory.max"));
    if (("," + controllers + ",").find(",memory,") != std::string::npos) {
      limit = std::min(limit, tightest(root / "sys/fs/cgroup/memory", path, "memory.limit_in_bytes"));
    }
  }
  return limit == kUnlimited ? kUnknownMachine : limit;
}

std::uint64_t default_memory(const fs::path& root) {
  return memory_limit(root) / 10 * 8;
}

}  // namespace unweave
