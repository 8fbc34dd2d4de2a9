// tools/main.cpp - the only place that knows argv and the process's own streams.
#include <fcntl.h>
#include <malloc.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <ostream>
#include <streambuf>
#include <string>
#include <vector>

#include "engine/ranks/join.h"
#include "storage/io/error.h"
#include "tools/cli/command.h"
#include "tools/cli/descriptor_output.h"
#include "tools/commands/commands.h"

namespace {

/// glibc lets the size from which a block is mapped alone grow with the blocks that are freed; then
/// large buffers come from the heap, whose holes stay resident, and --memory would bound what we
/// hold but not what the process takes.
constexpr int kMappedBlockBytes = 1 << 20;

/// A standard stream that the caller has closed must not become the next file of a store to be
/// opened: reads find an end there, writes an error.
void hold_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(stream, F_GETFD) < 0 && errno == EBADF && ::open("/dev/null", O_RDONLY) != stream) std::_Exit(3);
}

/// A stream writes to other bytes while one lives.
class Redirected {
 public:
  Redirected(std::ostream& stream, std::streambuf& bytes) : stream_(stream), before_(stream.rdbuf(&bytes)) {}
  ~Redirected() { stream_.rdbuf(before_); }
  Redirected(const Redirected&) = delete;
  Redirected& operator=(const Redirected&) = delete;

 private:
  std::ostream& stream_;
  std::streambuf* before_;
};

}  // namespace

int main(int argc, char** argv) {
  hold_standard_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of file sizes is an error of the write like any other
  mallopt(M_MMAP_THRESHOLD, kMappedBlockBytes);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  std::unique_ptr<unweave::Ranks> job;
  try {
    if (unweave::shares_work(unweave::all_commands(), words)) job = unweave::join_ranks();
  } catch (const unweave::UsageError& error) {
    std::cerr << "unweave: " << error.what() << '\n';
    return 1;
  } catch (const std::exception& error) {
    std::cerr << "unweave: " << unweave::plain(error.what()) << '\n';
    return 3;
  }
  unweave::Ranks::set_world(job.get());
  std::ostream silence(nullptr);
  unweave::DescriptorOutput out(STDOUT_FILENO), error(STDERR_FILENO);
  const Redirected out_now(std::cout, out), error_now(std::cerr, error);
  if (isatty(STDOUT_FILENO) != 0) std::cout << std::unitbuf;  // somebody watches
  const bool speaks = job == nullptr || job->first();
  const int code = unweave::run_program(
      unweave::all_commands(), words,
      {speaks ? std::cout : silence, std::cerr, speaks && isatty(STDERR_FILENO) != 0,
       speaks && isatty(STDOUT_FILENO) != 0, "unweave", speaks ? STDOUT_FILENO : -1, STDERR_FILENO});
  unweave::Ranks::set_world(nullptr);
  return code;
}
