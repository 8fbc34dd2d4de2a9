// tests/support/program.h - one command of the program within the test's own process: what it returns and prints.
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

/// Runs the words after the program's name; standard error is no terminal.
inline Result run(const std::vector<std::string>& words, std::span<const Command> commands = all_commands()) {
  std::ostringstream out, error;
  const int code = run_program(commands, words, {out, error, false});
  return {code, out.str(), error.str()};
}

}  // namespace unweave::testing
