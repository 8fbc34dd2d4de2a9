// tests/tools/cli/report_json_test.cpp - every kind of value that a field of a report may have, as
// JSON.
#include "tools/cli/report_json.h"

#include <doctest/doctest.h>

#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage/io/json_text.h"
#include "storage/io/message.h"

namespace unweave {
namespace {

struct PartReport {
  int count = 0;
};
template <class Visit>
void describe(const PartReport& report, Visit&& field) {
  field("count", report.count);
}

struct WholeReport {
  std::optional<double> ratio;
  std::vector<PartReport> parts;
};
template <class Visit>
void describe(const WholeReport& report, const std::string& name, Visit&& field) {
  field("name", name);
  field("ratio", report.ratio);
  field("parts", report.parts);
  if (report.parts.empty()) field("empty", true);
}

template <class Value>
std::string text_of_value(const Value& value) {
  return text_of_json(json_value(value));
}

TEST_SUITE("unit") {
  TEST_CASE("what is not there, and numbers that are not finite, are null") {
    CHECK(text_of_value(std::optional<int>()) == "null");
    CHECK(text_of_value(std::optional(3)) == "3");
    CHECK(text_of_value(std::numeric_limits<double>::quiet_NaN()) == "null");
    CHECK(text_of_value(std::optional(std::numeric_limits<double>::infinity())) == "null");
    CHECK(text_of_value(std::vector{0.5, std::numeric_limits<double>::quiet_NaN()}) == "[0.5,null]");
    CHECK(text_of_value(only_if(false, 3)) == "null");
    CHECK(text_of_value(only_if(true, 3)) == "3");
  }

  TEST_CASE("texts are texts, messages have the options of the command line") {
    CHECK(text_of_value("all") == "\"all\"");
    CHECK(text_of_value(std::string_view("x")) == "\"x\"");
    const std::vector<std::string> messages{"raise " + option("memory")};
    CHECK(text_of_value(message_texts(messages)) == "[\"raise --memory\"]");
    CHECK(text_of_value(true) == "true");
  }

  TEST_CASE("lists, pairs and values by name") {
    CHECK(text_of_value(std::vector<std::string>()) == "[]");
    CHECK(text_of_value(std::vector<std::pair<int, int>>{{1, 2}, {3, 4}}) == "[[1,2],[3,4]]");
    CHECK(text_of_value(std::map<std::string, double>{{"b", 1}, {"a", 2}}) == "{\"a\":2.0,\"b\":1.0}");
    CHECK(text_of_value(std::vector<std::pair<std::string, int>>{{"b", 1}, {"a", 2}}) == "{\"b\":1,\"a\":2}");
    CHECK(text_of_value(std::vector<std::pair<std::string, int>>()) == "{}");
  }

  TEST_CASE("reports are objects in the order of their fields, with what is told beside them") {
    CHECK(text_of_json(json_fields(WholeReport{}, std::string("x"))) ==
          "{\"name\":\"x\",\"ratio\":null,\"parts\":[],\"empty\":true}");
    CHECK(text_of_json(json_fields(WholeReport{0.5, {{1}, {2}}}, std::string("y"))) ==
          "{\"name\":\"y\",\"ratio\":0.5,\"parts\":[{\"count\":1},{\"count\":2}]}");
    nlohmann::ordered_json json{{"first", 1}};
    add_fields(json, PartReport{7});
    CHECK(text_of_json(json) == "{\"first\":1,\"count\":7}");
    CHECK(text_of_value(Nested{[](auto&& field) { field("inner", Nested{[](auto&& last) { last("x", 1); }}); }}) ==
          "{\"inner\":{\"x\":1}}");
  }
}

}  // namespace
}  // namespace unweave
