// engine/ranks/entry_words.h - how ranks tell each other of files that they have written: bytes,
// root and path as words.
#pragma once

#include <istream>
#include <ostream>

#include "storage/types/file_entry.h"

namespace unweave {

inline std::ostream& write_entry(std::ostream& out, const FileEntry& entry) {
  return out << entry.bytes << ' ' << entry.root << ' ' << entry.path;  // no path in a store has a blank
}

inline std::istream& read_entry(std::istream& in, FileEntry& entry) {
  return in >> entry.bytes >> entry.root >> entry.path;
}

}  // namespace unweave
