// tools/commands/rejections.h - how `stream` tells which requests were rejected, and why: with
// their batch, in a file, at the end.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>

#include "storage/io/file.h"
#include "unweave/stream.h"

namespace unweave {

/// Requests as they were decided, and the lines of the input that they stand in.
struct PlacedBatch {
  DecidedBatch decided;
  std::span<const std::uint64_t> places;
  std::function<std::string(std::size_t i)> text;  ///< the line of a request
};

/// "node 999999: id-outside; edge 0 0: self-loop; and 7 more", of rejected ones the first `most`,
/// with their lines where `with_lines`.
[[nodiscard]] std::string rejected_text(const PlacedBatch& batch, std::size_t most, bool with_lines);

/// One line: the object, with the member `rejections`, a list of what may be too long to be held
/// twice.
void write_with_rejections(std::ostream& out, const nlohmann::ordered_json& object, const PlacedBatch& batch);

/// The file of --rejected: a line a request, its text, reason and number in the store with tabs
/// between; "-" for the number of one whose batch was refused.
class RejectedFile {
 public:
  /// Opens a file, or makes it, readable for its owner alone. Throws DataError for a file of
  /// something else, which stays.
  explicit RejectedFile(const std::filesystem::path& path);
  /// Durable on return. A batch that a crash kept from being acknowledged stands there all the
  /// same.
  void add(const PlacedBatch& batch);

 private:
  File file_;
  std::uint64_t end_ = 0;
};

/// How many requests were applied, and rejected for each reason.
class RequestCounts {
 public:
  void add(std::span<const RequestStatus> statuses);
  /// "105 applied, 6 rejected: 4 absent-edge, 2 id-outside".
  [[nodiscard]] std::string text() const;
  [[nodiscard]] std::uint64_t rejected() const;

 private:
  std::array<std::uint64_t, kStatuses> counts_{};
};

/// For the help of `stream`: what requests do to what a store holds, and why they are rejected.
[[nodiscard]] std::string request_table();

}  // namespace unweave
