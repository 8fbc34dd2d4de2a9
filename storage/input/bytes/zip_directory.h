// storage/input/bytes/zip_directory.h - what the directory at the end of a zip archive says of its
// entries.
//
// Python's zipfile, and with it numpy.load, finds entries by this directory and takes the last one
// of a name; programs that read a stream go by the header before each entry. An archive of which
// two readers can see different things is refused.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/io/file.h"

namespace unweave {

/// One entry that is no folder.
struct ZipEntry {
  std::string name;  ///< as its bytes lie in the archive
  bool deflated = false;
  std::uint32_t crc = 0;
  std::uint64_t packed_bytes = 0;  ///< in the archive
  std::uint64_t bytes = 0;         ///< those of the contents
  std::uint64_t offset = 0;        ///< where they begin
};

/// The entries in the order of the directory. They fill the archive one behind the other; each has
/// the name, sizes and checksum that its own header gives, and a name that no other has, with or
/// without ".npy" at its end. Throws DataError for anything else, for an archive of more than
/// 65,536 entries or parts, and for one that is encrypted or packed by another method than deflate.
[[nodiscard]] std::vector<ZipEntry> read_zip_directory(const File& file);

}  // namespace unweave
