// tests/storage/input/words/first_line_test.cpp - first lines that are data, that name columns, and
// that may be both.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "storage/input/edges/edge_reader.h"
#include "storage/input/features/feature_reader.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::check_message;
using testing::message_of;
using testing::TempDir;
using testing::write_file;

using Edges = std::vector<Edge>;

struct FirstLines {
  TempDir dir;
  std::vector<std::string> remarks;

  InputFile file(const std::string& text, Header header = Header::ask) {
    InputFile input{write_file(dir / "f.csv", text), {}};
    input.remark = [this](const std::string& sentence) { remarks.push_back(sentence); };
    input.header = header;
    input.header_key = "edges";
    return input;
  }
  Edges edges(const std::string& text, Header header = Header::ask) {
    const auto reader = open_edges(file(text, header));
    Edges all, some(3);
    while (const std::size_t count = reader->read(some))
      all.insert(all.end(), some.begin(), some.begin() + static_cast<std::ptrdiff_t>(count));
    return all;
  }
  /// It is an error that names both readings until somebody says which.
  void check_asked(const std::string& text, const std::vector<std::string>& words) {
    CAPTURE(text);
    const std::string message = message_of<InputError>([&] { edges(text); });
    check_message(message, {"f.csv: line 1", "header=edges=no", "header=edges=yes"});
    check_message(message, words);
    const Edges all = edges(text, Header::no);
    CHECK(edges(text, Header::yes) == Edges(all.begin() + 1, all.end()));
  }
};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("the header of a frame of pandas without names is asked about, and nothing that cannot be one") {
    FirstLines first;
    first.check_asked("0,1\n3,4\n4,5\n", {"pandas"});
    CHECK(first.edges("0 1\n3 4\n") == Edges{{0, 1}, {3, 4}});
    CHECK(first.edges("0\t1\n3\t4\n") == Edges{{0, 1}, {3, 4}});
    CHECK(first.edges("1,0\n3,4\n") == Edges{{1, 0}, {3, 4}});
    CHECK(first.edges("0,2\n3,4\n") == Edges{{0, 2}, {3, 4}});
    CHECK(first.edges("# a remark, which pandas does not write\n0,1\n3,4\n") == Edges{{0, 1}, {3, 4}});
    CHECK(first.remarks.size() == 1);  // one was said to be a header
    check_message(message_of<InputError>([&] { static_cast<void>(read_node_ids(first.file("0\n3\n4\n"), 9)); }),
                  {"line 1", "'0'", "pandas"});
    CHECK(read_node_ids(first.file("0\n3\n4\n", Header::no), 9) == std::vector<NodeId>{0, 3, 4});
    CHECK(read_node_ids(first.file("0\n3\n4\n", Header::yes), 9) == std::vector<NodeId>{3, 4});
    CHECK(read_node_ids(first.file("3\n0\n4\n"), 9) == std::vector<NodeId>{3, 0, 4});
    check_message(message_of<InputError>([&] { static_cast<void>(open_features(first.file("0,1,2\n3,4,5\n"), 2)); }),
                  {"line 1", "'0,1,2'", "pandas"});
    FeatureBatch rows;
    REQUIRE(open_features(first.file("0,1,2\n3,4,5\n", Header::yes), 1)->next(rows, 9));
    CHECK(rows.values == std::vector<double>{3, 4, 5});
  }

  TEST_CASE("numbers of nodes and edges before a list are asked about, plain edges are not") {
    FirstLines first;
    first.check_asked("34 78\n0 1\n1 2\n2 3\n", {"numbers of nodes and edges"});
    first.check_asked("4 3\n1 2\n2 3\n3 4\n", {"numbers of nodes and edges"});  // ids from 1, as many lines as said
    first.check_asked("4 3\n1 2\n2 3\n3 4\n2 1\n3 2\n4 3\n", {"numbers of nodes and edges"});
    std::string long_list = "400000 500000\n";
    for (int i = 0; i < 300'000; ++i) long_list += std::to_string(i) + " " + std::to_string(i + 1) + "\n";
    check_message(message_of<InputError>([&] { first.edges(long_list); }), {"line 1", "numbers of nodes and edges"});
    for (const char* const edges :
         {"3 4\n", "5 6\n1 2\n", "9 8\n8 7\n7 6\n", "3 2\n1 2\n2 3\n3 1\n", "0 3\n1 2\n2 1\n"})
      CHECK_NOTHROW(first.edges(edges));
  }

  TEST_CASE(
      "two kinds of nodes by the names of columns, whose numbers overlap, are an error; apart, or of one kind, they are not") {
    FirstLines first;
    for (const char* const header :
         {"user_id,item_id\n", "userId,movieId,rating\n", "AuthorID\tpaper_id\n", "user,item\n"}) {
      CAPTURE(header);
      const std::string message = message_of<InputError>([&] { first.edges(std::string(header) + "0,0\n0,1\n1,0\n"); });
      if (std::string(header).find("rating") == std::string::npos)
        check_message(message, {"two kinds of nodes", "shift the second by 2", "source and target"});
      else
        check_message(message, {"f.csv"});  // a third column that is no number of two
    }
    CHECK(first.edges("user_id,item_id\n0,2\n0,3\n1,2\n").size() == 3);
    for (const char* const header : {"source,target\n", "id_1,id_2\n", "node_id,neighbour\n", "user_id_a,user_id_b\n",
                                     "from_id,to_id\n", "SourceID,TargetID\n", "user,friend\n", "paper,cited\n"})
      CHECK(first.edges(std::string(header) + "0,0\n0,1\n1,0\n").size() == 3);
    InputFile chosen = first.file("user_id,item_id,stars\n0,0,5\n1,0,4\n");
    chosen.columns = "user_id,item_id";
    check_message(message_of<InputError>([&] {
                    const auto reader = open_edges(chosen);
                    Edges some(9);
                    while (reader->read(some) > 0) {
                    }
                  }),
                  {"'user_id' and 'item_id'", "shift the second by 2"});
  }

  TEST_CASE("labels whose first line is 0 are counted: one more than there are nodes is a header") {
    FirstLines first;
    const auto reader = open_labels(first.file("0\n1\n1\n"), 2);
    std::vector<std::int32_t> labels(9);
    CHECK(reader->read(labels) == 3);
    CHECK(reader->first_may_be_header());
    const auto said = open_labels(first.file("0\n1\n1\n", Header::yes), 2);
    CHECK(said->read(labels) == 2);
    CHECK_FALSE(said->first_may_be_header());
    CHECK(open_labels(first.file("1\n0\n1\n"), 2)->read(labels) == 3);
  }

  TEST_CASE("a mask is one of booleans, in text too; zeros and ones are no ids") {
    FirstLines first;
    using Ids = std::vector<NodeId>;
    for (const char* const zeros : {"0\n1\n1\n", "train_mask\n0\n0\n1\n1\n"})
      check_message(
          message_of<InputError>([&] {
            static_cast<void>(read_node_ids(first.file(zeros, zeros[0] == '0' ? Header::no : Header::ask), 9));
          }),
          {"all 0 or 1 seem to be a mask", "True and False"});
    CHECK(read_node_ids(first.file("train_mask\nTrue\nFalse\ntrue\n"), 3) == Ids{0, 2});
    CHECK(read_node_ids(first.file("False\nFALSE\nfalse\n"), 3).empty());
    check_message(message_of<InputError>([&] { static_cast<void>(read_node_ids(first.file("True\nFalse\n"), 3)); }),
                  {"a mask of 2 nodes, but there are 3"});
    check_message(message_of<InputError>([&] { static_cast<void>(read_node_ids(first.file("True\n2\n"), 3)); }),
                  {"line 2", "'2' among words of a mask"});
    // Several masks side by side, or one below the other.
    const auto masks = [&](const char* shape, const std::vector<char>& bits, const std::string& chosen) {
      InputFile file{write_file(first.dir / "m.npy", testing::npy<char>("|b1", shape, bits)), {}};
      file.columns = chosen;
      return read_node_ids(file, 3);
    };
    CHECK(masks("(3, 2)", {1, 0, 0, 1, 1, 1}, "0") == Ids{0, 2});
    CHECK(masks("(3, 2)", {1, 0, 0, 1, 1, 1}, "1") == Ids{1, 2});
    CHECK(masks("(2, 3)", {1, 0, 0, 1, 1, 0}, "1") == Ids{0, 1});
    CHECK(masks("(3,)", {1, 0, 1}, "") == Ids{0, 2});
    for (const char* const chosen : {"", "2", "0:2"})
      CHECK_FALSE(message_of<Error>([&] { masks("(3, 2)", {1, 0, 0, 1, 1, 1}, chosen); }).empty());
  }
}

}  // namespace unweave
