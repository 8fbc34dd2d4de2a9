// tests/storage/formats/expiry_file_test.cpp - expiries of edges come back, and files of nonsense
// are refused.
#include "storage/formats/expiry_file.h"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

#include "storage/formats/manifest.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

constexpr NodeId kNodes = 5;

TEST_SUITE("unit") {
  TEST_CASE("expiries come back; edges out of order or of no nodes, and moments before 1970, are refused") {
    const testing::TempDir dir;
    const std::vector<Expiry> good{{{0, 3}, 0}, {{0, 4}, 1'800'000'000'000}, {{2, 3}, 5}};
    const FileEntry entry = write_expiries(dir.path(), good);
    CHECK(read_expiries(dir.path(), entry, 5) == good);
    CHECK(count_expiries(entry) >= 3);
    CHECK(write_expiries(dir.path(), good) == entry);
    CHECK_THROWS_AS(static_cast<void>(read_expiries(dir.path(), entry, 4)), FormatError);
    for (const std::vector<Expiry>& bad : std::vector<std::vector<Expiry>>{{{{0, 4}, 1}, {{0, 3}, 1}},
                                                                           {{{0, 3}, 1}, {{0, 3}, 2}},
                                                                           {{{5, 5}, 1}},
                                                                           {{{kNoNode, 5}, 1}},
                                                                           {{feature_item(1), 1}, {{0, 3}, 1}},
                                                                           {{{3, 1}, 1}},
                                                                           {{{0, 1}, -1}},
                                                                           {{{0, 1}, 1, "a\tb"}},
                                                                           {{{0, 1}, 1, "a\nb"}},
                                                                           {{{0, 1}, 1, std::string(129, 'x')}}}) {
      const FileEntry wrong = write_expiries(dir.path(), bad);
      CHECK_THROWS_AS(static_cast<void>(read_expiries(dir.path(), wrong, 5)), FormatError);
    }
  }

  TEST_CASE("nodes and features have notes as edges have, and the ids of those that set them") {
    const testing::TempDir dir;
    const std::vector<Expiry> notes{{{0, 3}, 1, "T1"}, {node_item(2), 2}, {{2, 4}, 3}, {feature_item(1), 4, "T4"}};
    CHECK(read_expiries(dir.path(), write_expiries(dir.path(), notes), 5) == notes);
    CHECK(text_of(note_request(notes[1], {}, kNodes)) == "node 2 expires 1970-01-01T00:00:00.002Z");
    CHECK(text_of(removal_request(notes[2], {true}, 3)) ==
          "edge 2 1 expired 1970-01-01T00:00:00.003Z");  // copy 1 of node 1
    CHECK(text_of(removal_request(notes[3], {}, kNodes)) == "feature 1 expired 1970-01-01T00:00:00.004Z id=T4");
    CHECK(text_of(removal_request(notes[0], {}, kNodes)) == "edge 0 3 expired 1970-01-01T00:00:00.001Z id=T1");
    const Layers kinds{true, {{"cites"}, {"writes"}}, {}};
    const Request of_writes = removal_request({{7, 11}, 1}, kinds, 3);  // copies 2 and 3 of 3 nodes
    CHECK(of_writes.u == 1);
    CHECK(of_writes.v == 2);
    CHECK(of_writes.relation == 2);
    for (const Expiry& one : notes) {
      CHECK(is_expired(removal_request(one, {}, kNodes)));
      CHECK_FALSE(is_expired(note_request(one, {}, kNodes)));
    }
  }

  TEST_CASE("whole graphs have notes below the number of graphs, whatever the number of nodes") {
    const testing::TempDir dir;
    const std::vector<Expiry> notes{{{0, 3}, 1}, {graph_item(0), 2, "T2"}, {graph_item(8), 3}, {feature_item(1), 4}};
    const FileEntry entry = write_expiries(dir.path(), notes);
    CHECK(read_expiries(dir.path(), entry, 5, 9) == notes);
    CHECK_THROWS_AS(static_cast<void>(read_expiries(dir.path(), entry, 50, 8)), FormatError);
    CHECK_THROWS_AS(static_cast<void>(read_expiries(dir.path(), entry, 50)), FormatError);
    CHECK_FALSE(is_graph_item(node_item(kMaxNodeId)));
    CHECK_FALSE(is_graph_item(feature_item(1)));
    CHECK(text_of(note_request(notes[1], {}, kNodes)) == "graph 0 expires 1970-01-01T00:00:00.002Z id=T2");
    CHECK(text_of(removal_request(notes[2], {}, kNodes)) == "graph 8 expired 1970-01-01T00:00:00.003Z");
    CHECK(is_expired(removal_request(notes[2], {}, kNodes)));
    CHECK_FALSE(is_expired(note_request(notes[2], {}, kNodes)));
  }

  TEST_CASE("a manifest names what a program must know of to read it") {
    using Words = std::vector<std::string>;
    Manifest manifest;
    CHECK(manifest.needs().empty());
    manifest.expiries = FileEntry{"graph/expiries-x.expiries", 1, "x"};
    CHECK(manifest.needs() == Words{"expiries"});
    manifest.names = NameEntries{};
    CHECK(manifest.needs() == Words{"names", "expiries"});
    manifest.expiries.reset();
    CHECK(manifest.needs() == Words{"names"});
  }
}

}  // namespace
}  // namespace unweave
