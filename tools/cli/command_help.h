// tools/cli/command_help.h - what a command says of itself, as data: manual pages and completions
// of shells are made of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace unweave {

struct OptionHelp {
  std::string name;           ///< without the dashes
  std::string value;          ///< how the help names the value; empty: it takes none
  std::string default_value;  ///< empty: none
  std::string meaning;
  bool repeatable = false;
  std::vector<std::string> choices;  ///< the words that it takes, where these are fixed
};

struct CommandHelp {
  std::string command, summary, description;
  std::vector<std::string> positionals;  ///< a name in brackets may be left out
  std::vector<std::string>
      first_choices;  ///< the words that the first positional argument takes, where these are fixed
  std::vector<OptionHelp> options;
  std::vector<OptionHelp> unlisted;  ///< read, but described by another command
  std::vector<OptionHelp> common;    ///< those of every command
  std::string example;
};

struct ExitCode {
  std::string_view code, meaning;
};

inline constexpr ExitCode kExitCodes[] = {
    {"0", "done"},
    {"1", "wrong usage, also of a store that is not propagated or has no model yet"},
    {"2", "bad or unreadable data"},
    {"3", "out of memory, disk or other resources, or a bug"},
    {"4", "a check did not hold"},
    {"130", "ended by Ctrl-C; 143: by SIGTERM"},
};

}  // namespace unweave
