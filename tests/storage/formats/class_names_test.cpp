// tests/storage/formats/class_names_test.cpp - names of classes: which there may be, lists of them,
// and files of labels that have them.
#include "storage/formats/class_names.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "storage/formats/node_file.h"
#include "storage/io/error.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;
using Names = std::vector<std::string>;

/// A file of three labels with any bytes behind them.
FileEntry forge(const std::filesystem::path& store, const std::string& behind, std::uint64_t told) {
  SealedWriter writer({store, "labels", "labels", "labels", "labels"});
  writer.append_values(std::span<const std::int32_t>(std::vector<std::int32_t>{0, -1, 1}));
  writer.append_values(std::span<const char>(behind));
  return writer.finish({3, told});
}

TEST_SUITE("unit") {
  TEST_CASE("a list of names is read as it is written, with commas and quotes in them") {
    for (const Names& names :
         {Names{"cat", "dog"}, Names{"O'Brien, Pat", "\"x\"", "a\"b", "a b", "#1"}, Names{"a,b"}, Names{"ä", "猫"}})
      CHECK(read_class_list(class_list(names)) == names);
    CHECK(class_list({"cat", "a,\"b\""}) == "cat,\"a,\"\"b\"\"\"");
    CHECK(read_class_list("a,,b") == Names{"a", "", "b"});
    for (const char* const wrong : {"\"a", "\"a\"b,c", "a,\"b"}) CHECK_FALSE(read_class_list(wrong).has_value());
    CHECK(class_word({"cat", "dog"}) == "cat,dog");
    CHECK(class_word({"O'Brien, Pat", "b"}) == "'\"O'\\''Brien, Pat\",b'");
  }

  TEST_CASE("what is no name of a class is told") {
    CHECK(class_names_fault({"cat", "a b", "O'Brien, Pat", "0", "None"}).empty());
    CHECK(class_names_fault({"cat", "dog", "cat"}) == "two classes have the name 'cat'");
    for (const std::string& wrong : {std::string(), std::string(" a"), std::string("a "), std::string("a\tb"),
                                     std::string("a\nb"), std::string("\xFF"), std::string("-1"), std::string("nan"),
                                     std::string("NaN"), std::string("none"), std::string(256, 'a')}) {
      CAPTURE(wrong);
      CHECK_FALSE(class_names_fault({"cat", wrong}).empty());
    }
    CHECK_FALSE(class_names_fault(Names(kMostClassNames + 1, "a")).empty());
    CHECK(is_number_name("12"));
    CHECK(is_number_name("-3"));
    CHECK_FALSE(is_number_name("1.5"));
    CHECK_FALSE(is_number_name("-"));
    CHECK(class_text({"cat"}, 0) == "cat");
    CHECK(class_text({}, 7) == "7");
  }

  TEST_CASE("labels with names, and without as before") {
    const TempDir dir;
    const std::vector<std::int32_t> labels{0, -1, 1};
    const Names names{"cat", "O'Brien, Pat"};
    const FileEntry with = write_named_labels(dir.path(), labels, names);
    CHECK(read_labels(dir.path(), with, 3, 2) == labels);
    CHECK(read_class_names(dir.path(), with, 3, 2) == names);
    const FileEntry without = write_named_labels(dir.path(), labels, {});
    CHECK(without == write_labels(dir.path(), labels));
    CHECK(read_class_names(dir.path(), without, 3, 2).empty());
    CHECK_THROWS_AS(static_cast<void>(read_class_names(dir.path(), with, 3, 3)), FormatError);
    CHECK_THROWS_AS(static_cast<void>(read_labels(dir.path(), with, 4, 2)), FormatError);
    const std::pair<std::string, std::uint64_t> forged[] = {
        {"cat", 3},         {"cat,dog", 6},   {"cat,dog", 0}, {"cat,dog", 8},      {"cat,cat", 7},
        {"cat,\"dog\"", 9}, {"cat,\"dog", 8}, {"cat,", 4},    {"cat,dog,eel", 11}, {"cat,dog", ~std::uint64_t{0}}};
    for (const auto& one : forged) {  // clang cannot capture a structured binding
      CAPTURE(one.first);
      CHECK_THROWS_AS(static_cast<void>(read_labels(dir.path(), forge(dir.path(), one.first, one.second), 3, 2)),
                      FormatError);
    }
  }
}

}  // namespace
}  // namespace unweave
