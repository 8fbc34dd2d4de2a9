// storage/input/nodes/name_reader.h - the names of nodes from a user's file, the first one that of
// node 0.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "storage/input/bytes/byte_source.h"

namespace unweave {

/// Not thread-safe.
class NameReader {
 public:
  NameReader() = default;
  virtual ~NameReader() = default;
  NameReader(const NameReader&) = delete;
  NameReader& operator=(const NameReader&) = delete;

  /// The name of the next node, empty where it has none; valid until the next call. False at the
  /// end. Throws InputError, naming line or element, for what is no name (name_fault()); DataError
  /// from the bytes below.
  virtual bool next(std::string_view& name) = 0;
  /// Where the file names a node, "line 17".
  [[nodiscard]] virtual std::string place(std::uint64_t node) const = 0;
};

/// Whether a file of names may begin with it as the name of its column: "id", "Name", "node_id".
[[nodiscard]] bool is_header_of_names(std::string_view word);
/// Whether a column of labels or of a split is called so.
[[nodiscard]] bool is_header_of_labels(std::string_view word);

/// Opens names: text, one a line, an empty line for a node without one; `.npy` of integers, whose
/// decimal digits are the names, or of byte strings (S).
[[nodiscard]] std::unique_ptr<NameReader> open_names(const InputFile& file);

}  // namespace unweave
