// storage/input/tables/end_names.cpp - compares names of columns with those that ends of edges, their
// weights and their times have.
#include "storage/input/tables/end_names.h"

#include <algorithm>
#include <utility>

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

/// Marks of two ends behind a word that both have, some of them also alone: "user1" and "user2", "i"
/// and "j".
constexpr std::array<EndPair, 5> kMarksOfEnds{{{"1", "2"}, {"0", "1"}, {"a", "b"}, {"i", "j"}, {"u", "v"}}};

constexpr std::array<std::string_view, 37> kQuantities{
    "w",          "n",           "weight",   "weights",    "value",  "values",    "val",    "count",
    "counts",     "cnt",         "num",      "number",     "freq",   "frequency", "rating", "ratings",
    "score",      "scores",      "strength", "similarity", "sim",    "distance",  "dist",   "cost",
    "prob",       "probability", "capacity", "len",        "length", "amount",    "corr",   "correlation",
    "confidence", "duration",    "size",     "total",      "stars"};
constexpr std::array<std::string_view, 19> kMoments{
    "t",     "ts",   "time", "timestamp", "date",    "datetime", "day",    "week",      "month",   "year",
    "since", "when", "hour", "epoch",     "created", "updated",  "tstamp", "createdat", "unixtime"};
constexpr std::array<std::string_view, 20> kKinds{
    "type",      "types",    "kind",  "label", "labels", "class",      "classes", "relation", "rel",  "relationship",
    "predicate", "category", "etype", "sign",  "attr",   "attributes", "id",      "comment",  "note", "key"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& words, std::string_view plain) {
  constexpr std::size_t kTelling = 4;  // Shorter words stand at the end of others by chance.
  return std::any_of(words.begin(), words.end(), [&](std::string_view word) {
    return plain == word || (word.size() >= kTelling && plain.size() > word.size() &&
                             (plain.ends_with(word) || plain.starts_with(word)));
  });
}

std::string plain_column(std::string_view name) {
  std::string plain = plain_name(name);
  std::erase_if(plain, [](char c) { return c == ' ' || c == '.'; });
  return plain;
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
  const std::string plain = plain_column(word);
  return !is_among(kQuantities, plain) &&
         (is_among(kMoments, plain) || is_among(kKinds, plain) || plain.ends_with("id"));
}

EndColumns ends_among(std::span<const std::string> names) {
  constexpr std::size_t kMost = 64;  // each is held against each
  std::vector<std::string> plain;
  for (const std::string& name : names.first(std::min(names.size(), kMost))) plain.push_back(plain_column(name));
  EndColumns found;
  for (std::size_t i = 0; i < plain.size() && !found.named; ++i)
    for (std::size_t j = i + 1; j < plain.size() && !found.named; ++j)
      if (is_pair(plain[i], plain[j]) || is_pair(plain[j], plain[i])) found.named = {{i, j}};
  const bool two_are_called_so =
      plain.size() > 1 && ((found.named && (*found.named)[1] == 1) || (is_end_name(names[0]) && is_end_name(names[1])));
  const auto is_beside = [&](const std::string& one) { return is_among(kQuantities, one) || is_among(kMoments, one); };
  const auto is_called_beside = [&](const std::string& one) { return one.size() > 1 && is_beside(one); };
  found.are_first = plain.size() < 3 || two_are_called_so ||
                    (!found.named && (is_beside(plain[2]) || is_among(kKinds, plain[2])) &&
                     !is_called_beside(plain[0]) && !is_called_beside(plain[1]));
  return found;
}

}  // namespace unweave
