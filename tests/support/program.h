// tests/support/program.h - one command of the program within the test's own process: what it
// returns and prints.
#pragma once

#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include "tools/commands/commands.h"

namespace unweave::testing {

struct Result {
  int code = -1;
  std::string out, error;

  /// The objects that it printed, one a line.
  [[nodiscard]] std::vector<nlohmann::json> lines() const {
    std::vector<nlohmann::json> all;
    std::istringstream in(out);
    for (std::string line; std::getline(in, line);) all.push_back(nlohmann::json::parse(line));
    return all;
  }
  /// The only one.
  [[nodiscard]] nlohmann::json json() const {
    const auto all = lines();
    REQUIRE(all.size() == 1);
    return all.front();
  }
};

/// Whether a text that is printed has a mark of a message (storage/io/message.h) in it, as such, as
/// JSON has it or as printable().
inline bool has_marks(const std::string& text) {
  if (text.starts_with("\x93NUMPY")) return false;
  const auto has = [&](const std::string& mark) { return text.find(mark) != std::string::npos; };
  for (char mark = 1; mark <= 5; ++mark)
    for (const std::string before : {"", "\\u000", "\\x0"})
      if (has(before + (before.empty() ? mark : static_cast<char>('0' + mark)))) return true;
  return false;
}

/// Runs the words after the program's name; standard error is no terminal. Fails the test where the
/// command prints a mark.
inline Result run(const std::vector<std::string>& words, std::span<const Command> commands = all_commands()) {
  std::ostringstream out, error;
  const int code = run_program(commands, words, {out, error, false});
  CHECK_FALSE_MESSAGE(has_marks(out.str()), out.str());
  CHECK_FALSE_MESSAGE(has_marks(error.str()), error.str());
  return {code, out.str(), error.str()};
}

/// run() of a command that the test needs to go well.
inline Result run_well(const std::vector<std::string>& words) {
  Result result = run(words);
  REQUIRE_MESSAGE(result.code == 0, words[0] << ": " << result.error);
  return result;
}

}  // namespace unweave::testing
