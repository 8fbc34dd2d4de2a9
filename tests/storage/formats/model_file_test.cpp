// tests/storage/formats/model_file_test.cpp - models and certificates at rest: round trips, and
// damage of every byte.
#include "storage/formats/model_file.h"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>

#include "storage/io/error.h"
#include "storage/io/line_log.h"
#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::read_all;
using testing::TempDir;
using testing::write_file;

const ModelFile kModel{R"({"solver":"x"})", {{1, -0.0, 1e-300, std::numeric_limits<double>::infinity()}, {}, {0.1}}};

}  // namespace

void append_line(const std::filesystem::path& path, std::string_view line) {
  AppendedLine(path, line, Readers::all).sync();
}

TEST_SUITE("unit") {
  TEST_CASE("a model comes back bit for bit, and a second one replaces it") {
    const TempDir dir;
    const auto path = dir / "models" / "x.model";
    write_model_file(path, kModel);
    const ModelFile back = read_model_file(path);
    CHECK(back.text == kModel.text);
    CHECK(back.arrays == kModel.arrays);
    CHECK(std::signbit(back.arrays[0][1]));
    write_file(dir / "models" / "x.model.new", "what a killed writer left");
    write_model_file(path, {"", {}});
    CHECK(read_model_file(path).text.empty());
    CHECK(read_model_file(path).arrays.empty());
    CHECK_FALSE(std::filesystem::exists(dir / "models" / "x.model.new"));
  }

  TEST_CASE("a model cut short at any byte, longer, or with any bit flipped is refused by name") {
    const TempDir dir;
    const auto path = dir / "models" / "x.model";
    write_model_file(path, kModel);
    const std::string bytes = read_all(path);
    const auto refused = [&](const std::string& wrong) {
      write_file(path, wrong);
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
    write_file(path, bytes);
    CHECK(read_model_file(path).arrays == kModel.arrays);
    CHECK_THROWS_AS(static_cast<void>(read_model_file(dir / "none.model")), DataError);
  }

  TEST_CASE("a log of lines keeps whole lines and cuts off a torn one") {
    const TempDir dir;
    const auto path = dir / "certificates" / "x.jsonl";
    append_line(path, "one");
    CHECK(read_all(path) == "one\n");
    const std::string longer(100000, 'z');
    append_line(path, longer);
    const std::string whole = "one\n" + longer + "\n";
    CHECK(read_all(path) == whole);
    const std::string zeros(1200, '\0');  // a whole sector at least
    for (const std::string& tail :
         {std::string(), std::string("torn"), zeros, "to" + zeros + "rn\n", zeros + "\n", "torn" + zeros}) {
      write_file(path, whole + tail);
      std::size_t lines = 0;
      const LogEnd end = read_lines(path, [&](std::string_view, std::uint64_t) { ++lines; });
      CHECK(lines == 2);
      CHECK(end.bytes == whole.size());
      CHECK(end.tail == tail.size());
      append_line(path, longer);  // it is the last one
      CHECK(read_all(path) == whole);
      write_file(path, whole + tail);
      append_line(path, "three");
      CHECK(read_all(path) == whole + "three\n");
    }
    write_file(path, whole + "z" + std::string(1, '\0') + "z\n");  // no sector is missing: this was damaged later
    CHECK(read_lines(path, [](std::string_view, std::uint64_t) {}).tail == 0);
    for (const std::string& torn : {std::string("torn"), zeros + "\n", "a" + zeros + "b\n"}) {
      write_file(path, torn);
      append_line(path, "");
      CHECK(read_all(path) == "\n");
    }
  }
}

}  // namespace unweave
