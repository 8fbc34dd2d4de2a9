// tests/support/folder_bytes.h - all files of a folder, for comparison byte by byte.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "support/input_files.h"

namespace unweave::testing {

/// Relative path to content.
inline std::map<std::string, std::string> folder_bytes(const std::filesystem::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& item : std::filesystem::recursive_directory_iterator(folder))
    if (item.is_regular_file()) files[item.path().lexically_relative(folder).string()] = read_all(item.path());
  return files;
}

}  // namespace unweave::testing
