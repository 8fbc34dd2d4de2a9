// tests/tools/service/request_body_test.cpp - lines of calls, of both forms, and escapes in paths.
#include "tools/service/request_body.h"

#include <doctest/doctest.h>

#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace unweave {
namespace {

using Lines = std::vector<std::string>;

Lines text_lines(std::string_view body) {
  Lines lines;
  read_text_lines(body, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

/// Nothing where the body has another form.
std::optional<Lines> json_lines(std::string_view body) {
  Lines lines;
  const bool right = read_json_lines(body, "requests", [&](std::string_view line) { lines.emplace_back(line); });
  return right ? std::optional(lines) : std::nullopt;
}

TEST_SUITE("unit") {
  TEST_CASE("lines of a text") {
    CHECK(text_lines("").empty());
    CHECK(text_lines("\n\r\n  \n# remark\n \t# another").empty());
    CHECK(text_lines("node 1\r\n\nedge 1 2\nnode 3") == Lines{"node 1", "edge 1 2", "node 3"});
    CHECK(text_lines(std::string_view("\xff\0x\n", 4)) == Lines{std::string("\xff\0x", 3)});
  }

  TEST_CASE("lines of an object are read from one form alone") {
    CHECK(json_lines(R"({"requests": []})") == Lines{});
    CHECK(json_lines(R"( {"requests" : ["node 1", "édge \"x\" \\", "# n"]} )") ==
          Lines{"node 1", "édge \"x\" \\", "# n"});
    for (const char* body : {"",
                             "null",
                             "{}",
                             "[]",
                             R"(["node 1"])",
                             R"("node 1")",
                             R"({"requests": "node 1"})",
                             R"({"requests": null})",
                             R"({"requests": {"a": "node 1"}})",
                             R"({"requests": ["node 1", 5]})",
                             R"({"requests": [["node 1"]]})",
                             R"({"requests": [{"requests": []}]})",
                             R"({"requests": ["node 1"], "requests": ["node 2"]})",
                             R"({"requests": ["node 1"], "other": 1})",
                             R"({"other": 1, "requests": ["node 1"]})",
                             R"({"requests": ["node 1"]} x)",
                             R"({"requests": ["node 1"]}{})",
                             R"({"requests": ["node 1"})",
                             R"({"requests": ["node 1)",
                             "{\"requests\": [\"node \xff\"]}",
                             R"({"requests": ["\ud800"]})",
                             "[[[[[[",
                             "{\"requests\":[1e999]}"})
      CHECK_MESSAGE(!json_lines(body), body);
    CHECK(!json_lines(std::string(1'000'000, '[')));
    // A byte of zero ends nothing: what follows it would be dropped.
    for (const char* rest : {"", "{\"requests\": [\"node 2\"]}"})
      CHECK(!json_lines(std::string("{\"requests\": [\"node 1\"]}") + '\0' + rest));
    CHECK(!json_lines(std::string("{\"requests\": [\"node 1") + '\0' + "\"]}"));
  }

  TEST_CASE("what throws while a line is used comes out of the reading") {
    const auto refuse = [](std::string_view) { throw std::length_error("enough"); };
    CHECK_THROWS_AS(read_text_lines("node 1", refuse), std::length_error);
    CHECK_THROWS_AS(static_cast<void>(read_json_lines(R"({"requests": ["node 1"]})", "requests", refuse)),
                    std::length_error);
  }

  TEST_CASE("escapes of paths are exact") {
    CHECK(percent_decoded("") == "");
    CHECK(percent_decoded("a+b%2Fc%2f%25%20%C3%a9") == "a+b/c/% \xC3\xA9");
    CHECK(percent_decoded("%00%ff") == std::string("\0\xff", 2));
    for (const char* text : {"%", "%4", "a%", "%zz", "%-1", "%+1", "% 1", "%1g", "%%41"})
      CHECK_MESSAGE(!percent_decoded(text), text);
  }

  TEST_CASE("members of forms, in which a plus is a blank") {
    CHECK(form_member("find=a+b%2Bc%26d", "find") == "a b+c&d");
    CHECK(form_member("x=1&find=&find=2", "find") == "");
    CHECK(form_member("find", "find") == "");
    for (const char* form : {"", "&&", "finder=1", "=find", "x=find=1", "FIND=1", "find=%", "find=%4", "find=%zz"})
      CHECK_MESSAGE(!form_member(form, "find"), form);
  }
}

}  // namespace
}  // namespace unweave
