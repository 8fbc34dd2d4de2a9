// storage/input/request_reader.h - requests to remove, insert or set something, one a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "storage/input/request_words.h"
#include "storage/input/words/class_words.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/node_id.h"
#include "storage/types/request.h"

namespace unweave {

/// The first word of a request's line.
[[nodiscard]] std::string_view word_of(RequestKind kind);
/// What requests of a kind are called in records: the first word of their lines; "expires" where
/// something is to go later.
[[nodiscard]] std::string_view kind_name(RequestKind kind);
/// The line of a request, without its end, as printable() has it: older programs took ids of any
/// bytes. A removal that a note has asked for has `expired` and the moment behind its ids, which no
/// line may have. `write`: how ids are written, where not as numbers. `relations`: names of kinds
/// of edges; one of another store is "?".
[[nodiscard]] std::string text_of(const Request& request);
/// Gives the text of a node; `by_name`: as the request says of it.
using WriteRequestNode = std::function<std::string(std::uint64_t id, bool by_name)>;
[[nodiscard]] std::string text_of(const Request& request, const WriteRequestNode& write,
                                  const std::vector<std::string>& relations = {});

/// Why a line is no request, for messages.
struct RequestFault {
  std::string what;    ///< "'1.5' is no node id"
  std::string remedy;  ///< how requests of its kind are written, or which kinds there are
};

/// The request of a line, without its end; none for a line of another form, of which `fault` tells
/// then.
[[nodiscard]] std::optional<Request> parse_request(std::string_view line, const RequestWords& words = {},
                                                   RequestFault* fault = nullptr);

/// "not a request: 'node 1.5': '1.5' is no node id".
[[nodiscard]] std::string text_of(const RequestFault& fault, std::string_view line);

/// Whether a line is empty or a `#` comment.
[[nodiscard]] bool is_skipped_line(std::string_view line);

/// Lines `edge U V`, `node U`, `feature U`, each with `expires T` behind it or not, `insert-edge U
/// V` or `insert-edge U V weight W`, `set-weight U V W`, each with a relation behind V in a store
/// that has some, `set-feature U V1 .. VF` or `set-feature U C:V ..`, `set-label U C` (a number or
/// name, or none), `move-split U S`, and in a store of whole graphs `graph G`, `set-graph-label
/// G C`, `move-graph-split G S`, behind which `id=T` may stand, the sender's name of the request;
/// empty lines and `#` comments are skipped.
///
/// From standard input ("-") a line is given as soon as it is complete, so that a sender may wait
/// for the answer to a batch before it sends the next; other files may be compressed. Not
/// thread-safe.
class RequestReader {
 public:
  /// `most_line`: bytes of a line from standard input; one of a file has up to
  /// ByteSource::kBufferBytes.
  explicit RequestReader(const std::filesystem::path& path, RequestWords words = {},
                         std::uint64_t most_line = std::uint64_t{16} << 20);

  /// The next request; false at the end. Throws InputError naming the line for a line of another
  /// form, or one that is too long.
  bool next(Request& request);
  [[nodiscard]] const std::filesystem::path& name() const noexcept { return name_; }  ///< for messages
  /// Number of the last request's line, from 1.
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }
  /// The last request as it stands there, with one blank between words; empty where ids are
  /// numbers.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  bool next_line(std::string_view& line);
  std::filesystem::path name_;
  std::optional<LineReader> file_;  ///< empty for standard input
  RequestWords words_;
  std::uint64_t most_line_;
  std::string text_;
  std::string buffer_;
  std::uint64_t number_ = 0;
};

}  // namespace unweave
