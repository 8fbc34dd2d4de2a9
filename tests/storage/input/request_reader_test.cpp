// tests/storage/input/request_reader_test.cpp - lines of requests that set something: their one form, and what is no request.
#include "storage/input/request_reader.h"

#include <doctest/doctest.h>

#include <string>

#include "storage/io/error.h"
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
    };
    for (const auto& one : forms) {
      const auto& [line, form] = one;
      CAPTURE(one.first);
      CHECK(form_of(line) == form);
      CHECK(form_of(form) == form);
    }
  }

  TEST_CASE("what is no request is refused with its line and the forms there are") {
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
    CHECK_THROWS_WITH_AS(reader.next(request),
                         doctest::Contains("r.txt: line 4: not a request: 'move-split 3 val'; write `edge U V`"),
                         InputError);
  }
}

}  // namespace unweave
