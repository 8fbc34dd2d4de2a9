// tests/storage/io/shell_word_test.cpp - words that a shell reads as the text that they were made
// of.
#include "storage/io/shell_word.h"

#include <doctest/doctest.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>

namespace unweave {
namespace {

/// What a shell makes of one word.
std::string read_by_shell(const std::string& word) {
  std::FILE* const shell = ::popen(("printf %s " + word).c_str(), "r");
  REQUIRE(shell != nullptr);
  std::string text;
  for (int byte = std::fgetc(shell); byte != EOF; byte = std::fgetc(shell)) text += static_cast<char>(byte);
  const int status = ::pclose(shell);
  CHECK((WIFEXITED(status) && WEXITSTATUS(status) == 0));
  return text;
}

TEST_SUITE("unit") {
  TEST_CASE("a usual path is as it was") {
    for (const std::string text : {"s", "/tmp/a-b_c/demo.store", "../x,y+z=1:2@3%4"}) CHECK(shell_word(text) == text);
  }

  TEST_CASE("all else is between quotes, and a shell reads the same text") {
    CHECK(shell_word("/tmp/x; touch PWNED #") == "'/tmp/x; touch PWNED #'");
    CHECK(shell_word("it's") == "'it'\\''s'");
    CHECK(shell_word("") == "''");
    std::string all;
    for (int byte = 1; byte < 256; ++byte) all += static_cast<char>(byte);
    for (const std::string& text :
         {std::string("/tmp/x; touch PWNED #"), std::string("$(touch PWNED)"), std::string("`touch PWNED`"),
          std::string("a b\tc"), std::string("'''"), std::string("~"), std::string("*"), std::string("!!"),
          std::string("a\\"), std::string("x\n"), all}) {
      CAPTURE(text);
      CHECK(read_by_shell(shell_word(text)) == text);
    }
  }

  TEST_CASE("no word begins with a hyphen, which would make it an option") {
    CHECK(shell_word("-rf") == "./-rf");
    CHECK(shell_word("--json x") == "'./--json x'");
  }
}

}  // namespace
}  // namespace unweave
