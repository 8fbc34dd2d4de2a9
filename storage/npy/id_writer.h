// storage/npy/id_writer.h - ids of nodes, one a row of what is written beside them: as an array of
// numbers, or as users write them, one a line.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "storage/io/file.h"
#include "storage/npy/npy_writer.h"

namespace unweave {

/// Gives the text of an id.
using WriteId = std::function<std::string(std::uint64_t id)>;

/// Whether the target asks for text: a file whose name ends in .txt.
[[nodiscard]] bool takes_text(const NpyTarget& target);

/// A text file front to back, which appears whole or not at all. Not for concurrent use.
class TextWriter {
 public:
  /// Throws DataError, ResourceError.
  explicit TextWriter(const NpyTarget& target);
  ~TextWriter();
  TextWriter(const TextWriter&) = delete;
  TextWriter& operator=(const TextWriter&) = delete;

  /// A line without its end.
  void add(std::string_view line);
  /// Durable on return.
  void finish();

 private:
  void flush();
  std::filesystem::path path_;
  std::ostream* stream_;
  File file_;
  std::string buffer_;
  std::uint64_t written_ = 0;
};

/// Ids as int64 [rows], or as text where the target takes that.
class IdWriter {
 public:
  IdWriter(const NpyTarget& target, std::uint64_t rows, WriteId write);
  void append(std::span<const std::int64_t> ids);
  void finish();

 private:
  WriteId write_;
  std::optional<NpyWriter> array_;
  std::optional<TextWriter> text_;
};

}  // namespace unweave
