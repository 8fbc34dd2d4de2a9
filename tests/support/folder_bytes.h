// tests/support/folder_bytes.h - all files of a folder, for comparison byte by byte.
#pragma once

#include <doctest/doctest.h>

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

/// The files of a store that a purge makes equal to those of an import of what remains.
inline std::map<std::string, std::string> bytes_but_certificates(const std::filesystem::path& store) {
  auto files = folder_bytes(store);
  std::erase_if(files, [](const auto& file) { return file.first.starts_with("certificates/"); });
  return files;
}

/// Says which of these files differ.
inline void check_same_store(const std::filesystem::path& store, const std::filesystem::path& fresh) {
  const auto mine = bytes_but_certificates(store), other = bytes_but_certificates(fresh);
  for (const auto& [name, bytes] : mine) {
    const std::string& shown = name;
    CAPTURE(shown);
    CHECK(other.contains(name));
    if (other.contains(name)) CHECK(other.at(name) == bytes);
  }
  CHECK(mine.size() == other.size());
}

}  // namespace unweave::testing
