// storage/input/tables/two_kinds.cpp - tells kinds of nodes by the names of columns, and keeps the
// ranges of their numbers.
#include "storage/input/tables/two_kinds.h"

#include <algorithm>
#include <array>
#include <optional>

#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// The letters of the name of a column, in lower case: "userid" of "user_id", "UserID" and "user id
/// 2".
std::string letters_of(std::string_view word) {
  std::string plain;
  for (const char c : word)
    if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) plain += static_cast<char>(c | 0x20);
  return plain;
}

/// What comes before "id": "user" of "userid", nothing for "since".
std::optional<std::string> kind_of(std::string_view plain) {
  for (const std::string_view mark : {"ids", "id"})
    if (plain.ends_with(mark)) return std::string(plain.substr(0, plain.size() - mark.size()));
  return std::nullopt;
}

/// Ends of edges between nodes of one kind.
bool is_end(const std::string& kind) {
  constexpr std::array<std::string_view, 34> kEnds{
      "",         "source",   "target",   "src",    "dst",   "dest",   "destination", "from",  "to",
      "fromnode", "tonode",   "node",     "head",   "tail",  "start",  "end",         "u",     "v",
      "a",        "b",        "x",        "y",      "i",     "j",      "parent",      "child", "sender",
      "receiver", "follower", "followee", "citing", "cited", "caller", "callee"};
  return std::find(kEnds.begin(), kEnds.end(), kind) != kEnds.end();
}

/// Kinds that need no "id" behind them: two of them are no two ends of one kind.
bool is_known_kind(std::string_view word) {
  constexpr std::array<std::string_view, 52> kBareKinds{
      "user",    "customer", "member",  "person",   "people",   "reader",     "patient", "author",     "actor",
      "player",  "student",  "teacher", "buyer",    "seller",   "reviewer",   "item",    "product",    "movie",
      "film",    "book",     "song",    "track",    "artist",   "album",      "paper",   "venue",      "event",
      "group",   "tag",      "term",    "word",     "document", "article",    "gene",    "disease",    "drug",
      "protein", "symptom",  "place",   "city",     "shop",     "store",      "repo",    "repository", "project",
      "team",    "club",     "company", "category", "genre",    "ingredient", "recipe"};
  return std::find(kBareKinds.begin(), kBareKinds.end(), word) != kBareKinds.end();
}

}  // namespace

bool TwoKinds::named_by(std::string_view header) {
  Fields fields(header);
  const std::string_view first = fields.take();
  return named_by(first, fields.take());
}

bool TwoKinds::named_by(std::string_view first_word, std::string_view second_word) {
  const std::string words[] = {letters_of(first_word), letters_of(second_word)};
  if (words[0] != words[1] && is_known_kind(words[0]) && is_known_kind(words[1])) return true;
  const std::optional<std::string> first = kind_of(words[0]), second = kind_of(words[1]);
  return first && second && *first != *second && !is_end(*first) && !is_end(*second);
}

TwoKinds::TwoKinds(std::string_view header) {
  Fields fields(header);
  for (std::string& word : words_) word = fields.take();
  for (const char separator : {',', '\t'})
    if (separator_ == ' ' && header.find(separator) != std::string_view::npos) separator_ = separator;
}

void TwoKinds::see(std::span<const Edge> edges) noexcept {
  const auto widen = [](Range& range, NodeId node) {
    range.first = std::min(range.first, node);
    range.last = std::max(range.last, node);
  };
  for (const Edge& edge : edges) {
    widen(ranges_[0], edge.u);
    widen(ranges_[1], edge.v);
  }
  seen_ |= !edges.empty();
}

void TwoKinds::require_apart(const std::filesystem::path& file) const {
  if (!seen_ || ranges_[0].last < ranges_[1].first || ranges_[1].last < ranges_[0].first) return;
  const std::string by = separator_ == '\t' ? "\\t" : std::string(1, separator_);
  const std::string from = std::to_string(std::uint64_t{ranges_[0].last} + 1);
  throw InputError(
      file, "whole file",
      "the columns " + quote_for_message(words_[0]) + " and " + quote_for_message(words_[1]) +
          " seem to number two kinds of nodes, and both have the same numbers, each of which would be one node",
      "shift the second by " + from + ", as awk -F '" + by + "' 'NR > 1 {print $1 \"" + by + "\" $2 + " + from +
          "}' does, or, if both number the same nodes, call the columns source and target");
}

}  // namespace unweave
