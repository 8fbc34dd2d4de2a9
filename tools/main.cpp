// tools/main.cpp - the only place that knows argv and the process's own streams.
#include <fcntl.h>
#include <malloc.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "tools/cli/command.h"
#include "tools/commands/commands.h"

namespace {

/// glibc lets the size from which a block is mapped alone grow with the blocks that are freed; then large buffers come
/// from the heap, whose holes stay resident, and --memory would bound what we hold but not what the process takes.
constexpr int kMappedBlockBytes = 1 << 20;

/// A standard stream that the caller has closed must not become the next file of a store to be opened: reads find an end
/// there, writes an error.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) != stream) std::_Exit(3);
}

/// OpenBLAS starts a thread a core as it is loaded. They are never used, each takes address space for good, and where
/// there is none they keep the process from ending; only the environment that a process begins with keeps them away. Under
/// a loader that was called by its name the threads stay: /proc/self/exe is the loader then.
void begin_without_idle_threads(char** argv) {
  constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";
  if (::getauxval(AT_BASE) == 0) return;
  if (const char* const given = std::getenv(kThreads); given != nullptr && std::string_view(given) == "1") return;
  std::error_code unknown;
  const std::string program = std::filesystem::read_symlink("/proc/self/exe", unknown).string();
  if (unknown || ::setenv(kThreads, "1", 1) != 0) return;
  ::execv(program.c_str(), argv);  // returns where it fails: then the threads are there
}

}  // namespace

int main(int argc, char** argv) {
  begin_without_idle_threads(argv);
  hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of the write like any other
  mallopt(M_MMAP_THRESHOLD, kMappedBlockBytes);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return unweave::run_program(unweave::all_commands(), words,
                              {std::cout, std::cerr, isatty(STDERR_FILENO) != 0, isatty(STDOUT_FILENO) != 0});
}
