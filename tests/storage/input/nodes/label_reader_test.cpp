// tests/storage/input/nodes/label_reader_test.cpp - labels and lists of ids, good and bad.
#include "storage/input/nodes/label_reader.h"

#include <doctest/doctest.h>

#include <limits>

#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

using namespace unweave;
using namespace unweave::testing;

namespace {

std::vector<std::int32_t> read_labels(const InputFile& file, std::optional<std::uint64_t> classes = {}) {
  const auto reader = open_labels(file, classes);
  std::vector<std::int32_t> labels;
  std::vector<std::int32_t> buffer(3);
  while (const std::size_t count = reader->read(buffer)) {
    labels.insert(labels.end(), buffer.begin(), buffer.begin() + static_cast<std::ptrdiff_t>(count));
  }
  if (reader->count()) CHECK(*reader->count() == labels.size());
  return labels;
}

const std::vector<std::int32_t> kLabels = {3, -1, 0, 2, 2};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("labels: any integer type, floats with NaN, [N] and [N, 1], text") {
    const TempDir dir;
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const auto path = dir / "y";
    CHECK(read_labels({write_file(path, npy<std::int32_t>("<i4", "(5,)", {3, -1, 0, 2, 2})), ""}) == kLabels);
    CHECK(read_labels({write_file(path, npy<std::int64_t>("<i8", "(5, 1)", {3, -1, 0, 2, 2})), ""}, 4) == kLabels);
    CHECK(read_labels({write_file(path, npy<std::int8_t>("|i1", "(5,)", {3, -1, 0, 2, 2})), ""}) == kLabels);
    CHECK(read_labels({write_file(path, npy<float>("<f4", "(5, 1)", {3, static_cast<float>(nan), 0, 2, 2})), ""}) ==
          kLabels);
    CHECK(read_labels({write_file(path, npy<double>("<f8", "(5,)", {3, -1, 0, 2, 2})), ""}) == kLabels);
    CHECK(read_labels({write_file(path, "# classes\n3\n-1\n 0 \r\n2\n2\n\n"), ""}) == kLabels);
    CHECK(read_labels({write_file(path, zstded("3\nnan\n0\n2\n2")), ""}) == kLabels);
    CHECK(read_labels({write_file(path, ""), ""}).empty());
    CHECK(read_labels({write_file(path, npy<std::int64_t>("<i8", "(1,)", {2147483647})), ""}).front() == 2147483647);
    const auto zip = write_zip(dir / "a.npz", {{"labels.npy", npy<std::int32_t>("<i4", "(1,)", {7})}}, true);
    CHECK(read_labels({zip, "labels"}) == std::vector<std::int32_t>{7});
  }

  TEST_CASE("labels by the names of classes, as text") {
    const TempDir dir;
    const auto path = dir / "y";
    const std::vector<std::string> names{"cat", "dog", "O'Brien, Pat", "#1", "solid state"};
    std::vector<std::string> remarks;
    const auto read = [&](const std::string& text) {
      const InputFile file{
          write_file(path, text), "", {}, [&](const std::string& sentence) { remarks.push_back(sentence); }};
      const auto reader = open_labels(file, names.size(), EmptyLine::kMistake, names);
      std::vector<std::int32_t> labels(16);
      labels.resize(reader->read(labels));
      return labels;
    };
    const std::vector<std::int32_t> all{0, 1, 2, 2, 3, 4, -1, -1};
    CHECK(read("cat\n dog \r\nO'Brien, Pat\n\"O'Brien, Pat\"\n#1\n# a comment\nsolid state\n-1\nnan\n") == all);
    CHECK(read("species\ncat\ndog\n") == std::vector<std::int32_t>{0, 1});  // no class, and nearly none
    CHECK(remarks.size() == 1);
    check_message(message_of<InputError>([&] { read("Cat\ndog\n"); }),
                  {"line 1", "'Cat' is none of the classes 'cat', 'dog'", "did you mean 'cat'?"});
    check_message(message_of<InputError>([&] { read("cat\nhorse\n"); }), {"line 2", "'horse'", "classes"});
    check_message(message_of<InputError>([&] { read("cat\n0\n"); }), {"line 2", "'0' is none of the classes"});
    const auto without = [&](const std::string& text) {
      return message_of<InputError>([&] {
        std::vector<std::int32_t> labels(16);
        const InputFile file{
            write_file(path, text), "", {}, [&](const std::string& sentence) { remarks.push_back(sentence); }};
        (void)open_labels(file)->read(labels);
      });
    };
    check_message(without("species\ncat\n\"a, b\"\n-1\ncat\n"),
                  {"line 2", "'cat' is not a label", "declare them by classes='\"a, b\",cat'",
                   "'species', was taken for a header"});
    check_message(without("0\ncat\n"), {"line 2", "-1 for none"});
    CHECK(without("0\ncat\n").find("classes=") == std::string::npos);  // where numbers are labels, words are no classes
    const std::string array = npy<std::int64_t>("<i8", "(2,)", {0, 1});
    CHECK(open_labels({write_file(path, array), ""}, 2, EmptyLine::kMistake, names)->count() == 2U);
    check_message(message_of<InputError>([&] {
                    (void)open_labels({path, ""}, 2, EmptyLine::kMistake, {"1", "2"});
                  }),
                  {"a class has the number 1 as its name", "as text"});
  }

  TEST_CASE("labels as text: whole numbers with a point, and empty lines where they are nodes without a label") {
    const TempDir dir;
    const auto path = dir / "y";
    CHECK(read_labels({write_file(path, "3.0\nNaN\n0\n2e0\n2.\n"), ""}, 4) == kLabels);
    CHECK(read_labels({write_file(path, "3\n-1.0\n0\n2\n2"), ""}) == kLabels);
    for (const std::string none : {"", "\r", " ", "\"\"", "nan", "-1", "# what\n"}) {
      CAPTURE(none);
      write_file(path, "3\n" + none + "\n0\n2\n2\n");
      const auto reader = open_labels({path, ""}, 4, EmptyLine::kUnlabelled);
      std::vector<std::int32_t> labels(9);
      labels.resize(reader->read(labels));
      CHECK(labels == kLabels);
    }
    write_file(path, "\n");
    std::vector<std::int32_t> one(9);
    CHECK(open_labels({path, ""}, 4, EmptyLine::kUnlabelled)->read(one) == 1);
    CHECK(one[0] == LabelReader::kNone);
    CHECK(open_labels({path, ""}, 4)->read(one) == 0);
  }

  TEST_CASE("labels: what is wrong is named with line or element") {
    const TempDir dir;
    const auto wrong = [&](const std::string& bytes, std::optional<std::uint64_t> classes,
                           const std::vector<std::string>& parts) {
      const auto path = write_file(dir / "y", bytes);
      const std::string message = message_of<InputError>([&] { read_labels({path, ""}, classes); });
      check_message(message, {path.string()});
      check_message(message, parts);
    };
    wrong(npy<std::int32_t>("<i4", "(3,)", {0, 1, 4}), 4, {"element [2]", "label 4", "0..3"});
    wrong(npy<std::int32_t>("<i4", "(3, 1)", {0, -2, 1}), {}, {"element [1, 0]", "label -2"});
    wrong(npy<std::int64_t>("<i8", "(1,)", {2147483648}), {}, {"element [0]", "2147483648"});
    wrong(npy<double>("<f8", "(2,)", {0, 1.5}), {}, {"element [1]", "1.5", "whole"});
    wrong(npy<double>("<f8", "(2,)", {0, 4}), 4, {"element [1]", "0..3"});
    wrong(npy<double>("<f8", "(1,)", {std::numeric_limits<double>::infinity()}), {}, {"element [0]", "inf"});
    wrong(npy<std::int32_t>("<i4", "(2, 2)", {0, 1, 2, 3}), {}, {"(2, 2)"});
    wrong(npy<std::int32_t>("<i4", "(3,)", {0, 1}), {}, {"element [2]", "cut short"});
    wrong("0\n4\n", 4, {"line 2", "label 4", "0..3"});
    wrong("0\n-2\n", {}, {"line 2", "label -2"});
    wrong("0\n99999999999999999999\n", {}, {"line 2", "99999999999999999999"});
    wrong("0\n\n1\n", {}, {"line 2", "empty line"});
    wrong("0\n1 2\n", {}, {"line 2", "wrong column count: 2"});
    wrong("0\n1,\n", {}, {"line 2", "wrong column count: 2"});
    wrong("label\n1\n", {}, {"line 1", "'label'"});
    wrong("0\n1.5\n", {}, {"line 2", "'1.5'"});
    wrong("0\n4.0\n", 4, {"line 2", "label 4.0", "0..3"});
    wrong("0\n-2.0\n", {}, {"line 2", "label -2.0"});
    wrong("0\ninf\n", {}, {"line 2", "label inf"});
    wrong("0\n1.0 2\n", {}, {"line 2", "wrong column count: 2"});
    wrong("0\n\"\"\n", {}, {"line 2", "not a label"});
  }

  TEST_CASE("ids of a split: arrays and text, in the file's order") {
    const TempDir dir;
    const std::vector<NodeId> expected = {5, 0, kMaxNodeId, 5};
    const auto path = dir / "ids";
    CHECK(read_node_ids({write_file(path, npy<std::int64_t>("<i8", "(4,)", {5, 0, kMaxNodeId, 5})), ""}) == expected);
    CHECK(read_node_ids({write_file(path, npy<std::uint32_t>("<u4", "(4, 1)", {5, 0, kMaxNodeId, 5})), ""}) ==
          expected);
    CHECK(read_node_ids({write_file(path, gzipped("# ids\n5\n\n0\n4294967294\r\n5")), ""}) == expected);
    CHECK(read_node_ids({write_file(path, ""), ""}).empty());
    // Where they have none, # and a number may be the node, too.
    for (const char* const line : {"#3", " #3", "#0007"})
      check_message(message_of<InputError>([&] {
                      write_file(path, "5\n" + std::string(line) + "\n");
                      static_cast<void>(read_node_ids({path, ""}, 9));
                    }),
                    {"line 2", "may be a node, or a comment", "the number alone", "a blank behind #"});
    CHECK(read_node_ids({write_file(path, "# 3\n5\n#\n#3 of them\n#x\n3\n"), ""}, 9) == std::vector<NodeId>{5, 3});
    // Where nodes have names, # and a number is one that has none; other lines with # are remarks.
    const ReadId by_name = [](std::string_view word) {
      return NodeWord{word == "ann" ? 0U : word == "#4" ? 4U : 9U, !word.starts_with('#')};
    };
    write_file(path, "# ids\n#4\nann\n#4 is new\n#\n#4x\n");
    CHECK(read_node_ids({path, ""}, 9, by_name) == std::vector<NodeId>{4, 0});
    for (const std::string shape : {"(6,)", "(6, 1)"}) {
      write_file(path, npy<std::uint8_t>("|b1", shape, {1, 0, 0, 1, 1, 0}));
      CHECK(read_node_ids({path, ""}, 6) == std::vector<NodeId>{0, 3, 4});
      CHECK(read_node_ids({path, ""}) == std::vector<NodeId>{0, 3, 4});
    }
    std::vector<std::string> remarks;
    const InputFile headed{path, "", {}, [&](const std::string& sentence) { remarks.push_back(sentence); }};
    write_file(path, "node\n5\n0\n");
    CHECK(read_node_ids(headed) == std::vector<NodeId>{5, 0});
    CHECK(remarks.size() == 1);
    write_file(path, "label\n1\nnan\n");
    std::vector<std::int32_t> labels(5);
    CHECK(open_labels(headed)->read(labels) == 2);
    CHECK(remarks.size() == 2);
    write_file(path, "nan\n1\n");
    CHECK(open_labels(headed)->read(labels) == 2);
    CHECK(remarks.size() == 2);
    write_file(path, "PAR1\x15\x04");
    check_message(message_of<InputError>([&] { (void)open_labels({path, ""}); }), {"Parquet", "labels.csv[COLUMN]"});
    check_message(message_of<InputError>([&] { (void)read_node_ids({path, ""}); }), {"Parquet", "ids.csv"});
    const auto wrong = [&](const std::string& bytes, const std::vector<std::string>& parts) {
      write_file(path, bytes);
      check_message(message_of<InputError>([&] { (void)read_node_ids({path, ""}, 10); }), parts);
    };
    wrong(npy<std::int64_t>("<i8", "(2,)", {1, 10}), {"element [1]", "node id 10", "10 nodes"});
    wrong(npy<std::int64_t>("<i8", "(2,)", {1, -1}), {"element [1]", "-1", "negative"});
    wrong(npy<std::uint8_t>("|b1", "(2,)", {1, 0}), {"mask of 2 nodes", "there are 10", "flatnonzero"});
    wrong(npy<std::uint8_t>("|b1", "(2, 10)", std::vector<std::uint8_t>(20)), {"(2, 10)"});
    wrong(npy<std::uint8_t>("|u1", "(2, 10)", std::vector<std::uint8_t>(20)), {"(2, 10)", "astype(bool)", "[0]"});
    wrong(npy<float>("<f4", "(2,)", {1, 0}), {"integers"});
    wrong(npy<std::uint8_t>("|u1", "(10,)", std::vector<std::uint8_t>(10, 1)), {"10 node ids", "mask.astype(bool)"});
    wrong(npy<std::int64_t>("<i8", "(3,)", {0, 1, 0}), {"3 node ids that are all 0 or 1", "mask"});
    wrong("1\n2 3\n", {"line 2", "wrong column count: 2"});
    wrong("1\n10\n", {"line 2", "node id 10"});
    wrong("1\n-4\n", {"line 2", "negative"});
    wrong("1\nx\n", {"line 2", "'x'", "not a node id"});
    // No message about whole graphs speaks of nodes.
    const auto wrong_graphs = [&](const std::string& bytes, const std::vector<std::string>& parts) {
      write_file(path, bytes);
      const std::string message = message_of<InputError>([&] {
        (void)read_node_ids({path, ""}, 10, {}, {}, {}, "graph");
      });
      check_message(message, parts);
      CHECK(message.find("node") == std::string::npos);
    };
    wrong_graphs("1\n10\n", {"line 2", "'10' is not the number of one of 10 graphs", "graphs count from 0"});
    wrong_graphs("1\nx\n", {"line 2", "'x' is not the number of one of 10 graphs"});
    wrong_graphs("1\n0\n1\n", {"3 graph ids that are all 0 or 1", "each graph once"});
    wrong_graphs("True\nFalse\n", {"a mask of 2 graphs, but there are 10", "one boolean a graph"});
    wrong_graphs("1\ntrain\n", {"give the graphs of this split alone"});
    wrong_graphs(npy<std::int64_t>("<i8", "(2,)", {1, 10}),
                 {"element [1]", "10 is not the number of one of 10 graphs"});
    wrong_graphs(npy<std::uint8_t>("|b1", "(2,)", {1, 0}), {"mask of 2 graphs", "there are 10"});
    wrong_graphs(npy<float>("<f4", "(2,)", {1, 0}), {"integers"});
  }
}
