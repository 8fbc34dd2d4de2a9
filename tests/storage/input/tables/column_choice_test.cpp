// tests/storage/input/tables/column_choice_test.cpp - columns of tables by name and by place,
// tables in parts, words in quotes.
#include "storage/input/tables/column_choice.h"

#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "storage/input/edges/edge_reader.h"
#include "storage/input/features/feature_reader.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using testing::check_message;
using testing::message_of;
using testing::TempDir;
using testing::write_file;

std::string text_of(const InputFile& file) {
  ByteSource source(file);
  std::string text;
  for (std::string_view some = source.peek(1); !some.empty(); some = source.peek(1)) {
    text += some;
    source.consume(some.size());
  }
  return text;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a file's columns are named behind it, in brackets") {
    const TempDir dir;
    const std::string csv = (dir / "e.csv").string(), npz = (dir / "x.npz").string();
    CHECK(named_input(csv).columns.empty());
    CHECK(named_input(csv + "[src,dst]").columns == "src,dst");
    CHECK(named_input(csv + "[src,dst]").path == csv);
    CHECK(named_input(csv + "[\"a[1]\"]").columns == "\"a[1]\"");
    CHECK(named_input(npz + "[attr]").member == "attr");
    CHECK(named_input(npz + "[attr]").columns.empty());
    CHECK(named_input(npz + "[attr][1:]").member == "attr");
    CHECK(named_input(npz + "[attr][1:]").columns == "1:");
    const std::string odd = (dir / "odd[1]").string();
    write_file(odd, "0 1\n");
    CHECK(named_input(odd).path == odd);  // a file of that name is there
    const std::vector<std::string> header{"id", "name", "7", "x"};
    using Places = std::vector<std::size_t>;
    CHECK(ColumnChoice("x,name").among(header) == Places{3, 1});
    CHECK(ColumnChoice("1:3").among(4) == Places{1, 2});
    CHECK(ColumnChoice(" 2: ").among(4) == Places{2, 3});
    CHECK(ColumnChoice(":1,3").among(4) == Places{0, 3});
    CHECK(ColumnChoice("\"7\"").among(header) == Places{2});
    CHECK(ColumnChoice("id,1:").among(header) == Places{0, 1, 2, 3});
    for (const char* const bad : {"", ",", "a,", "2:1", "1:x", "\"a", "\"\""})
      if (*bad != '\0') CHECK_THROWS_AS(ColumnChoice(std::string_view(bad)), UsageError);
    CHECK_THROWS_AS((void)ColumnChoice("4").among(4), UsageError);
    CHECK_THROWS_AS((void)ColumnChoice("2:9").among(4), UsageError);
    check_message(message_of<UsageError>([&] { (void)ColumnChoice("who").among(header); }),
                  {"'who'", "id, name, 7, x"});
    check_message(message_of<UsageError>([&] {
                    (void)ColumnChoice("id,1").among(std::vector<std::string>{"id", "x", "1"});
                  }),
                  {"may be a place", "the name of column 2"});
    check_message(message_of<UsageError>([&] {
                    (void)ColumnChoice("id").among(std::vector<std::string>{"id", "id"});
                  }),
                  {"two columns"});
  }

  TEST_CASE("a choice without one of its columns") {
    const auto without = [](const char* text, std::size_t column, std::size_t columns) {
      return ColumnChoice(text).without(column, columns);
    };
    CHECK(without("", 0, 3) == "[1:]");
    CHECK(without("", 1, 3) == "[0,2:]");
    CHECK(without("", 2, 5) == "[:2,3:]");
    CHECK(without("", 4, 5) == "[:4]");
    CHECK(without("a,b,c", 1, 3) == "[a,c]");
    CHECK(without("a,\"b, c\",\"7\"", 0, 3) == "[\"b, c\",\"7\"]");
    CHECK(without("1:", 0, 4) == "[2:]");
    CHECK(without("1:", 3, 4) == "[1:4]");
    CHECK(without("1:4,x,7:", 1, 6) == "[1,3,x,7:]");
    CHECK(without("1:4,x,7:", 3, 6) == "[1:4,7:]");
    CHECK(without("1:4,x,7:", 5, 6) == "[1:4,x,7]");
    CHECK(ColumnChoice("2,b,4:").first_columns(4) == std::vector<std::string>{"2", "b", "4", "5"});
    CHECK(ColumnChoice("b").first_columns(4) == std::vector<std::string>{"b"});
  }

  TEST_CASE("columns of a table come as lines of words, and places in messages are those of the table") {
    const TempDir dir;
    const auto chosen = [&](const std::string& text, const std::string& columns) {
      InputFile file{write_file(dir / "t.csv", text), {}};
      file.columns = columns;
      return text_of(file);
    };
    const std::string table = "# about\nid,name,since\n7,\"O'Brien, Pat\",2020\n\n8,ann,2021\n";
    CHECK(chosen(table, "name,id") == "\"O'Brien, Pat\",7\nann,8\n");
    CHECK(chosen(table, "1,2") == "#\nname,since\n\"O'Brien, Pat\",2020\nann,2021\n");
    CHECK(chosen("a\tb c\tx \"y\"\n", "2,1") == "\"x \"\"y\"\"\",\"b c\"\n");
    CHECK(chosen("a;b;c\n1;2;3\n", "c,a") == "3,1\n");
    CHECK(chosen("1  2 3\n4 5\t6\n", "0,2") == "1 3\n4 6\n");
    CHECK(chosen("\"0\",\"1\"\n\"1\",\"2\"\n", "0,1") == "0,1\n1,2\n");
    CHECK(chosen("a,b\n1,\n", "b") == "\"\"\n");
    check_message(message_of<InputError>([&] { chosen(table + "9\n", "name"); }), {"t.csv", "line 6", "1 columns"});
    check_message(message_of<InputError>([&] { chosen("a,b\n1,\"2\n", "b"); }), {"t.csv", "line 2", "not closed"});
    check_message(message_of<InputError>([&] { chosen(table, "nobody"); }), {"line 2", "'nobody'", "id, name, since"});
    InputFile edges{write_file(dir / "e.csv", "src,kind,dst\n0,a,1\n# no\n1,b,x\n"), {}};
    edges.columns = "src,dst";
    std::vector<Edge> some(9);
    check_message(message_of<InputError>([&] {
                    const auto reader = open_edges(edges);
                    while (reader->read(some) > 0) {
                    }
                  }),
                  {"e.csv", "line 4", "'x'"});
  }

  TEST_CASE("the parts of a table in a folder are one table, each with its header") {
    const TempDir dir;
    const fs::path parts = dir / "parts";
    fs::create_directory(parts);
    write_file(parts / "_SUCCESS", "");
    write_file(parts / ".part-0.csv.crc", "crc");
    write_file(parts / "part-0.csv", "src,dst,w\n0,1,5\n");
    write_file(parts / "part-1.csv.gz", testing::gzipped("src,dst,w\n1,2,5\n2,3,5"));
    write_file(parts / "part-2.csv", "src,dst,w\n3,x,5\n");
    InputFile folder{parts, {}};
    CHECK(text_of(folder) == "src,dst,w\n0,1,5\n1,2,5\n2,3,5\n3,x,5\n");
    folder.columns = "dst,src";
    CHECK(text_of(folder) == "1,0\n2,1\n3,2\nx,3\n");
    check_message(message_of<InputError>([&] {
                    const auto reader = open_edges(folder);
                    std::vector<Edge> some(1);
                    while (reader->read(some) > 0) {
                    }
                  }),
                  {"parts", "part-2.csv, line 2", "'x'"});
    folder.columns = "";
    folder.header = Header::yes;
    write_file(parts / "part-2.csv", "dst,src,w\n3,0,5\n");
    check_message(message_of<InputError>([&] { text_of(folder); }), {"part-2.csv", "'dst,src,w'", "'src,dst,w'"});
    fs::create_directory(parts / "more");
    check_message(message_of<InputError>([&] { text_of(folder); }), {"parts", "more", "something else than a file"});
  }

  TEST_CASE("columns of features are left out, of arrays and of sparse matrices too") {
    const TempDir dir;
    const auto rows = [&](const std::string& columns) {
      InputFile file{write_file(dir / "x.npy", testing::npy<double>("<f8", "(2, 3)", {1, 2, 3, 4, 5, 6})), {}};
      file.columns = columns;
      const auto reader = open_features(file);
      FeatureBatch batch;
      std::vector<double> values;
      while (reader->next(batch, 1)) values.insert(values.end(), batch.values.begin(), batch.values.end());
      return values;
    };
    CHECK(rows("1:") == std::vector<double>{2, 3, 5, 6});
    CHECK(rows("2,0") == std::vector<double>{3, 1, 6, 4});
    check_message(message_of<InputError>([&] { rows("3"); }), {"x.npy", "3 columns"});
    check_message(message_of<InputError>([&] { rows("age"); }), {"x.npy", "no names"});
    check_message(message_of<InputError>([&] { rows("1,1"); }), {"x.npy", "twice"});
    InputFile edges{write_file(dir / "e.npy", testing::npy<std::int64_t>("<i8", "(2, 2)", {0, 1, 1, 2})), {}};
    edges.columns = "1,0";
    check_message(message_of<InputError>([&] { static_cast<void>(open_edges(edges)); }),
                  {"e.npy", "all columns of an array of shape (m, 2)"});
  }

  TEST_CASE("words in quotes") {
    for (const char* const text : {"ann", "O'Brien, Pat", "a \"b\"", "\"", "", "x,y", "\"\"", "tab\tbed"}) {
      const std::string word = as_word(text);
      CAPTURE(word);
      CHECK(Fields(word + ",next").take() == word);
      CHECK((is_quoted(word) ? unquoted(word) : word) == text);
      CHECK(unquoted(in_quotes(text)) == text);
    }
    CHECK(as_word("ann") == "ann");
    for (const char* const open : {"\"", "\"a", "\"a\"\"", "\"a\" b"}) CHECK_FALSE(is_quoted(open));
    CHECK(is_whole_number("0"));
    CHECK(is_whole_number("10"));
    for (const char* const other : {"", "01", "-1", "+1", "1.0", "x"}) CHECK_FALSE(is_whole_number(other));
  }
}

}  // namespace unweave
