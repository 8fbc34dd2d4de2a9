// storage/types/file_entry.h - what names a file of a store from outside of it.
#pragma once

#include <cstdint>
#include <string>

namespace unweave {

/// What a manifest knows of one file: path relative to the store, length and root in hex.
struct FileEntry {
  std::string path;
  std::uint64_t bytes = 0;
  std::string root;

  friend bool operator==(const FileEntry&, const FileEntry&) = default;
};

}  // namespace unweave
