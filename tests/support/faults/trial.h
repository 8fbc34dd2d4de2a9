// tests/support/faults/trial.h - work that fails at each of its calls, or loses its power after
// each of its changes.
//
// Work runs in a child process, which a fault may leave in any state, and recovery in another. A
// program that uses this must not work on a store in its own process: a child has none of its
// parent's threads.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "support/faults/calls.h"
#include "support/faults/disk.h"
#include "support/temp_dir.h"

namespace unweave::testing {

/// How a child ended.
struct Ending {
  int code = 0;                       ///< exit code as of a command, or minus the signal that killed it
  std::string text;                   ///< what the work returned, or the error's message
  long calls = 0;                     ///< calls of the fault's set
  std::vector<Operation> operations;  ///< in the folder that was watched
};
using Work = std::function<std::string()>;

/// Runs the work in a child with one thread, which a minute and a half may take.
Ending run_in_child(const Work& work);
/// Runs the work in a child with calls below `folder` watched.
Ending run_in_child(const Work& work, const std::filesystem::path& folder, const Fault& fault);

/// Runs a command of the program; what it prints is acknowledged line by line. Throws its error.
std::string command(const std::vector<std::string>& words);

/// What is tried. All return what is wrong, or nothing.
struct Scenario {
  std::string name;
  /// Changes what lies in a folder.
  std::function<std::string(const std::filesystem::path& folder)> work;
  /// Looks at the folder after a fault, knowing what was acknowledged before it, and goes on with
  /// the work.
  std::function<std::string(const std::filesystem::path& folder, const std::vector<std::string>& acknowledged)> check;
  /// Opens what a process left that was killed or failed, and acknowledges what it finds there.
  std::function<std::string(const std::filesystem::path& folder)> reopen;
};

/// What was tried.
struct Tried {
  long points = 0;  ///< calls at which a fault was made
  long states = 0;  ///< contents of disks that were opened and checked
  long failed = 0;  ///< faults of which the work knew
  long ended = 0;   ///< faults that ended the process within a library that cannot go on without memory
};

/// Contents of the disk when the power is cut before each change, and after the last: all of it
/// written, nothing that was not synced, names or bytes alone, and `seeds` at random. The contents
/// are also made for a process that is killed at that point, where the power is cut after another
/// process has opened what it left. Equal contents are checked once.
Tried cut_power(const Tree& before, const Scenario& scenario, int seeds);

/// The n-th call of the fault's set fails, for all n from 1 on; what is left is checked as the
/// process leaves it, after a power cut, and after a power cut when another process has opened it.
Tried fail_calls(const Tree& before, const Scenario& scenario, Fault fault);

/// The first allocation of each place fails, or those of `most` of the places, evenly chosen; what
/// is left is checked as the process leaves it.
Tried fail_allocations(const Tree& before, const Scenario& scenario, std::size_t most);

}  // namespace unweave::testing
