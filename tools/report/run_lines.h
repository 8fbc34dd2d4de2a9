// tools/report/run_lines.h - what commands have printed with --json, line by line, sorted by the
// command.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/resources/memory.h"

namespace unweave {

/// One object of a file, and where it stands. A member that is missing or null has no value; the
/// functions throw InputError, which names file and line, for one of another kind.
struct RunLine {
  std::filesystem::path file;
  std::uint64_t number = 0;  ///< counted from 1
  nlohmann::ordered_json fields;

  [[nodiscard]] bool has(std::string_view name) const;
  [[nodiscard]] std::optional<std::uint64_t> count(std::string_view name) const;
  [[nodiscard]] std::optional<double> real(std::string_view name) const;
  [[nodiscard]] std::optional<bool> flag(std::string_view name) const;
  [[nodiscard]] std::optional<std::string> text(std::string_view name) const;
  [[nodiscard]] std::vector<std::string> texts(std::string_view name) const;
  /// A member of it that is an object, as a line of its own; without members where there is none.
  [[nodiscard]] RunLine part(std::string_view name) const;
  /// A member of it that is a list of objects, as lines of their own; none where there is no list.
  [[nodiscard]] std::vector<RunLine> parts(std::string_view name) const;
};

/// The lines of one command each, in the order of files and lines.
class RunLines {
 public:
  std::vector<std::filesystem::path> files;
  std::vector<RunLine> trainings;  ///< `train` and `certify`
  std::vector<RunLine> batches;    ///< `stream`
  std::vector<RunLine> evaluations, audits, verifications, purges;
  std::uint64_t others = 0;  ///< lines of other commands

  /// Rejected requests by their reason. The requests themselves, which say what somebody wanted
  /// removed, are not kept.
  std::map<std::string, std::uint64_t> rejections;

  /// Adds the lines of a file, which may be compressed; "-" is standard input. Throws InputError
  /// for a line that is no JSON object, DataError, ResourceError where the lines and what a page
  /// makes of them do not fit in memory.
  void read(const std::filesystem::path& path, MemoryBudget& budget);

 private:
  std::vector<Reservation> memory_;
};

/// Parses one line. Throws InputError.
[[nodiscard]] RunLine parse_run_line(const std::filesystem::path& file, std::uint64_t number, std::string_view line);

}  // namespace unweave
