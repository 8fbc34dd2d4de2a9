// tests/storage/input/request_reader_test.cpp - lines of requests that set something: their one
// form, and what is no request.
#include "storage/input/request_reader.h"

#include <doctest/doctest.h>

#include <iostream>
#include <sstream>
#include <string>

#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

std::string form_of(const std::string& line) {
  const std::optional<Request> request = parse_request(line);
  return request ? text_of(*request) : "";
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a value has one text, from which the same request is read") {
    const std::pair<const char*, const char*> forms[] = {
        {"set-feature 3 0.50 1e0 -0 +2", ""},
        {"set-feature 3 0.50 1e0 -0 2", "set-feature 3 0.5 1 -0 2"},
        {"set-feature\t3,0.1,0.30000000000000004", "set-feature 3 0.1 0.30000000000000004"},
        {"set-feature 3 9:1e-3 0:5", "set-feature 3 0:5 9:0.001"},
        {"  set-feature 18446744073709551615 1  ", "set-feature 18446744073709551615 1"},
        {"set-label 7 004", "set-label 7 4"},
        {"set-label 7 none", "set-label 7 none"},
        {"move-split 7, valid", "move-split 7 valid"},
        {"set-feature 3, 1, 2, id=t-1", "set-feature 3 1 2 id=t-1"},
        {"set-feature 3 4:1 id=4:2", "set-feature 3 4:1 id=4:2"},
        {"set-label 7 none id=none", "set-label 7 none id=none"},
        {"move-split 7 test id=a", "move-split 7 test id=a"},
        {"edge 1 2", "edge 1 2"},
        {"node 1", "node 1"},
        {"graph 3 expires 2027-01-31 id=g", "graph 3 expires 2027-01-31T00:00:00.000Z id=g"},
        {"graph 3, expires, never", "graph 3 expires never"},
    };
    for (const auto& one : forms) {
      const auto& [line, form] = one;
      CAPTURE(one.first);
      CHECK(form_of(line) == form);
      CHECK(form_of(form) == form);
    }
  }

  TEST_CASE("what is no request is refused with its line, its fault and the form of its kind") {
    for (const char* line : {"set-feature 3",
                             "set-feature 3 x",
                             "set-feature 3 nan",
                             "set-feature 3 inf",
                             "set-feature 3 1e999",
                             "set-feature 3 0:1 2",
                             "set-feature 3 1 0:2",
                             "set-feature 3 0:1 0:2",
                             "set-feature 3 -1:2",
                             "set-feature 3 :2",
                             "set-feature 3 1:",
                             "set-feature 3 1:2:3",
                             "set-feature 3 id=a",
                             "set-feature 3 1 id=a 2",
                             "set-feature 3 1 id=",
                             "set-label 3 id=a",
                             "set-label 3 1 id=a b",
                             "set-feature -3 1",
                             "set-label 3",
                             "set-label 3 -1",
                             "set-label 3 none 1",
                             "set-label 3 1.5",
                             "set-label 3 99999999999999999999",
                             "move-split 3",
                             "move-split 3 val",
                             "move-split 3 train test",
                             "Set-label 3 1",
                             "node 3 1"}) {
      CAPTURE(line);
      CHECK_FALSE(parse_request(line).has_value());
    }
    const testing::TempDir dir;
    RequestReader reader(testing::write_file(dir / "r.txt", "# first\n\nset-label 3 1\nmove-split 3 val\n"));
    Request request;
    REQUIRE(reader.next(request));
    CHECK(request == Request{RequestKind::set_label, 3, 0, "", "1"});
    CHECK_THROWS_WITH_AS(
        reader.next(request),
        doctest::Contains("r.txt: line 4: not a request: 'move-split 3 val': 'val' is no split (did you mean "
                          "'valid'?); write `move-split U S`"),
        InputError);
  }

  TEST_CASE("the word that is wrong is named, and how a request of its kind is written") {
    struct {
      std::string_view line, what, remedy;
    } const cases[] = {
        {"nodee 1", "there is no request 'nodee' (did you mean 'node'?)", "begins with edge, node, feature"},
        {"NODE 1", "there is no request 'NODE' (did you mean 'node'?)", "lower case"},
        {"1 2", "there is no request '1'", "begins with edge"},
        {"node", "the node is missing", "or never), where U is a whole number"},
        {"node 1 expire 2030-01-01", "'expire' is a word too many (did you mean 'expires'?)", "`node U expires T`"},
        {"feature 1 expires soon", "'soon' is no moment", "`feature U expires T`"},
        {"graph 1 expires soon", "'soon' is no moment", "`graph G expires T`"},
        {"graph 1 expire 2030-01-01", "'expire' is a word too many (did you mean 'expires'?)", "`graph G expires T`"},
        {"graph 1 expired 2030-01-01", "'expired' is a word too many (did you mean 'expires'?)", "`graph G`"},
        {"node 1 expired 2030-01-01", "'expired' is a word too many (did you mean 'expires'?)", "`node U`"},
        {"node 1.5", "'1.5' is no node id", "write `node U`"},
        {"node -1", "'-1' is no node id", "write `node U`"},
        {"node #1.5", "'#1.5' is no node id", "write `node U`"},
        {"node #", "'#' is no node id", "write `node U`"},
        {"node 1 2", "'2' is a word too many", "write `node U`"},
        {"edge 1", "the second node is missing", "write `edge U V`"},
        {"edge 1 b", "'b' is no node id", "where U and V are whole numbers"},
        {"edge 1 2 expire 2030-01-01", "'expire' is a word too many (did you mean 'expires'?)", "`edge U V expires T`"},
        {"edge 1 2 expires", "the moment is missing", "or never"},
        {"edge 1 2 expires soon", "'soon' is no moment", "2027-01-31"},
        {"edge 1 2 id=", "'id=' is no id: 1 to 128 bytes behind `id=`", "`edge U V`"},
        {"edge 1 2 id=a\xFF", "'id=a\\xFF' is no id: it is not UTF-8, at byte 1", "`edge U V`"},
        {"node 1 id=\xC2\x9B"
         "2J",
         "'id=\\xC2\\x9B2J' is no id: it has a control character, at byte 0", "`node U`"},
        {"node 1 id=\xE2\x80\xAE", "'id=\\xE2\\x80\\xAE' is no id: it has a character that changes", "`node U`"},
        {"set-label 1 0 id=\xEF\xBB\xBF", "'id=\\xEF\\xBB\\xBF' is no id: it has a byte order mark", "`set-label U C`"},
        {"edge 1 2 id=a b", "'b' stands behind the id, which ends a line", "`id=`"},
        {"set-feature 3", "the values are missing", "`set-feature U V1 .. VF`"},
        {"set-feature 3 1 x", "'x' is no finite number, nor a pair column:value", "`set-feature U C:V ..`"},
        {"set-feature 3 0:1 2", "'2' is a value behind pairs", "write `set-feature"},
        {"set-feature 3 1 0:2", "'0:2' is a pair column:value behind values", "write `set-feature"},
        {"set-feature 3 0:1 0:2", "'0:2' has a column that was there already", "write `set-feature"},
        {"insert-node 3 -1:2", "'-1:2' has no column before the colon", "`insert-node U V1 .. VF`"},
        {"set-label 3", "the class is missing", "`set-label U C`"},
        {"set-label 3 x", "'x' is no class", "a class 0, 1, 2, .., or none"},
        {"move-split 3 training", "'training' is no split", "train, valid, test or none"},
    };
    for (const auto& one : cases) {
      CAPTURE(one.line);
      RequestFault fault;
      CHECK_FALSE(parse_request(one.line, {}, &fault).has_value());
      CHECK(fault.what.starts_with(one.what));
      CHECK(fault.remedy.find(one.remedy) != std::string::npos);
      CHECK(text_of(fault, one.line) == "not a request: '" + printable(one.line) + "': " + fault.what);
    }
    RequestFault fault;
    CHECK_FALSE(parse_request("node", {[](std::string_view) { return NodeWord(); }, nullptr}, &fault).has_value());
    CHECK(fault.what == "the node is missing");
    CHECK(parse_request("edge #3 4 id=a") == parse_request("edge 3 4 id=a"));  // a number as stores of names have it
  }

  TEST_CASE("where edges have relations, a request of one is shown with its relation") {
    RequestWords words;
    words.relations = {"writes", "cites"};
    for (const auto& [line, form] : std::vector<std::pair<std::string, std::string>>{
             {"edge 1 2", "write `edge U V R` or `edge U V R expires T`"},
             {"insert-edge 1 2 wrote", "write `insert-edge U V R`, or `insert-edge U V R weight W`"},
             {"set-weight 1 2 3", "write `set-weight U V R W`"}}) {
      RequestFault fault;
      CHECK_FALSE(parse_request(line, words, &fault));
      CAPTURE(fault.remedy);
      CHECK(fault.remedy.starts_with(form));
      CHECK(fault.remedy.find("R is writes or cites") != std::string::npos);
    }
    RequestFault fault;
    CHECK_FALSE(parse_request("node x", words, &fault));
    CHECK(fault.remedy.find(" R") == std::string::npos);
  }

  TEST_CASE("standard input may begin with a byte order mark, as files may") {
    std::istringstream input("\xef\xbb\xbfnode 7\r\nnode 8\n");
    std::streambuf* const own = std::cin.rdbuf(input.rdbuf());
    RequestReader reader("-");
    Request request{};
    CHECK(reader.next(request));
    CHECK(request.u == 7);
    CHECK(reader.next(request));
    CHECK(request.u == 8);
    CHECK_FALSE(reader.next(request));
    std::cin.rdbuf(own);
  }

  TEST_CASE("a class is asked for by its name, and by its number where that can be no name") {
    const auto value_of = [](const std::vector<std::string>& names, std::string_view class_word) {
      const RequestWords words{{}, std::make_shared<const ClassWords>(names)};
      RequestFault fault;
      const std::optional<Request> request =
          parse_request("set-label 3 " + std::string(class_word) + " id=a", words, &fault);
      return request ? request->value : fault.what;
    };
    const std::vector<std::string> words{"cat", "big \"dog\", brown"}, numbers{"7", "0", "other"};
    CHECK(value_of(words, "cat") == "0");
    CHECK(value_of(words, "\"cat\"") == "0");
    CHECK(value_of(words, "\"big \"\"dog\"\", brown\"") == "1");
    CHECK(value_of(words, "1") == "1");
    CHECK(value_of(words, "none") == "none");
    CHECK(value_of(words, "cow") == "'cow' is none of the classes 'cat', 'big \"dog\", brown'");
    CHECK(value_of(words, "Cat").ends_with(" (did you mean 'cat'?)"));
    CHECK(value_of(words, "\"1\"").starts_with("'\"1\"' is none of the classes"));
    // A number may be a name there, which the store tells (number-or-name); in quotes it is one,
    // behind # it is none.
    CHECK(value_of(numbers, "0") == "0");
    CHECK(value_of(numbers, "\"0\"") == "#1");
    CHECK(value_of(numbers, "#0") == "#0");
    CHECK(value_of(numbers, "other") == "#2");
    CHECK(value_of({}, "cat") == "'cat' is no class");
  }
}

}  // namespace unweave
