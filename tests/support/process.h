// tests/support/process.h - the real program in a process of its own.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace unweave::testing {

/// Starts the program with standard output going to a file and standard error to nowhere. Returns
/// its process id.
pid_t start_program(const std::vector<std::string>& words, const std::filesystem::path& output);

/// Waits for the end and returns the exit code, or minus the signal that killed it.
int wait_for(pid_t process);

/// The program's calls that change files, or those that read at a place of one
/// (support/stop_at_call.cpp).
enum class FileCalls { changes, reads };

/// A signal that comes before one of these calls, by its number from 1.
struct Stop {
  int signal = 0;
  long call = 0;
  FileCalls calls = FileCalls::changes;
};

/// Runs the program until the signal, or to its end where that comes first, as start_program() and
/// wait_for() do. A program that goes on for ten seconds after the signal dies of an alarm.
int run_stopped(const std::vector<std::string>& words, const Stop& stop, const std::filesystem::path& output);

/// How many of these calls a command makes that must go well.
long calls_of(const std::vector<std::string>& words, FileCalls calls = FileCalls::changes);

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
