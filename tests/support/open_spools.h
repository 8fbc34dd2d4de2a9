// tests/support/open_spools.h - temporary files without names that this process has open.
#pragma once

#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "storage/io/spool_file.h"

namespace unweave::testing {

/// Paths by which they can be opened, those in `folder` alone.
inline std::vector<std::filesystem::path> open_spools(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    const std::string target = std::filesystem::read_symlink(entry.path(), gone).string();
    if (!gone && target.starts_with((folder / SpoolFile::kPrefix).string())) found.push_back(entry.path());
  }
  return found;
}

}  // namespace unweave::testing
