// tests/storage/input/tables/end_names_test.cpp - headers of edge lists as people write them.
#include "storage/input/tables/end_names.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>
#include <vector>

namespace unweave {
namespace {

using Names = std::vector<std::string>;

std::string named(const Names& names) {
  const auto ends = ends_among(names).named;
  return ends ? names[(*ends)[0]] + "," + names[(*ends)[1]] : "";
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("ends that stand behind another column") {
    const std::vector<std::pair<Names, std::string>> headers{{{"session", "user", "friend"}, "user,friend"},
                                                             {{"user", "time", "friend"}, "user,friend"},
                                                             {{"row_id", "user1", "user2"}, "user1,user2"},
                                                             {{"ts", "sender", "receiver"}, "sender,receiver"},
                                                             {{"date", "payer", "payee"}, "payer,payee"},
                                                             {{"num", "person_a", "person_b"}, "person_a,person_b"},
                                                             {{"pred", "subj", "obj"}, "subj,obj"},
                                                             {{"idx", "i", "j"}, "i,j"},
                                                             {{"no", "Parent ID", "Child ID"}, "Parent ID,Child ID"},
                                                             {{"cost", "origin", "dest"}, "origin,dest"},
                                                             {{"relation", "head", "tail"}, "head,tail"},
                                                             {{"head", "relation", "tail"}, "head,tail"},
                                                             {{"index", "node1", "node2"}, "node1,node2"},
                                                             {{"x", "to_page", "from_page"}, "to_page,from_page"},
                                                             {{"x", "u_id", "v_id"}, "u_id,v_id"}};
    for (const auto& header : headers) {
      const Names& names = header.first;
      const std::string& pair = header.second;
      CAPTURE(pair);
      CHECK(named(names) == pair);
      CHECK_FALSE(ends_among(names).are_first);
      const Names ends_first{pair.substr(0, pair.find(',')), pair.substr(pair.find(',') + 1), "anything"};
      CHECK(ends_among(ends_first).are_first);
    }
  }

  TEST_CASE("the third of three says what the first two are, and else nothing does") {
    for (const char* const third : {"weight", "Rating", "timestamp", "created_at", "edge_type", "count", "w", "n",
                                    "combined_score", "since", "label", "price", "tag"}) {
      CHECK(ends_among(Names{"user", "item", third}).are_first);
      CHECK_FALSE(ends_among(Names{"timestamp", "item", third}).are_first);
      CHECK_FALSE(ends_among(Names{"user", "weight", third}).are_first);
    }
    for (const char* const third : {"item", "y", "other", "ns", "", "user3"}) {
      CHECK_FALSE(ends_among(Names{"session", "user", third}).are_first);
      CHECK(named({"session", "user", third}).empty());
    }
    // Parts of words say nothing.
    CHECK(ends_among(Names{"candidate", "voter", "count"}).are_first);
    CHECK_FALSE(ends_among(Names{"voter", "party", "candidate"}).are_first);
    CHECK(ends_among(Names{"session", "user"}).are_first);
    CHECK(ends_among(Names{}).are_first);
  }

  TEST_CASE("times, kinds and ids are no weights, and quantities may be") {
    for (const char* const name : {"time", "Timestamp", "ts", "edge_id", "type", "label", "sign", "date", "year",
                                   "created_at", "edgeType", "ID"})
      CHECK(says_no_weight(name));
    for (const char* const name :
         {"weight", "w", "count", "rating", "score", "x", "", "paid", "update", "similarity", "strength"})
      CHECK_FALSE(says_no_weight(name));
  }
}

}  // namespace unweave
