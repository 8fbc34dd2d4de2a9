// tools/commands/local_option.h - copies of the lists on this machine, as --local asks for them.
#pragma once

#include <memory>
#include <string>

#include "tools/cli/command.h"
#include "unweave/ranks.h"

namespace unweave {

inline void add_local_option(CommandLine& line) {
  line.options().add_options()(
      "local", po::value<std::string>()->value_name("DIR"),
      "read lists from copies in this folder, made once on each machine and gone at the end; for "
      "a store on storage that is far");
}

/// The copies of the lists of the store that the first argument names; they have to outlive
/// whatever opens it.
[[nodiscard]] inline std::unique_ptr<const LocalLists> local_lists(const CommandLine& line) {
  if (!line.has("local")) return nullptr;
  return std::make_unique<const LocalLists>(line.positional(0), line.get<std::string>("local"));
}

}  // namespace unweave
