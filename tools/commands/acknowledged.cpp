// tools/commands/acknowledged.cpp - counts acknowledged requests, and words where to go on with
// `stream`.
#include "tools/commands/acknowledged.h"

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "storage/io/shell_word.h"

namespace unweave {
namespace {

/// Whether the lines of the file are those that the program reads.
bool is_plain(const std::string& file) {
  std::error_code unknown;
  if (file == "-" || !std::filesystem::is_regular_file(file, unknown)) return false;
  for (const std::string_view end : {".gz", ".zst", ".xz", ".bz2", ".lz4"})
    if (file.ends_with(end)) return false;
  return true;
}

}  // namespace

Acknowledged::Acknowledged(std::string file) : file_(std::move(file)), has_lines_(is_plain(file_)) {
  if (file_ == "-") file_ = "standard input";
  interrupt_.set("interrupted: " + text(false));
}

void Acknowledged::end(std::uint64_t requests, std::uint64_t last_line) {
  requests_ += requests;
  last_line_ = last_line;
  interrupt_.set(
      "interrupted: " + text(false) +
      "; the line of the last batch was not printed, and receipts that are missing come with the next stream that names their file");
  hold_.reset();
}

void Acknowledged::tell() {
  interrupt_.set("interrupted: " + text(false) + "; the line of the last batch was not printed, or not to its end");
  hold_.reset();
}

void Acknowledged::told() {
  interrupt_.set("interrupted: " + text(false));
  hold_.reset();
}

void Acknowledged::finish() {
  if (file_.empty()) return interrupt_.set("interrupted: all edges whose time had come are removed");
  interrupt_.set("interrupted: all requests of " + file_ + " are acknowledged; none needs to be sent again");
}

std::string Acknowledged::text(bool mended) const {
  if (file_.empty()) return "what the batches that were printed speak of is removed; the same command removes the rest";
  if (requests_ == 0)
    return "no request of " + file_ + " is acknowledged" + (mended ? ": mend it and send it again" : "");
  const std::string next = std::to_string(last_line_ + 1);
  std::string said = requests_ == 1
                         ? "request 1 of " + file_ + " is acknowledged"
                         : "requests 1 to " + std::to_string(requests_) + " of " + file_ + " are acknowledged";
  said += mended ? ": mend it and send the rest, from line " + next + " on" : ": the rest begins at line " + next;
  return has_lines_ ? said + " (`tail -n +" + next + " " + shell_word(file_) + "`)" : said;
}

}  // namespace unweave
