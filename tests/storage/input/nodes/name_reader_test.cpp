// tests/storage/input/nodes/name_reader_test.cpp - names from users' files, and edges between them.
#include "storage/input/nodes/name_reader.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "storage/input/edges/edge_reader.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::check_message;
using testing::message_of;
using testing::TempDir;
using testing::write_file;

std::vector<std::string> names_of(const InputFile& file) {
  const auto reader = open_names(file);
  std::vector<std::string> names;
  for (std::string_view name; reader->next(name);) names.emplace_back(name);
  return names;
}

const std::map<std::string, NodeId, std::less<>> kNodes{{"ann", 0}, {"bob", 1}, {"17", 2}, {"head", 3}};

void find(std::span<const std::string_view> names, NodeId* nodes) {
  for (const std::string_view name : names) {
    const auto node = kNodes.find(name);
    *nodes++ = node == kNodes.end() ? kNoNode : node->second;
  }
}

std::vector<Edge> edges_of(const InputFile& file, bool ignore_weights = false,
                           std::optional<IdsAre> ids_are = std::nullopt) {
  EdgeOptions options;
  options.ids_are = ids_are;
  options.num_nodes = 4;
  options.ignore_weights = ignore_weights;
  const OpenedEdges opened = open_named_edges(file, options, find, "people.txt");
  std::vector<Edge> edges;
  if (opened.numbers) {
    std::vector<Edge> chunk(100);
    while (const std::size_t count = opened.numbers->read(chunk))
      edges.insert(edges.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(count));
    return edges;
  }
  for (NamedEdgeChunk chunk; opened.names->next(chunk);) {
    opened.names->resolve(chunk);
    edges.insert(edges.end(), chunk.edges.begin(), chunk.edges.end());
  }
  return edges;
}

using Edges = std::vector<Edge>;

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("names as text, one a line, and as arrays of integers and byte strings") {
    const TempDir dir;
    const auto path = dir / "ids";
    using Names = std::vector<std::string>;
    CHECK(names_of({write_file(path, "ann\n\n\xc3\xbc\r\n42"), {}}) == Names{"ann", "", "\xc3\xbc", "42"});
    CHECK(names_of({write_file(path,
                               "\xef\xbb\xbf"
                               "ann\n\n"),
                    {}}) == Names{"ann", ""});
    CHECK(names_of({write_file(path, testing::gzipped("a\nb\n")), {}}) == Names{"a", "b"});
    CHECK(names_of({write_file(path, ""), {}}).empty());
    const Names numbers{"-9223372036854775808", "0", "9223372036854775807"};
    CHECK(names_of({write_file(path, testing::npy<std::int64_t>("<i8", "(3,)", {INT64_MIN, 0, INT64_MAX})), {}}) ==
          numbers);
    CHECK(names_of({write_file(path, testing::npy<std::uint64_t>("<u8", "(2, 1)", {1, UINT64_MAX})), {}}) ==
          Names{"1", "18446744073709551615"});
    CHECK(names_of({write_file(path, testing::npy<std::int8_t>("|i1", "(2,)", {-1, 7})), {}}) == Names{"-1", "7"});
    CHECK(names_of({write_file(path, testing::npy<char>("|S3", "(3,)", {'a', 'b', 'c', 'd', 0, 0, 0, 0, 0})), {}}) ==
          Names{"abc", "d", ""});
  }

  TEST_CASE("what is no name is named with its place and a remedy") {
    const TempDir dir;
    const auto path = dir / "ids";
    for (const auto& one : std::vector<std::pair<std::string, std::string>>{
             {"a ", "ends with a blank"},
             {" a", "begins with a blank"},
             {"#x", "begins with #"},
             {std::string(256, 'x'), "longer than 255"},
             {"\xff", "'\\xFF' is no name of a node: it is not UTF-8, at byte 0"},
             {"a\xc2\x9b", "'a\\xC2\\x9B' is no name of a node: it has a control character, at byte 1"},
             {"a\xe2\x80\xae"
              "b",
              "changes the direction of writing, at byte 1"},
             {"\xe2\x80\xa8", "a separator of lines, at byte 0"},
             {"a\x01", "control character"}})
      check_message(message_of<InputError>([&] {
                      names_of({write_file(path, "ok\n" + one.first + "\n"), {}});
                    }),
                    {path.string(), "line 2", one.second, "an empty line is a node without a name"});
    check_message(message_of<InputError>([&] {
                    names_of({write_file(path, "a\n\"b\n"), {}});
                  }),
                  {path.string(), "line 2", "quotes", "not closed"});
    check_message(message_of<InputError>([&] {
                    names_of({write_file(path, "a\nb,c\n"), {}});
                  }),
                  {path.string(), "line 2", "'b,c' may be one name, or several columns", path.string() + "[0]"});
    for (const char* const first : {"id", "Name", "user_id", "0"}) {
      CAPTURE(first);
      InputFile file{write_file(path, std::string(first) + "\nann\n"), {}};
      file.remark = [](const std::string&) {};
      file.header_key = "ids";
      check_message(message_of<InputError>([&] { names_of(file); }), {"line 1", first, "ids=no", "ids=yes"});
      file.header = Header::no;
      CHECK(names_of(file).size() == 2);
      file.header = Header::yes;
      CHECK(names_of(file) == std::vector<std::string>{"ann"});
    }
    CHECK(names_of({write_file(path, "\"O'Brien, Pat\"\nPat O'Brien\n\"the \"\"one\"\"\"\n\"\"\n"), {}}) ==
          std::vector<std::string>{"O'Brien, Pat", "Pat O'Brien", "the \"one\"", ""});
    check_message(message_of<InputError>([&] {
                    names_of({write_file(path, testing::npy<char>("|S2", "(2,)", {'a', 0, 'a', ' '})), {}});
                  }),
                  {"element [1]", "a blank"});
    check_message(message_of<InputError>([&] {
                    names_of({write_file(path, testing::npy<double>("<f8", "(1,)", {1.0})), {}});
                  }),
                  {".npy header", "one name a line"});
    check_message(message_of<InputError>([&] {
                    names_of({write_file(path, testing::npy<std::int64_t>("<i8", "(1, 2)", {1, 2})), {}});
                  }),
                  {".npy header", "(1, 2)"});
  }

  TEST_CASE("edges between names, whatever parts them") {
    const TempDir dir;
    const auto path = dir / "edges";
    const Edges two{{0, 1}, {1, 2}};
    for (const char* const text :
         {"ann bob\nbob 17\n", "ann\tbob\r\nbob\t17", "ann,bob\n\n# none\n bob , 17 \n",
          "source,target\nann,bob\nbob,17\n", "# c\n\nFrom To\nann bob\nbob 17", "ann bob {}\nbob 17 {}\n"}) {
      CAPTURE(text);
      InputFile file{write_file(path, text), {}};
      file.remark = [](const std::string&) {};
      CHECK(edges_of(file) == two);
    }
    CHECK(edges_of({write_file(path, "ann bob 0.5\nbob 17 {'weight': 2}\n"), {}}, true) == two);
    CHECK(edges_of({write_file(path, testing::zstded("ann bob\nann 17\nann bob\n")), {}}) ==
          Edges{{0, 1}, {0, 2}, {0, 1}});
    for (const char* const header : {"buyer,other,rating\n", "user item stars\n"}) {
      InputFile file{write_file(path, std::string(header) + "ann,bob,5\nbob,17,2\n"), {}};
      file.remark = [](const std::string&) {};
      CHECK(edges_of(file, true) == two);
    }
    // Where the words of a line are names, it is an edge, unless columns are called so.
    CHECK(edges_of({write_file(path, "head bob\n"), {}}) == Edges{{3, 1}});
    for (const char* const text : {"head head\nann bob\n", "head tail\nann bob\n"}) {
      InputFile file{write_file(path, text), {}};
      check_message(message_of<InputError>([&] { edges_of(file); }),
                    {"line 1", "an edge, or the names of the columns"});
      file.header = Header::yes;
      CHECK(edges_of(file) == Edges{{0, 1}});
    }
    InputFile words{write_file(path, "user_a,user_b\nann,bob\n"), {}};
    words.remark = [](const std::string&) {};
    CHECK(edges_of(words) == Edges{{0, 1}});
    CHECK(edges_of({write_file(path, "\"ann\",\"bob\"\nbob, \"17\"\n"), {}}) == two);
    // What numbers are has to be said: names in every format, or positions in every format.
    const auto numbers = testing::npy<std::int64_t>("<i8", "(1, 2)", {17, 17});
    CHECK(edges_of({write_file(path, numbers), {}}, false, IdsAre::names) == Edges{{2, 2}});
    const auto columns = testing::npy<std::int64_t>("<i8", "(2, 3)", {17, 17, 17, 17, 17, 17});
    CHECK(edges_of({write_file(path, columns), {}}, false, IdsAre::names) == Edges{{2, 2}, {2, 2}, {2, 2}});
    CHECK(edges_of({write_file(path, "2,ann\n1 \"17\"\n"), {}}, false, IdsAre::positions) == Edges{{2, 0}, {1, 2}});
    check_message(message_of<InputError>([&] {
                    edges_of({write_file(path, "ann bob\n4 ann\n"), {}}, false, IdsAre::positions);
                  }),
                  {"line 2", "outside the graph of 4 nodes"});
    check_message(message_of<InputError>([&] {
                    edges_of(
                        {write_file(dir / "m.mtx", "%%MatrixMarket matrix coordinate pattern general\n4 4 0\n"), {}},
                        false, IdsAre::names);
                  }),
                  {"m.mtx", "rows and columns of a matrix are positions"});
    // Numbers in other formats are numbers of lines, and a text of numbers is one of names.
    CHECK(edges_of({write_file(path, testing::npy<std::int64_t>("<i8", "(2, 3)", {0, 1, 1, 1, 2, 2})), {}}) ==
          Edges{{0, 1}, {1, 2}, {1, 2}});
    CHECK(edges_of({write_file(path, "17 17\n"), {}}) == Edges{{2, 2}});
    std::string many;
    for (int i = 0; i < 300'000; ++i) many += i % 2 == 0 ? "ann bob\n" : "bob 17\n";
    CHECK(edges_of({write_file(path, many), {}}).size() == 300'000);
  }

  TEST_CASE("a line that is no edge between names is named with its place and a remedy") {
    const TempDir dir;
    const auto path = dir / "edges";
    const auto message = [&](const std::string& text) {
      return message_of<InputError>([&] { edges_of({write_file(path, text), {}}); });
    };
    check_message(message("ann bob\nann zoe\n"), {"line 2", "'zoe'", "people.txt"});
    check_message(message("ann bob\n\n# x\nzoe bob\n"), {"line 4", "'zoe'"});
    check_message(message("zoe zac\nann bob\n"), {"line 1", "'zoe'"});  // no words that columns have
    check_message(message("ann,\"bob\n"), {"line 1", "quotes", "close them"});
    check_message(message("ann,\"bo\"b\n"), {"line 1", "quotes"});
    check_message(message("ann\n"), {"line 1", "1 instead of 2"});
    check_message(message("ann bob 17 17\n"), {"line 1", "4 instead of 2"});
    check_message(message("ann bob 0.5\n"), {"line 1", "ignore-weights"});
    check_message(message("ann bob x\n"), {"line 1", "3 instead of 2"});
    check_message(message("ann,bob,\n"), {"line 1", "column count"});
    check_message(message(",bob\n"), {"line 1", "column count"});
    std::string late;
    for (int i = 0; i < 200'000; ++i) late += "ann bob\n";
    check_message(message(late + "zoe bob\n"), {"line 200001", "'zoe'"});
  }

  TEST_CASE("lists of nodes and requests speak of names where there are names") {
    const TempDir dir;
    const ReadId read_id = [](std::string_view word) {
      const auto node = kNodes.find(word);
      return NodeWord{node == kNodes.end() ? 99 : std::uint64_t{node->second}, true};
    };
    CHECK(read_node_ids({write_file(dir / "l", "bob\n# x\n17\n"), {}}, 4, read_id) == std::vector<NodeId>{1, 2});
    check_message(message_of<InputError>([&] {
                    static_cast<void>(read_node_ids({write_file(dir / "l", "bob\nzoe\n"), {}}, 4, read_id));
                  }),
                  {"line 2", "'zoe'"});
    // A first word that no node has as its name is a header, but may be that of a removed node
    // where there may be some.
    InputFile list{dir / "l", {}};
    std::vector<std::string> remarks;
    list.remark = [&](const std::string& sentence) { remarks.push_back(sentence); };
    const auto read = [&](const std::string& lines) {
      write_file(dir / "l", lines);
      return read_node_ids(list, 4, read_id);
    };
    CHECK(read("zoe\nbob\n") == std::vector<NodeId>{1});
    CHECK(remarks.size() == 1);
    list.names_may_be_gone = true;
    check_message(message_of<InputError>([&] { static_cast<void>(read("zoe\nbob\n")); }),
                  {"line 1", "'zoe'", "take the line out if it is the name of the column"});
    for (const char* header : {"node_id", "name", "user id"})
      CHECK(read(std::string(header) + "\nbob\n") == std::vector<NodeId>{1});
    CHECK(remarks.size() == 4);
    RequestReader reader(write_file(dir / "r", "edge ann,\tbob\nnode zoe\nnode\n"), {read_id, nullptr});
    Request request;
    CHECK(reader.next(request));
    Request by_names{RequestKind::remove_edge, 0, 1};
    by_names.u_by_name = by_names.v_by_name = true;
    CHECK(request == by_names);
    CHECK(reader.text() == "edge ann bob");
    CHECK(reader.next(request));
    CHECK(request.u == 99);
    CHECK(reader.text() == "node zoe");
    check_message(message_of<InputError>([&] { static_cast<void>(reader.next(request)); }),
                  {"line 3", "not a request", "the name of a node"});
  }
}

}  // namespace unweave
