// storage/input/tables/end_names.cpp - compares names of columns with those that ends of edges,
// their weights and their times have.
#include "storage/input/tables/end_names.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "storage/io/small_letters.h"

namespace unweave {
namespace {

/// How the columns of edge lists are often called, in lower case and without what parts words.
constexpr std::array<std::string_view, 27> kEndNames{
    "source", "target",   "src",      "dst",        "dest",     "destination", "from",  "to",    "u",
    "v",      "head",     "tail",     "start",      "end",      "node",        "node1", "node2", "id1",
    "id2",    "sourceid", "targetid", "fromnodeid", "tonodeid", "fromid",      "toid",  "srcid", "dstid"};

using EndPair = std::pair<std::string_view, std::string_view>;

/// What the two ends of one edge are called, by whole words; a word that both have may stand before
/// or behind: "from_user" and "to_user", "paper_citing" and "paper_cited".
constexpr std::array<EndPair, 50> kPairsOfEnds{{{"source", "target"},
                                                {"source", "destination"},
                                                {"source", "dest"},
                                                {"source", "sink"},
                                                {"src", "dst"},
                                                {"src", "dest"},
                                                {"src", "target"},
                                                {"src", "tgt"},
                                                {"src", "trg"},
                                                {"origin", "destination"},
                                                {"origin", "dest"},
                                                {"orig", "dest"},
                                                {"from", "to"},
                                                {"head", "tail"},
                                                {"start", "end"},
                                                {"subject", "object"},
                                                {"subj", "obj"},
                                                {"sub", "obj"},
                                                {"parent", "child"},
                                                {"citing", "cited"},
                                                {"citer", "cited"},
                                                {"follower", "followee"},
                                                {"follower", "followed"},
                                                {"follower", "following"},
                                                {"sender", "receiver"},
                                                {"sender", "recipient"},
                                                {"donor", "recipient"},
                                                {"giver", "receiver"},
                                                {"payer", "payee"},
                                                {"caller", "callee"},
                                                {"row", "col"},
                                                {"row", "column"},
                                                {"left", "right"},
                                                {"lhs", "rhs"},
                                                {"first", "second"},
                                                {"ego", "alter"},
                                                {"lender", "borrower"},
                                                {"debtor", "creditor"},
                                                {"buyer", "seller"},
                                                {"mentor", "mentee"},
                                                {"truster", "trustee"},
                                                {"trustor", "trustee"},
                                                {"rater", "ratee"},
                                                {"predecessor", "successor"},
                                                {"ancestor", "descendant"},
                                                {"author", "coauthor"},
                                                {"user", "friend"},
                                                {"person", "friend"},
                                                {"node", "neighbor"},
                                                {"node", "neighbour"}}};

/// Marks of two ends behind a word that both have, some of them also alone: "user1" and "user2",
/// "i" and "j".
constexpr std::array<EndPair, 5> kMarksOfEnds{{{"1", "2"}, {"0", "1"}, {"a", "b"}, {"i", "j"}, {"u", "v"}}};

constexpr std::array<std::string_view, 59> kQuantities{
    "w",          "n",           "weight",   "weights",    "value",   "values",    "val",      "count",
    "counts",     "cnt",         "num",      "number",     "freq",    "frequency", "rating",   "ratings",
    "score",      "scores",      "strength", "similarity", "sim",     "distance",  "dist",     "cost",
    "prob",       "probability", "capacity", "len",        "length",  "amount",    "corr",     "correlation",
    "confidence", "duration",    "size",     "total",      "stars",   "price",     "quantity", "qty",
    "volume",     "rate",        "ratio",    "share",      "percent", "grade",     "votes",    "points",
    "level",      "intensity",   "affinity", "trust",      "flow",    "bandwidth", "delay",    "latency",
    "speed",      "messages",    "trips"};
constexpr std::array<std::string_view, 22> kMoments{
    "t",      "ts",        "time",     "timestamp",     "date",      "datetime", "day",     "week",
    "month",  "year",      "since",    "when",          "hour",      "epoch",    "created", "updated",
    "tstamp", "createdat", "unixtime", "unixtimestamp", "starttime", "datetimes"};
constexpr std::array<std::string_view, 40> kKinds{
    "type",    "types",        "kind",        "label",    "labels", "class",        "classes",  "relation",
    "rel",     "relationship", "predicate",   "category", "etype",  "sign",         "attr",     "attributes",
    "id",      "comment",      "note",        "key",      "tag",    "tags",         "text",     "review",
    "message", "url",          "description", "status",   "action", "event",        "method",   "mode",
    "color",   "direction",    "ids",         "edgetype", "edgeid", "relationtype", "linktype", "txid"};

std::string plain_column(std::string_view name) {
  std::string plain = plain_name(name);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '.'; });
  return plain;
}

/// The words of a name, in lower case: "edge", "weight" of edge_weight and EdgeWeight; and all of
/// it.
std::vector<std::string> words_in(std::string_view name) {
  std::vector<std::string> words{plain_column(name)};
  std::string word;
  const auto is_letter_or_digit = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || (c & 0x80) != 0;
  };
  bool after_small = false;
  for (const char c : name) {
    const bool is_large = c >= 'A' && c <= 'Z';
    if (!word.empty() && (!is_letter_or_digit(c) || (is_large && after_small)))
      words.push_back(in_small_letters(std::exchange(word, {})));
    if (is_letter_or_digit(c)) word += c;
    after_small = c >= 'a' && c <= 'z';
  }
  if (!word.empty()) words.push_back(in_small_letters(word));
  return words;
}

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& known, std::string_view name) {
  const std::vector<std::string> words = words_in(name);
  return std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return std::find(known.begin(), known.end(), word) != known.end();
  });
}

bool is_pair(std::string_view a, std::string_view b) {
  const auto fits = [&](const EndPair& pair) {
    const auto& [p, q] = pair;
    if (a == p && b == q) return true;
    return (a.starts_with(p) && b.starts_with(q) && a.substr(p.size()) == b.substr(q.size())) ||
           (a.ends_with(p) && b.ends_with(q) && a.substr(0, a.size() - p.size()) == b.substr(0, b.size() - q.size()));
  };
  if (std::any_of(kPairsOfEnds.begin(), kPairsOfEnds.end(), fits)) return true;
  if (a.size() > 2 && b.size() > 2 && a.ends_with("id") && b.ends_with("id")) {
    a.remove_suffix(2);
    b.remove_suffix(2);
  }
  return std::any_of(kMarksOfEnds.begin(), kMarksOfEnds.end(), [&](const EndPair& mark) {
    if (!a.ends_with(mark.first) || !b.ends_with(mark.second)) return false;
    const std::string_view stem = a.substr(0, a.size() - 1);
    const bool is_alone = mark.first == "i" || mark.first == "u";
    return stem == b.substr(0, b.size() - 1) && (stem.empty() ? is_alone : stem.back() < '0' || stem.back() > '9');
  });
}

}  // namespace

bool is_end_name(std::string_view word) {
  const std::string plain = plain_name(word);
  return std::find(kEndNames.begin(), kEndNames.end(), plain) != kEndNames.end();
}

bool is_weight_name(std::string_view word) {
  const std::string plain = plain_column(word);
  return plain == "weight" || plain == "weights" || plain == "edgeweight" || plain == "edgeweights";
}

bool says_no_weight(std::string_view word) {
  return !is_among(kQuantities, word) && (is_among(kMoments, word) || is_among(kKinds, word));
}

EndColumns ends_among(std::span<const std::string> names) {
  constexpr std::size_t kMost = 64;  // each is held against each
  names = names.first(std::min(names.size(), kMost));
  std::vector<std::string> plain;
  for (const std::string& name : names) plain.push_back(plain_column(name));
  EndColumns found;
  for (std::size_t i = 0; i < plain.size() && !found.named; ++i)
    for (std::size_t j = i + 1; j < plain.size() && !found.named; ++j)
      if (is_pair(plain[i], plain[j]) || is_pair(plain[j], plain[i])) found.named = {{i, j}};
  found.are_first =
      names.size() < 3 || (found.named && (*found.named)[1] == 1) || (is_end_name(names[0]) && is_end_name(names[1]));
  if (found.are_first || found.named) return found;
  const auto is_beside = [](const std::string& name) {
    return is_among(kQuantities, name) || is_among(kMoments, name);
  };
  // One letter may be a node, too.
  const auto is_called_beside = [&](std::size_t place) { return plain[place].size() > 1 && is_beside(names[place]); };
  found.are_first = (is_beside(names[2]) || is_among(kKinds, names[2])) && !is_called_beside(0) && !is_called_beside(1);
  return found;
}

}  // namespace unweave
