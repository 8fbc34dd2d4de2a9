// tests/support/process.h - the real program in a process of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace unweave::testing {

/// Starts the program with standard output going to a file and standard error to nowhere. Returns its process id.
pid_t start_program(const std::vector<std::string>& words, const std::filesystem::path& output);

/// Waits for the end and returns the exit code, or minus the signal that killed it.
int wait_for(pid_t process);

struct Finished {
  int code = 0;
  std::string out;
  std::string error;
};

/// Runs the program to its end. `seconds`: after so long an alarm ends it; 0: never.
Finished run_process(const std::vector<std::string>& words, unsigned seconds = 0);

/// Runs a command that a test needs to go well, and returns its output.
std::string must(const std::vector<std::string>& words);

/// What `info --json` says of a store.
nlohmann::json info_of(const std::filesystem::path& store);

}  // namespace unweave::testing
