// tools/main.cpp - the only place that knows argv and the process's own streams.
#include <malloc.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <vector>

#include "tools/command.h"
#include "tools/commands.h"

namespace {

/// glibc lets the size from which a block is mapped alone grow with the blocks that are freed; then large buffers come
/// from the heap, whose holes stay resident, and --memory would bound what we hold but not what the process takes.
constexpr int kMappedBlockBytes = 1 << 20;

}  // namespace

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, kMappedBlockBytes);
  const std::vector<std::string> words(argv + (argc > 0 ? 1 : 0), argv + argc);
  return unweave::run_program(unweave::all_commands(), words, {std::cout, std::cerr, isatty(STDERR_FILENO) != 0});
}
