// tests/support/process.cpp - starts the program, waits for it and collects what it printed.
#include "support/process.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/input_files.h"
#include "support/temp_dir.h"

namespace unweave::testing {
namespace {

/// A variable of the program's environment; without a name none.
struct Variable {
  const char* name = nullptr;
  std::string value;
};

/// With a variable the program has the library that reads it, too.
pid_t start(const std::vector<std::string>& words, const std::filesystem::path& output,
            const std::filesystem::path& error, unsigned seconds = 0, const Variable& variable = {}) {
  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child > 0) return child;
  const int out = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  const int err = open(error.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  std::vector<char*> argv;
  std::string program = UNWEAVE_BINARY;
  argv.push_back(program.data());
  std::vector<std::string> copies = words;
  for (std::string& word : copies) argv.push_back(word.data());
  argv.push_back(nullptr);
  if (variable.name != nullptr) {
    setenv("LD_PRELOAD", UNWEAVE_STOP_AT_CALL, 1);
    setenv(variable.name, variable.value.c_str(), 1);
  }
  alarm(seconds);  // which execv() keeps
  execv(program.c_str(), argv.data());
  _exit(127);
}

}  // namespace

pid_t start_program(const std::vector<std::string>& words, const std::filesystem::path& output) {
  return start(words, output, "/dev/null");
}

int wait_for(pid_t process) {
  int status = 0;
  waitpid(process, &status, 0);
  return WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
}

int run_stopped(const std::vector<std::string>& words, const Stop& stop, const std::filesystem::path& output) {
  const std::string place = std::to_string(stop.calls == FileCalls::reads ? 1 : 0) + " " + std::to_string(stop.call);
  return wait_for(start(words, output, "/dev/null", 0, {"UNWEAVE_STOP_AT", std::to_string(stop.signal) + " " + place}));
}

long calls_of(const std::vector<std::string>& words, FileCalls calls) {
  const TempDir folder;
  REQUIRE(wait_for(start(words, "/dev/null", "/dev/null", 0, {"UNWEAVE_COUNT_CALLS", folder / "calls"})) == 0);
  std::ifstream file(folder / "calls");
  long changes = 0, reads = 0;
  REQUIRE((file >> changes >> reads));
  return calls == FileCalls::reads ? reads : changes;
}

Finished run_process(const std::vector<std::string>& words, unsigned seconds) {
  const TempDir folder;
  const int code = wait_for(start(words, folder / "out", folder / "error", seconds));
  return {code, read_all(folder / "out"), read_all(folder / "error")};
}

std::string must(const std::vector<std::string>& words) {
  const Finished done = run_process(words);
  REQUIRE_MESSAGE(done.code == 0, words[0] << ": " << done.error);
  return done.out;
}

nlohmann::json info_of(const std::filesystem::path& store) {
  return nlohmann::json::parse(must({"info", store.string(), "--json"}));
}

}  // namespace unweave::testing
