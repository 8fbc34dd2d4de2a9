// tests/tools/cli/standard_input_test.cpp - what comes from standard input is called that, not "-".
#include <doctest/doctest.h>

#include <iostream>
#include <sstream>
#include <string>

#include "support/program.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave {
namespace {

using testing::Result;

/// Runs the words with this text on standard input.
Result run_with(const std::string& text, const std::vector<std::string>& words) {
  std::istringstream typed(text);
  std::streambuf* const before = std::cin.rdbuf(typed.rdbuf());
  Result result = testing::run(words);
  std::cin.rdbuf(before);
  std::cin.clear();
  return result;
}

}  // namespace

TEST_SUITE("unit") {
  TEST_CASE("a request from standard input that is refused") {
    const testing::TempDir dir;
    const std::string store = (dir / "s").string();
    testing::write_store(store, testing::path_of_three());
    const Result strict = run_with("edge 0 1\nedge 1 1\n", {"stream", store, "--requests", "-", "--strict"});
    CHECK(strict.code == 2);
    CHECK(strict.error.starts_with("unweave: standard input: line 2: edge 1 1: self-loop; --strict refuses "));
    const Result malformed = run_with("edge 0\n", {"stream", store, "--requests", "-"});
    CHECK(malformed.code == 2);
    CHECK(malformed.error.starts_with("unweave: standard input: line 1: "));
  }
}

}  // namespace unweave
