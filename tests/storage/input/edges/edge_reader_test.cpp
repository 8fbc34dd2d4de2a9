// tests/storage/input/edges/edge_reader_test.cpp - every edge format, and every way in which one
// can be wrong with its place.
#include "storage/input/edges/edge_reader.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <thread>

#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

std::vector<Edge> read_edges(const InputFile& file, const EdgeOptions& options = {}, std::size_t piece = 3) {
  const auto reader = open_edges(file, options);
  std::vector<Edge> edges;
  std::vector<Edge> buffer(piece);
  while (const std::size_t count = reader->read(buffer)) {
    edges.insert(edges.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (reader->count()) CHECK(*reader->count() == edges.size());
  return edges;
}

InputFile with_header(const std::filesystem::path& path) {
  InputFile file{path, ""};
  file.header = Header::yes;
  return file;
}

std::string error_in(const std::filesystem::path& path, const std::string& bytes,
                     std::optional<std::uint64_t> nodes = {}) {
  write_file(path, bytes);
  EdgeOptions options;
  options.num_nodes = nodes;
  return message_of<InputError>([&] { read_edges({path, ""}, options); });
}

std::vector<Edge> random_edges(std::size_t count, NodeId nodes) {
  std::mt19937 random(11);
  std::vector<Edge> edges(count);
  for (Edge& edge : edges) edge = {static_cast<NodeId>(random() % nodes), static_cast<NodeId>(random() % nodes)};
  return edges;
}

const std::vector<Edge> kFive = {{0, 1}, {7, 2}, {3, 3}, {1, 0}, {kMaxNodeId, 4}};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("text: tabs, commas, blanks, comments, empty lines, CRLF, no last newline") {
    const TempDir dir;
    for (const std::string separator : {"\t", ",", " ", ", ", " ,", "  \t "}) {
      for (const std::string end : {"\n", "\r\n", " \n"}) {
        std::string text = "# a comment, with 3 4 fields" + end + end + "  # another" + end;
        for (const Edge& edge : kFive) text += " " + std::to_string(edge.u) + separator + std::to_string(edge.v) + end;
        CHECK(read_edges({write_file(dir / "e.txt", text), ""}) == kFive);
        text.resize(text.size() - end.size());
        CHECK(read_edges({write_file(dir / "e.txt", text), ""}) == kFive);
        CHECK(read_edges({write_file(dir / "e.txt.gz", gzipped(text)), ""}) == kFive);
        CHECK(read_edges({write_file(dir / "e.txt.zst", zstded(text)), ""}) == kFive);
      }
    }
    CHECK(read_edges({write_file(dir / "e.txt", ""), ""}).empty());
    CHECK(read_edges({write_file(dir / "e.txt", "# only\n\n"), ""}).empty());
  }

  TEST_CASE("text larger than the buffers comes through whole, from a file and from a pipe") {
    const TempDir dir;
    const std::vector<Edge> edges = random_edges(300'000, 1'000'000);
    std::string text;
    for (const Edge& edge : edges) text += std::to_string(edge.u) + "\t" + std::to_string(edge.v) + "\n";
    CHECK(read_edges({write_file(dir / "e.tsv", text), ""}, {}, 1000) == edges);
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    std::thread writer([&] { write_file(dir / "pipe", text); });
    CHECK(read_edges({dir / "pipe", ""}, {}, 1000) == edges);
    writer.join();
  }

  TEST_CASE("text: ids of every length between plain and odd lines, against the standard library; places stay right") {
    const TempDir dir;
    std::mt19937_64 random(5);
    std::string text;
    std::uint64_t lines = 0;
    for (; text.size() < 3 * ByteSource::kBufferBytes / 2; ++lines) {
      const auto id = [&] {
        return std::to_string(std::min<std::uint64_t>(random() >> (32 + random() % 32), kMaxNodeId));
      };
      const std::uint64_t kind = random() % 16;
      if (kind == 0) text += "# comment 1 2";
      if (kind == 1) text += "  ";
      if (kind == 2) text += "0000000000007,3";
      if (kind > 2) text += id() + (kind == 3 ? ", " : kind % 2 == 0 ? "\t" : " ") + id();
      text += kind == 4 ? "\r\n" : kind == 5 ? " \n" : "\n";
    }
    std::vector<Edge> expected;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with('#')) continue;
      std::replace(line.begin(), line.end(), ',', ' ');
      std::istringstream fields(line);
      Edge edge;
      if (fields >> edge.u >> edge.v) expected.push_back(edge);
    }
    for (const std::size_t piece : {1, 1000, 100'000})
      CHECK(read_edges({write_file(dir / "e.txt", text), ""}, {}, piece) == expected);
    const std::string last = "line " + std::to_string(lines + 1) + ":";
    for (const char* bad : {"12 4294967295", "12 99999999999", "3 -4", "5 6 7", "5", "5 6.", ",5 6"})
      CHECK(error_in(dir / "e.txt", text + bad + "\n1 2\n").find(last) != std::string::npos);
  }

  TEST_CASE("text: a header of three names has to say that the first two are the ends") {
    const TempDir dir;
    const auto path = dir / "e.csv";
    EdgeOptions weighted, ignoring;
    weighted.max_weight = 9;
    ignoring.ignore_weights = true;
    for (const EdgeOptions& options : {EdgeOptions(), weighted, ignoring}) {
      const auto refused = [&](const std::string& text) {
        write_file(path, text);
        return message_of<InputError>([&] { read_edges(with_header(path), options); });
      };
      const bool takes = options.max_weight > 1;
      check_message(
          refused("session,user,item\n9,0,1\n9,1,2\n"),
          {"line 2", "'session', 'user' and 'item'", "e.csv[SOURCE,TARGET" + std::string(takes ? ",WEIGHT]" : "]")});
      check_message(refused("amount,sender,recipient\n9,0,1\n9,1,2\n"),
                    {"e.csv[sender,recipient" + std::string(takes ? ",amount]" : "]")});
      check_message(refused("session user item more\n9 0 1 4\n"), {"e.csv[SOURCE,TARGET"});
    }
    for (const char* const header : {"source,target,x", "p,q,count", "user1,user2,z", "followee,follower,text"}) {
      write_file(path, header + std::string("\n0,1,3\n1,2,4\n"));
      CHECK(read_edges(with_header(path), ignoring) == std::vector<Edge>{{0, 1}, {1, 2}});
    }
  }

  TEST_CASE("text: 0 in a column of times or kinds is no weight") {
    const TempDir dir;
    const auto path = dir / "e.csv";
    EdgeOptions ignoring;
    ignoring.ignore_weights = true;
    for (const std::string third : {"time", "type", "edge_id"}) {
      write_file(path, "source,target," + third + "\n0,1,3\n1,2,0\n");
      check_message(message_of<InputError>([&] { read_edges(with_header(path), ignoring); }),
                    {"line 3", "0 in the column '" + third + "'", "e.csv[source,target]"});
      const std::string plain = message_of<InputError>([&] { read_edges(with_header(path)); });
      check_message(plain, {"line 2", "in the column '" + third + "'", "e.csv[source,target]"});
      CHECK(plain.find("ignore-weights") == std::string::npos);
    }
    write_file(path, "source,target,strength\n0,1,3\n1,2,0\n");
    CHECK(read_edges(with_header(path), ignoring) == std::vector<Edge>{{0, 1}});
  }

  TEST_CASE("text: what is wrong is named with its line") {
    const TempDir dir;
    const auto path = dir / "e.tsv";
    const auto wrong = [&](const std::string& line, const std::vector<std::string>& parts) {
      CAPTURE(line);
      const std::string message = error_in(path, "# comment\n0 1\n" + line + "\n1 2\n", 100);
      check_message(message, {"e.tsv", "line 3"});
      check_message(message, parts);
    };
    wrong("5", {"wrong column count", "1 instead of 2"});
    wrong("5 6 7", {"third number", "weight", "'5 6 7'", "by max-weight", "by weights", "by ignore-weights"});
    wrong("5,6,0.5", {"weight"});
    wrong("5 6 x", {"wrong column count", "3 instead of 2"});
    wrong("5 6 7 8", {"wrong column count", "4 instead of 2"});
    wrong("0 633 {'weight': 0.5}", {"attributes", "networkx.write_edgelist(G, path, data=False)", "ignore-weights"});
    wrong("0 633 {'weight': 0.5", {"attributes"});
    wrong("5,6,", {"wrong column count", "3 instead of 2"});
    wrong("5,,6", {"wrong column count", "3 instead of 2"});
    wrong(",6", {"''", "not a node id"});
    wrong("-5 6", {"-5", "negative"});
    wrong("5 -6", {"-6", "negative"});
    wrong("5 -99999999999999999999999", {"-99999999999999999999999", "negative"});
    wrong("5 100", {"node id 100", "100 nodes"});
    wrong("4294967295 1", {"4294967295"});
    wrong("99999999999999999999999 1", {"99999999999999999999999"});
    wrong("source target", {"'source'", "not a node id"});
    wrong("1.0 2", {"'1.0'", "not a node id"});
    wrong("123e4567-e89b-12d3-a456-426614174000 1", {"not a node id", "list"});
    wrong("+1 2", {"'+1'", "not a node id"});
    wrong("1 2x", {"'2x'", "not a node id"});
    wrong(std::string("1\0002 3", 5), {"not a node id"});
    wrong("1;2", {"'1;2' is not a node id"});
    wrong(std::string(2'000'000, '7'), {"longer than 1 MiB"});
    check_message(error_in(path, "4294967295 1\n"), {"line 1", "above 4294967294"});
    check_message(error_in(path, "0 1\n2 18446744073709551616\n"), {"line 2", "above 4294967294"});
    write_file(path, "PK\x03\x04 and so on");
    check_message(message_of<DataError>([&] { read_edges({path, ""}); }), {"e.tsv", "zip archive"});
  }

  TEST_CASE("npy: m x 2 and 2 x m, both orders, all integer types, compressed or not, by the same edges" *
            doctest::test_suite("slow")) {
    const TempDir dir;
    const std::vector<Edge> edges = random_edges(70'000, 100);
    const std::string m = std::to_string(edges.size());
    std::vector<std::int64_t> pairs;
    std::vector<std::int32_t> rows(2 * edges.size());
    for (std::size_t i = 0; i < edges.size(); ++i) {
      pairs.insert(pairs.end(), {edges[i].u, edges[i].v});
      rows[i] = static_cast<std::int32_t>(edges[i].u);
      rows[edges.size() + i] = static_cast<std::int32_t>(edges[i].v);
    }
    const std::vector<std::pair<std::string, std::string>> arrays = {
        {"m x 2", npy("<i8", "(" + m + ", 2)", pairs)},
        {"2 x m", npy("<i4", "(2, " + m + ")", rows)},
        {"m x 2 Fortran", npy("<i4", "(" + m + ", 2)", rows, true)},
        {"2 x m Fortran", npy("<i8", "(2, " + m + ")", pairs, true)}};
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    EdgeOptions options;
    options.temp_dir = dir.path();
    for (const auto& [array_name, bytes] : arrays) {
      const std::string name = array_name;  // clang cannot capture a structured binding
      CAPTURE(name);
      CHECK(read_edges({write_file(dir / "e.npy", bytes), ""}, options, 1000) == edges);
      CHECK(read_edges({write_file(dir / "e.npy.gz", gzipped(bytes)), ""}, options, 100'000) == edges);
      CHECK(read_edges({write_file(dir / "e.npy.zst", zstded(bytes)), ""}, options, 1001) == edges);
      const auto zip = write_zip(dir / "e.npz", {{"other.npy", "x"}, {"edge_index.npy", bytes}}, true);
      CHECK(read_edges({zip, "edge_index"}, options, 999) == edges);
      std::thread writer([&, &whole = bytes] { write_file(dir / "pipe", whole); });
      CHECK(read_edges({dir / "pipe", ""}, options, 1000) == edges);
      writer.join();
    }
    const std::vector<std::int64_t> four = {1, 2, 3, 4};
    const InputFile square{write_file(dir / "e.npy", npy("<i8", "(2, 2)", four)), ""};
    check_message(message_of<InputError>([&] { (void)open_edges(square); }),
                  {"e.npy", "in rows or in columns", "e.npy[0,1]", "edge_index=a"});
    CHECK(read_edges(named_input((dir / "e.npy").string() + "[0,1]")) == std::vector<Edge>{{1, 2}, {3, 4}});
    for (const char* const columns : {"[1,0]", "[0]", "[0,1,2]"})
      CHECK_THROWS_AS((void)open_edges(named_input((dir / "e.npy").string() + columns)), InputError);
    for (const std::string shape : {"(0, 2)", "(2, 0)"}) {
      CHECK(read_edges({write_file(dir / "e.npy", npy<std::int64_t>("<i8", shape, {})), ""}).empty());
    }
  }

  TEST_CASE("npy: arrays know their number of edges; where two rows are asked for, 2 x 2 is two rows, m x 2 an error") {
    const TempDir dir;
    const std::vector<std::int64_t> four = {1, 2, 3, 4};
    EdgeOptions options;
    options.two_rows = true;
    for (const bool fortran : {false, true}) {
      const InputFile file{write_file(dir / "e.npy", npy("<i8", "(2, 2)", four, fortran)), ""};
      const std::vector<Edge> rows = {{1, 3}, {2, 4}};
      const std::vector<Edge> pairs = {{1, 2}, {3, 4}};
      CHECK(read_edges(file, options) == (fortran ? pairs : rows));
      CHECK(open_edges(file, options)->count() == 2);
    }
    const InputFile zip{write_zip(dir / "e.npz", {{"edge_index.npy", npy("<i8", "(2, 2)", four)}}, true), "edge_index"};
    CHECK(read_edges(zip, options) == std::vector<Edge>{{1, 3}, {2, 4}});
    const InputFile tall{write_file(dir / "t.npy", npy("<i8", "(1, 2)", std::vector<std::int64_t>{1, 2})), ""};
    CHECK(open_edges(tall)->count() == 1);
    check_message(message_of<InputError>([&] { (void)open_edges(tall, options); }), {"t.npy", "(1, 2)", "(2, m)"});
    CHECK(!open_edges({write_file(dir / "e.txt", "0 1\n"), ""})->count());
  }

  TEST_CASE("npy: what is wrong is named with its element") {
    const TempDir dir;
    const auto path = dir / "e.npy";
    using Ids = std::vector<std::int64_t>;
    check_message(error_in(path, npy<std::int64_t>("<i8", "(3, 2)", Ids{0, 1, 2, -3, 4, 5})),
                  {"e.npy", "element [1, 1]", "-3", "negative"});
    check_message(error_in(path, npy<std::int64_t>("<i8", "(2, 3)", Ids{0, 1, 2, 3, 4, -5})),
                  {"e.npy", "element [1, 2]", "-5", "negative"});
    check_message(error_in(path, npy<std::int64_t>("<i8", "(3, 2)", Ids{0, 1, 2, 3, 4, 5}, true), 5),
                  {"e.npy", "element [2, 1]", "node id 5", "5 nodes"});
    check_message(error_in(path, npy<std::int64_t>("<i8", "(1, 2)", Ids{4294967295, 1})),
                  {"element [0, 0]", "above 4294967294"});
    check_message(error_in(path, npy<std::int64_t>("<i8", "(3, 3)", Ids(9))), {"(3, 3)", "(m, 2) or (2, m)"});
    check_message(error_in(path, npy<std::int64_t>("<i8", "(6,)", Ids(6))), {"(6,)"});
    check_message(error_in(path, npy<double>("<f8", "(1, 2)", {1, 2})), {"integers"});
    for (const std::string shape : {"(3, 2)", "(2, 3)"}) {
      const std::string whole = npy<std::int64_t>("<i8", shape, Ids{0, 1, 2, 3, 4, 5});
      for (std::size_t length = 0; length < whole.size(); ++length) {
        CAPTURE(length);
        check_message(error_in(path, whole.substr(0, length)), {"e.npy"});
      }
      check_message(error_in(path, whole + "x"), {"after the last element"});
    }
    REQUIRE(mkfifo((dir / "pipe").c_str(), 0600) == 0);
    const std::string cut = npy<std::int64_t>("<i8", "(2, 3)", Ids{0, 1, 2, 3});
    std::thread writer([&] { write_file(dir / "pipe", cut); });
    check_message(message_of<InputError>([&] { read_edges({dir / "pipe", ""}); }), {"element [1, 1]", "cut short"});
    writer.join();
  }

  TEST_CASE("Matrix Market: pattern, real, integer, general, symmetric; the number of nodes is that of the rows") {
    const TempDir dir;
    const std::vector<Edge> expected = {{0, 1}, {2, 2}, {3, 0}};
    for (const std::string kind : {"pattern general", "pattern symmetric", "real general", "integer symmetric"}) {
      const std::string value = kind[0] == 'r' ? " 1.5e-3" : kind[0] == 'i' ? " 7" : "";
      const std::string text = "%%MatrixMarket Matrix coordinate " + kind + "\n% comment\n%\n\n5 5 3\n1 2" + value +
                               "\n3\t3" + value + "\n\n4 1" + value + "\n";
      CAPTURE(text);
      const InputFile file{write_file(dir / "m.mtx", text), ""};
      EdgeOptions options;
      options.ignore_weights = !value.empty();
      CHECK(read_edges(file, options) == expected);
      CHECK(open_edges(file)->declared_nodes() == 5);
      CHECK(read_edges({write_file(dir / "m.mtx.gz", gzipped(text)), ""}, options, 1) == expected);
      if (!value.empty()) check_message(error_in(dir / "m.mtx", text), {"line 6", "weight", "by ignore-weights"});
    }
    CHECK(open_edges({write_file(dir / "e.txt", "1 2\n"), ""})->declared_nodes() == std::nullopt);
  }

  TEST_CASE("weights are errors unless they are to be ignored, and then counted; values of 1 are none") {
    const TempDir dir;
    const std::string real = "%%MatrixMarket matrix coordinate real general\n3 3 3\n1 2 1\n2 3 1.0\n";
    const std::vector<Edge> expected = {{0, 1}, {1, 2}, {2, 0}};
    EdgeOptions ignore;
    ignore.ignore_weights = true;
    for (const std::string last : {"1e0", "100", "0.001"}) {
      const InputFile file{write_file(dir / "m.mtx", real + "3 1 " + last + "\n"), ""};
      const bool one = last == "1e0";
      if (one) CHECK(read_edges(file) == expected);
      if (!one) check_message(message_of<InputError>([&] { read_edges(file); }), {"m.mtx: line 5", "weight", last});
      const auto reader = open_edges(file, ignore);
      std::vector<Edge> edges(9);
      CHECK(reader->read(edges) == 3);
      CHECK(reader->left_out().ignored == (one ? 0 : 1));
    }
    for (const std::string last : {"-1", "nan", "inf", "-inf"}) {  // no weights, and not to be ignored as such
      const InputFile file{write_file(dir / "m.mtx", real + "3 1 " + last + "\n"), ""};
      for (const EdgeOptions& options : {EdgeOptions(), ignore})
        check_message(message_of<InputError>([&] { read_edges(file, options); }), {"m.mtx: line 5", "weight " + last});
    }
    const InputFile text{write_file(dir / "e.csv", "0,1,0.5\n1,2,1.5\n# no more\n2,0,3e4\n"), ""};
    CHECK(read_edges(text, ignore) == expected);
    CHECK(read_edges(text, ignore, 1) == expected);
    check_message(message_of<InputError>([&] { read_edges(text); }), {"line 1", "weight"});
    const auto reader = open_edges(text, ignore);
    std::vector<Edge> edges(9);
    while (reader->read(edges) > 0) {
    }
    CHECK(reader->left_out().ignored == 3);
    CHECK(read_edges({write_file(dir / "p.txt", "0 1\n1 2\n2 0\n"), ""}, ignore) == expected);
    const auto wrong = [&](const std::string& bytes) {
      write_file(dir / "w.txt", bytes);
      return message_of<InputError>([&] { read_edges({dir / "w.txt", ""}, ignore); });
    };
    check_message(wrong("0 1 2\n1 2\n"), {"line 2", "2 instead of 3"});
    check_message(wrong("2 1 0.5\n1 2\n"), {"line 2", "2 instead of 3"});
    check_message(wrong("0 1\n1 2 3\n"), {"line 2", "weight"});
    check_message(wrong("0 1 x\n"), {"line 1"});
    check_message(wrong("0 1 2 3\n"), {"line 1", "4 instead of"});
  }

  TEST_CASE("METIS adjacency lists are told from edges, and edges from METIS") {
    const TempDir dir;
    const auto refused = [&](const std::string& name, const std::string& bytes, std::size_t piece = 7) {
      InputFile file{write_file(dir / name, bytes), ""};
      file.header = Header::no;  // the numbers of nodes and edges are asked about otherwise
      const std::string message = message_of<InputError>([&] { read_edges(file, {}, piece); });
      CAPTURE(bytes.substr(0, 60));
      if (!message.empty()) check_message(message, {"METIS", ".metis", name});
      return !message.empty();
    };
    const auto cycle = [](int n) {
      std::string text = std::to_string(n) + " " + std::to_string(n) + "\n";
      for (int i = 0; i < n; ++i)
        text += std::to_string((i + n - 1) % n + 1) + " " + std::to_string((i + 1) % n + 1) + "\n";
      return text;
    };
    for (const int n : {4, 5, 50, 3000}) {
      for (const std::size_t piece : {1, 7, 4000}) CHECK(refused("c.txt", cycle(n), piece));
      CHECK(refused("c.graph", cycle(n)));
    }
    CHECK(refused("t.txt", "5 3\n2 3\n1 3\n1 2\n\n\n"));  // a triangle and two nodes alone

    const auto taken = [&](const std::string& name, const std::string& bytes) { CHECK(!refused(name, bytes)); };
    taken("e.txt", "3 3\n2 3\n1 3\n1 2\n");  // three nodes and a loop: may be meant
    taken("e.txt", "0 1\n1 2\n2 0\n");
    taken("e.graph", "5 4\n1 2\n2 3\n3 4\n4 5\n");
    taken("e.txt", "4 4\n1 2\n2 3\n3 4\n4 1\n");              // all edges of a cycle, each once
    taken("e.txt", cycle(6) + "1 2\n");                       // one line more
    taken("e.txt", cycle(6).substr(0, cycle(6).size() - 4));  // one less
    taken("e.txt", "# edges\n" + cycle(6));                   // METIS knows no such comment
    taken("e.txt", "6 6\n6 2\n1 3\n2 4\n3 5\n4 6\n5 2\n");    // one id differs
    taken("e.txt", "5 3\n2 3\n\n1 3\n1 2\n\n");
    std::string star;
    for (int i = 2; i < 40; ++i) star += "40 " + std::to_string(i) + "\n";
    taken("e.txt", star);
    std::mt19937 random(3);
    for (int round = 0; round < 200; ++round) {
      std::string text = "5 5\n";
      for (int i = 0; i < 5; ++i)
        text += std::to_string(1 + random() % 5) + " " + std::to_string(1 + random() % 5) + "\n";
      if (text != cycle(5)) taken("r.txt", text);
    }
  }

  TEST_CASE("other formats are named, with the Python that converts them") {
    const TempDir dir;
    const auto named = [&](const std::string& name, const std::string& bytes, const std::vector<std::string>& parts) {
      const std::string message = error_in(dir / name, bytes);
      check_message(message, {name});
      check_message(message, parts);
    };
    named("e", "PAR1\x15\x04\x15\x10", {"Parquet", "pandas.read_parquet('", "to_csv"});
    named("e", std::string("ARROW1\0\0\xff\xff", 10), {"Arrow file", "read_feather"});
    named("e", std::string("\xff\xff\xff\xff\x10\0\0\0", 8), {"stream of Arrow", "open_stream"});
    named("e", "\x89HDF\r\n\x1a\n", {"HDF5", "h5py"});
    named("e", std::string("\x80\x04\x95\0", 4), {"pickle", "pickle.load", "networkx"});
    named("e.xml", "\xef\xbb\xbf<?xml version='1.0'?>\n<graphml xmlns=''>", {"GraphML", "networkx.read_graphml"});
    named("e.xml", "<gexf>", {"GEXF", "networkx.read_gexf"});
    named("e.xml", "<?xml?><html>", {"XML"});
    named("e.gml", "Creator \"me\"\ngraph\n[\n node [ id 0 ]", {"GML", "networkx.read_gml"});
    named("e.json", " {\"links\": []}", {"JSON", "json.load", "edges.csv"});
    named("e.txt", "\xff\xfe\x30", {"UTF-16", "byte order mark"});
    write_zip(dir / "b.npz", {{"edges.npy", ""}, {"x.npy", ""}}, false);
    check_message(message_of<InputError>([&] {
                    (void)open_edges({dir / "b.npz", ""});
                  }),
                  {"edges, x", (dir / "b.npz").string() + "[edges]"});
    write_zip(dir / "c.pt", {{"c/data.pkl", ""}, {"c/data/0", ""}}, false);
    check_message(message_of<InputError>([&] { (void)open_edges({dir / "c.pt", ""}); }), {"torch.save", "torch.load"});
  }

  TEST_CASE("a byte order mark is skipped; a header line too where somebody takes the remark, and nowhere else") {
    const TempDir dir;
    const std::vector<Edge> expected = {{0, 1}, {1, 2}};
    CHECK(read_edges({write_file(dir / "e.csv",
                                 "\xef\xbb\xbf"
                                 "0 1\n1,2\n"),
                      ""}) == expected);
    std::vector<std::string> remarks;
    InputFile file{dir / "e.csv", ""};
    file.remark = [&](const std::string& sentence) { remarks.push_back(sentence); };
    for (const std::string head :
         {"source,target\n", "# about\n\nsource target\n", "\xef\xbb\xbf\"from\",\"to\"\r\n"}) {
      remarks.clear();
      write_file(file.path, head + "0,1\n1,2\n");
      CHECK(read_edges(file, {}, 1) == expected);
      REQUIRE(remarks.size() == 1);
      check_message(remarks[0], {"e.csv", "line ", "header"});
    }
    const auto wrong = [&](const std::string& bytes) {
      write_file(file.path, bytes);
      return message_of<InputError>([&] { read_edges(file); });
    };
    check_message(wrong("a,b\nc,d\n"), {"line 2", "'c'"});
    check_message(wrong("source,target,weight\n0,1,0.5\n"), {"line 2", "weight"});
    remarks.clear();
    check_message(wrong("0,2\nsource,target\n"), {"line 2", "'source'"});
    check_message(wrong("a 1\n0 1\n"), {"line 1", "'a'"});
    check_message(wrong("-,-\n"), {"line 1"});
    check_message(wrong("nan,nan\n"), {"line 1"});
    CHECK(remarks.empty());
  }

  TEST_CASE("Matrix Market: what is wrong is named with its line") {
    const TempDir dir;
    const auto path = dir / "m.mtx";
    const std::string pattern = "%%MatrixMarket matrix coordinate pattern general\n";
    const std::string real = "%%MatrixMarket matrix coordinate real general\n";
    const auto wrong = [&](const std::string& text, const std::vector<std::string>& parts) {
      CAPTURE(text);
      const std::string message = error_in(path, text);
      check_message(message, {"m.mtx"});
      check_message(message, parts);
    };
    wrong("%%MatrixMarket matrix array real general\n2 2\n", {"line 1", "not a sparse matrix"});
    wrong("%%MatrixMarket matrix coordinate complex general\n", {"line 1", "complex"});
    wrong("%%MatrixMarket matrix coordinate real hermitian\n", {"line 1", "hermitian"});
    wrong("", {"line 1", "empty"});
    wrong("1 2\n", {"line 1", "not a sparse matrix"});
    wrong(pattern, {"line 1", "cut short"});
    wrong(pattern + "3 4 1\n1 1\n", {"line 2", "not square: 3 x 4"});
    wrong(pattern + "3 3\n", {"line 2", "rows, columns and entries"});
    wrong(pattern + "9999999999 9999999999 1\n1 2\n", {"line 2", "9999999999"});
    wrong(pattern + "3 3 2\n1 2\n", {"after line 3", "cut short", "1 of 2"});
    wrong(pattern + "3 3 1\n1 2\n2 3\n", {"line 4", "more than the declared 1"});
    wrong(pattern + "3 3 1\n0 2\n", {"line 3", "index 0", "1..3"});
    wrong(pattern + "3 3 1\n1 4\n", {"line 3", "index 4", "1..3"});
    wrong(pattern + "3 3 1\n1 -1\n", {"line 3", "'-1'"});
    wrong(pattern + "3 3 1\n1\n", {"line 3", "wrong column count"});
    wrong(pattern + "3 3 1\n1 2 3\n", {"line 3", "wrong column count"});
    wrong(real + "3 3 1\n1 2\n", {"line 3", "wrong column count"});
    wrong(real + "3 3 1\n1 2 x\n", {"line 3", "'x'", "not a number"});
    check_message(error_in(path, pattern + "5 5 1\n1 5\n", 4), {"line 3", "index 5", "1..4"});
  }

  TEST_CASE("attributes of NetworkX: none, or ignored") {
    const TempDir dir;
    EdgeOptions ignore;
    ignore.ignore_weights = true;
    const std::vector<Edge> edges{{0, 1}, {7, 2}, {1, 5}};
    CHECK(read_edges({write_file(dir / "e", "0 1 {}\n7 2 {} \n1 5\n"), ""}) == edges);
    const InputFile weighted{write_file(dir / "w", "0 1 {'weight': 0.5, 'b': {}}\n7 2 {}\n1 5\n"), ""};
    CHECK(read_edges(weighted, ignore) == edges);
    const auto reader = open_edges(weighted, ignore);
    std::vector<Edge> some(3);
    CHECK(reader->read(some) == 3);
    CHECK(reader->left_out().ignored == 1);
  }

  TEST_CASE("METIS: the neighbours of each node, with comments, weights and lines of any length") {
    const TempDir dir;
    const auto all = [&](const std::string& name, const std::string& text, bool ignore = false) {
      EdgeOptions options;
      options.ignore_weights = ignore;
      return read_edges({write_file(dir / name, text), ""}, options);
    };
    const std::vector<Edge> path{{0, 1}, {1, 0}, {1, 2}, {2, 1}, {2, 3}, {3, 2}};
    CHECK(all("a.metis", "4 3\n2\n1 3\n2 4\n3\n") == path);
    CHECK(all("a.metis", "% made by hand\n4 3 0\r\n2\r\n%\n1 3\r\n 2\t4 \n3") == path);
    CHECK(all("a.txt", "4 3\n2\n1 3\n2 4\n3\n\n\n") == path);  // told from a list of edges by the second line
    CHECK(all("w.metis", "4 3 1\n2 9\n1 9 3 7\n2 7 4 5\n3 5\n", true) == path);
    CHECK(all("w.metis", "4 3 11\n8 2 9\n8 1 9 3 7\n8 2 7 4 5\n8 3 5\n", true) == path);
    CHECK(all("w.metis", "4 3 110 2\n1 8 8 2\n1 8 8 1 3\n1 8 8 2 4\n1 8 8 3\n", true) == path);
    CHECK(all("e.metis", "5 1\n\n3\n2\n\n\n") == std::vector<Edge>{{1, 2}, {2, 1}});
    CHECK(open_edges({dir / "e.metis", ""})->declared_nodes() == 5);

    const std::size_t leaves = 400'000;  // the hub's line is longer than any buffer
    std::string star = std::to_string(leaves + 1) + " " + std::to_string(leaves) + "\n";
    for (std::size_t i = 0; i < leaves; ++i) star += std::to_string(i + 2) + " ";
    star += "\n";
    for (std::size_t i = 0; i < leaves; ++i) star += "1\n";
    const std::vector<Edge> edges = read_edges({write_file(dir / "s.metis.gz", gzipped(star)), ""}, {}, 1000);
    REQUIRE(edges.size() == 2 * leaves);
    CHECK(edges[leaves - 1] == Edge{0, static_cast<NodeId>(leaves)});
    CHECK(edges.back() == Edge{static_cast<NodeId>(leaves), 0});

    const auto wrong = [&](const std::string& text, const std::vector<std::string>& parts) {
      CAPTURE(text);
      const std::string message = message_of<InputError>([&] { all("b.metis", text); });
      check_message(message, {"b.metis"});
      check_message(message, parts);
    };
    wrong("", {"line 1", "empty"});
    wrong("4\n", {"line 1", "1 numbers"});
    wrong("4 3 2\n", {"line 1", "format 2"});
    wrong("4 3 1\n2 9\n", {"line 1", "weights", "ignore-weights"});
    wrong("9999999999 3\n", {"line 1", "9999999999"});
    wrong("4 3\n2\n1 5\n", {"line 3", "neighbour 5", "1..4"});
    wrong("4 3\n2\n1 0\n", {"line 3", "neighbour 0"});
    wrong("4 3\n2\n1 x3\n", {"line 3", "'x3'", "whole number"});
    wrong("4 3\n2\n1 3\n", {"after line 3", "cut short", "2 of 4"});
    wrong("4 3\n2\n1 3\n2 4\n3\n1\n", {"line 6", "more lines"});
    wrong("4 3\n2\n1 3\n2 4\n\n", {"5 neighbours", "3 edges"});
    wrong("4 3\n2\n1 3\n2 4\n99999999999999999999999999999999999999999\n", {"line 5", "whole number"});
  }

  TEST_CASE("npz: sparse matrices of SciPy and of Shchur's archives, and arrays of edges") {
    const TempDir dir;
    using Ids = std::vector<std::int64_t>;
    const std::vector<Edge> edges{{0, 1}, {0, 2}, {2, 3}};
    const auto ids = [](const Ids& values) {
      return npy("<i4", "(" + std::to_string(values.size()) + ",)",
                 std::vector<std::int32_t>(values.begin(), values.end()));
    };
    const auto ones = [](std::size_t count, double last = 1) {
      std::vector<double> values(count, 1);
      if (count > 0) values.back() = last;
      return npy("<f8", "(" + std::to_string(count) + ",)", values);
    };
    const auto csr = [&](const std::string& prefix, const Ids& offsets, const Ids& columns, double last = 1,
                         const Ids& shape = {4, 4}, const std::string& beside = "") {
      const std::string more = !beside.empty() ? beside : prefix.empty() ? "_is_array" : "labels";
      return write_zip(dir / "m.npz",
                       {{prefix + "data.npy", ones(columns.size(), last)},
                        {prefix + "indices.npy", ids(columns)},
                        {prefix + "indptr.npy", ids(offsets)},
                        {prefix + "shape.npy", ids(shape)},
                        {more + ".npy", ids({1})}},
                       true);
    };
    for (const std::string prefix : {"", "adj_"}) {
      const InputFile file{csr(prefix, {0, 2, 2, 3, 3}, {1, 2, 3}), ""};
      CHECK(read_edges(file) == edges);
      CHECK(open_edges(file)->declared_nodes() == 4);
    }
    CHECK(read_edges({csr("", {0, 0, 0, 0, 0}, {}), ""}).empty());
    EdgeOptions ignore;
    ignore.ignore_weights = true;
    CHECK(read_edges({csr("", {0, 2, 2, 3, 3}, {1, 2, 3}, 0.5), ""}, ignore) == edges);
    write_zip(
        dir / "c.npz",
        {{"row.npy", ids({0, 0, 2})}, {"col.npy", ids({1, 2, 3})}, {"data.npy", ones(3)}, {"shape.npy", ids({4, 4})}},
        false);
    CHECK(read_edges({dir / "c.npz", ""}) == edges);
    const std::string rows = npy("<i8", "(2, 2)", Ids{0, 1, 5, 6});
    CHECK(read_edges({write_zip(dir / "e.npz", {{"edge_index.npy", rows}, {"x.npy", ones(1)}}, true), ""}) ==
          std::vector<Edge>{{0, 5}, {1, 6}});
    CHECK(read_edges(named_input((dir / "e.npz").string() + "[edge_index]")) == std::vector<Edge>{{0, 5}, {1, 6}});
    CHECK(named_input("a[b]").member.empty());

    const auto wrong = [&](const std::filesystem::path& file, const std::vector<std::string>& parts) {
      check_message(message_of<InputError>([&] { read_edges({file, ""}); }), parts);
    };
    wrong(write_file(dir / "empty.npz", ""), {"empty.npz", "not an archive"});
    wrong(write_file(dir / "text.npz", "0 1\n"), {"text.npz", "not an archive"});
    wrong(csr("", {0, 2, 2, 3, 3}, {1, 2, 3}, 1, {4, 4}, "adj_data"), {"m.npz", "array adj_data", "indptr, shape"});
    wrong(csr("", {0, 2, 2, 3, 3}, {1, 2, 3}, 0.5), {"m.npz[data]", "[2]", "weight", "ignore-weights"});
    wrong(csr("", {0, 2, 2, 3, 3}, {1, 2, 4}), {"m.npz[indices]", "[2]", "4"});
    wrong(csr("", {0, 2, 2, 3, 3}, {1, 2, -1}), {"m.npz[indices]", "-1"});
    wrong(csr("", {0, 2, 1, 3, 3}, {1, 2, 3}), {"m.npz[indptr]", "[2]", "runs backwards"});
    wrong(csr("", {0, 2, 2, 9, 9}, {1, 2, 3}), {"m.npz[indptr]", "[3]", "past the last"});
    wrong(csr("", {0, 2, 2, 2, 2}, {1, 2, 3}), {"m.npz[indptr]", "[4]", "3 column indices"});
    wrong(csr("", {1, 2, 2, 3, 3}, {1, 2, 3}), {"m.npz[indptr]", "[0]", "not 0"});
    wrong(csr("", {0, 2, 3}, {1, 2, 3}), {"m.npz[indptr]", "3 row offsets", "4 rows"});
    wrong(csr("", {0, 2, 2, 3, 3}, {1, 2, 3}, 1, {4, 5}), {"m.npz[shape]", "4 x 5"});
  }
}
