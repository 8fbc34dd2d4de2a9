// engine/resources/temporary_folder.cpp - makes a folder, and starts the child process that removes
// it if this one dies.
#include "engine/resources/temporary_folder.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <system_error>

#include "storage/io/entry.h"

namespace unweave {

std::filesystem::path temporary_path() {
  std::error_code missing;
  std::filesystem::path folder = std::filesystem::temp_directory_path(missing);
  if (!missing) return folder;
  for (const char* const variable : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"})  // in the order of the standard library
    if (const char* const named = std::getenv(variable); named != nullptr && *named != '\0') return named;
  return "/tmp";
}

TemporaryFolder::TemporaryFolder(const std::filesystem::path& in, const std::string& prefix) {
  path_ = make_unique_folder(resolved(in), prefix);
  watch();
}

TemporaryFolder::~TemporaryFolder() {
  drop_tree(path_);
  if (watcher_ < 0) return;
  ::close(alive_);
  int status = 0;
  while (::waitpid(watcher_, &status, 0) < 0 && errno == EINTR) continue;
}

/// Without a watcher, where the system has none to give, only a process that is killed leaves its
/// folder.
void TemporaryFolder::watch() noexcept {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t files;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&files);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&files, ends[0], STDIN_FILENO);
  for (const int output : {STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&files, output, "/dev/null", O_WRONLY, 0);
  // A group of its own: what the terminal sends to this process's group does not reach it.
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  std::string shell = "sh", command = "-c", script = R"(read -r _; rm -rf -- "$1")", folder = path_.string();
  const std::array<char*, 6> words{shell.data(), command.data(), script.data(), shell.data(), folder.data(), nullptr};
  std::array<char*, 1> no_environment{nullptr};
  if (::posix_spawn(&watcher_, "/bin/sh", &files, &attributes, words.data(), no_environment.data()) == 0) {
    alive_ = ends[1];
  } else {
    watcher_ = -1;
    ::close(ends[1]);
  }
  ::close(ends[0]);
  ::posix_spawn_file_actions_destroy(&files);
  ::posix_spawnattr_destroy(&attributes);
}

}  // namespace unweave
