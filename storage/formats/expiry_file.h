// storage/formats/expiry_file.h - which edges are to be removed when, at rest (FORMAT.md, "Expiries").
//
// Sealed file of kind "expiries": for each edge, sorted by its ends, 16 bytes
//   ends   two u32, ids of the user, the smaller one first
//   time   i64, milliseconds since 1970, UTC
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "storage/formats/sealed_file.h"
#include "storage/io/time_text.h"
#include "storage/io/types.h"

namespace unweave {

struct EdgeExpiry {
  Edge edge;        ///< ids of the user, u < v
  Millis time = 0;  ///< from then on the edge is to be removed

  friend bool operator==(const EdgeExpiry&, const EdgeExpiry&) = default;
};

/// `expiries` is sorted by edge, each edge once.
FileEntry write_expiries(const std::filesystem::path& store, std::span<const EdgeExpiry> expiries);
/// All of the file is checked. Throws DataError, FormatError.
[[nodiscard]] std::vector<EdgeExpiry> read_expiries(const std::filesystem::path& store, const FileEntry& entry,
                                                    NodeId nodes);
/// How many edges a file of so many bytes names.
[[nodiscard]] std::uint64_t count_expiries(const FileEntry& entry) noexcept;

}  // namespace unweave
