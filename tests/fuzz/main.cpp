// tests/fuzz/main.cpp - libFuzzer's entry points, or a main that replays the corpus.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "fuzz/target.h"
#include "storage/io/error.h"

namespace unweave::fuzz {
namespace {

/// Removed at the end, unless the process dies.
struct Folder {
  std::filesystem::path path;

  Folder() {
    std::string name = (access("/dev/shm", W_OK) == 0 ? "/dev/shm" : "/tmp") + std::string("/unweave-fuzz-XXXXXX");
    if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    path = name;
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
};

/// False where the bytes were refused.
bool run(const Target& target, std::string_view bytes) {
  try {
    target.run(bytes);
    return true;
  } catch (const DataError&) {
    return false;
  }
}

const Target* find(std::string_view name) {
  for (const Target& target : targets())
    if (target.name == name) return &target;
  return nullptr;
}

}  // namespace

const std::filesystem::path& scratch() {
  static const Folder folder;
  return folder.path;
}

std::filesystem::path put_file(const std::string& name, std::string_view bytes) {
  std::filesystem::path path = scratch() / name;
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return path;
}

}  // namespace unweave::fuzz

using namespace unweave::fuzz;

#ifdef UNWEAVE_LIBFUZZER

static const Target* chosen = nullptr;

extern "C" int LLVMFuzzerInitialize(int* count, char*** words) {
  constexpr std::string_view kOption = "--target=";
  for (int i = 1; i < *count; ++i) {
    const std::string_view word = (*words)[i];
    if (word.substr(0, kOption.size()) == kOption) chosen = find(word.substr(kOption.size()));
  }
  if (chosen != nullptr) return 0;
  std::fputs("name one of these with --target=NAME:", stderr);
  for (const Target& target : targets()) std::fprintf(stderr, " %s", target.name);
  std::fputs("\n", stderr);
  std::exit(1);
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  run(*chosen, {reinterpret_cast<const char*>(data), size});
  return 0;
}

#else

/// Files named on the command line go to the target of their folder's name; otherwise the whole
/// corpus of the group.
int main(int count, char** words) {
  namespace fs = std::filesystem;
  std::size_t files = 0, taken = 0;
  const auto replay = [&](const fs::path& file) {
    const Target* const target = find(file.parent_path().filename().string());
    if (target == nullptr) throw std::runtime_error(file.string() + ": its folder is no target");
    std::ifstream in(file, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    std::fprintf(stderr, "%s\n", file.c_str());  // the last line before a crash
    taken += run(*target, bytes) ? 1 : 0;
    ++files;
  };
  if (count > 1) {
    for (int i = 1; i < count; ++i) replay(fs::absolute(words[i]));
    return 0;
  }
  for (const Target& target : targets()) {
    const std::size_t before = taken;
    const fs::path folder = fs::path(UNWEAVE_SOURCE_DIR) / "tests" / "fuzz" / "corpus" / target.name;
    for (const auto& item : fs::directory_iterator(folder)) replay(item.path());
    // Inputs of an old format would all be refused at the door, and a parser that refuses
    // everything not be noticed.
    if (taken == before) throw std::runtime_error(folder.string() + ": no input that its parser takes");
  }
  std::printf("%zu inputs, %zu of them taken\n", files, taken);
}

#endif
