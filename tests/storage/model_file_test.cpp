// tests/storage/model_file_test.cpp - models and certificates at rest: round trips, and damage of every byte.
#include "storage/model_file.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "storage/error.h"
#include "storage/line_log.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::TempDir;

std::string bytes_of(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void put(const std::filesystem::path& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

const ModelFile kModel{R"({"solver":"x"})", {{1, -0.0, 1e-300, std::numeric_limits<double>::infinity()}, {}, {0.1}}};

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a model comes back bit for bit, and a second one replaces it") {
    const TempDir dir;
    const auto path = dir / "models" / "x.model";
    write_model_file(path, kModel);
    const ModelFile back = read_model_file(path);
    CHECK(back.text == kModel.text);
    CHECK(back.arrays == kModel.arrays);
    CHECK(std::signbit(back.arrays[0][1]));
    put(dir / "models" / "x.model.new", "what a killed writer left");
    write_model_file(path, {"", {}});
    CHECK(read_model_file(path).text.empty());
    CHECK(read_model_file(path).arrays.empty());
    CHECK_FALSE(std::filesystem::exists(dir / "models" / "x.model.new"));
  }

  TEST_CASE("a model cut short at any byte, longer, or with any bit flipped is refused by name") {
    const TempDir dir;
    const auto path = dir / "models" / "x.model";
    write_model_file(path, kModel);
    const std::string bytes = bytes_of(path);
    const auto refused = [&](const std::string& wrong) {
      put(path, wrong);
      try {
        static_cast<void>(read_model_file(path));
      } catch (const FormatError& error) {
        return std::string(error.what()).find("x.model: byte ") != std::string::npos ||
               std::string(error.what()).find("x.model") != std::string::npos;
      }
      return false;
    };
    for (std::size_t length = 0; length < bytes.size(); ++length) CHECK(refused(bytes.substr(0, length)));
    CHECK(refused(bytes + '\0'));
    for (std::size_t i = 0; i < bytes.size(); ++i)
      for (int bit = 0; bit < 8; ++bit) {
        std::string wrong = bytes;
        wrong[i] = static_cast<char>(wrong[i] ^ (1 << bit));
        CHECK(refused(wrong));
      }
    put(path, bytes);
    CHECK(read_model_file(path).arrays == kModel.arrays);
    CHECK_THROWS_AS(static_cast<void>(read_model_file(dir / "none.model")), DataError);
  }

  TEST_CASE("a log of lines keeps whole lines and cuts off a torn one") {
    const TempDir dir;
    const auto path = dir / "certificates" / "x.jsonl";
    CHECK_FALSE(last_line(path).has_value());
    append_line(path, "one");
    CHECK(last_line(path) == "one");
    const std::string longer(100000, 'z');
    append_line(path, longer);
    append_line(path, "three");
    CHECK(last_line(path) == "three");
    put(path, bytes_of(path) + "torn");
    CHECK(last_line(path) == "three");
    append_line(path, "four");
    CHECK(bytes_of(path) == "one\n" + longer + "\nthree\nfour\n");
    put(path, "one\n" + longer + "\n");
    CHECK(last_line(path) == longer);
    put(path, "torn");
    CHECK_FALSE(last_line(path).has_value());
    append_line(path, "");
    CHECK(last_line(path) == "");
    CHECK(bytes_of(path) == "\n");
    for (int turn = 0; turn < 2; ++turn) append_line(path, "last");
    CHECK(bytes_of(path) == "\nlast\n");
    put(path, "last\ntorn");
    const AppendedLine unsynced(path, "last");
    unsynced.sync();
    append_line(path, "next");
    CHECK(bytes_of(path) == "last\nnext\n");
  }
}

}  // namespace unweave
