// storage/input/request_reader.h - requests to remove, insert or set something, one a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "storage/formats/journal.h"
#include "storage/input/line_reader.h"

namespace unweave {

/// The first word of a request's line.
[[nodiscard]] std::string_view word_of(RequestKind kind);
/// The line of a request, without its end.
[[nodiscard]] std::string text_of(const Request& request);

/// The request of a line, without its end. Nothing where the line is none: an id of a node is a number of 64 bits, whether or
/// not a store has such a node, and a value is brought into one form: numbers as the shortest text that reads back the same,
/// pairs `column:value` by column, one blank between.
[[nodiscard]] std::optional<Request> parse_request(std::string_view line);
/// Whether a line is empty or a `#` comment.
[[nodiscard]] bool is_skipped_line(std::string_view line);
/// What a request may look like, for messages.
extern const std::string_view kRequestForms;

/// Lines `edge U V`, `node U`, `feature U`, `insert-edge U V`, `set-feature U V1 .. VF` or `set-feature U C:V ..`,
/// `set-label U C`, `move-split U S`, behind which `id=T` may stand, the sender's name of the request; empty lines and `#`
/// comments are skipped.
///
/// From standard input ("-") a line is given as soon as it is complete, so that a sender may wait for the answer to a
/// batch before it sends the next; other files may be compressed. Not thread-safe.
class RequestReader {
 public:
  explicit RequestReader(const std::filesystem::path& path);

  /// The next request; false at the end. Throws InputError naming the line for a line of another form.
  bool next(Request& request);
  [[nodiscard]] const std::filesystem::path& name() const noexcept { return name_; }  ///< for messages
  /// Number of the last request's line, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  bool next_line(std::string_view& line);
  std::filesystem::path name_;
  std::optional<LineReader> file_;  ///< empty for standard input
  std::string buffer_;
  std::uint64_t number_ = 0;
};

}  // namespace unweave
