// engine/resources/residency.cpp - maps ranges of files and asks the system which of their pages are there.
#include "engine/resources/residency.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

namespace unweave {
namespace {

constexpr std::uint64_t kWindowBytes = std::uint64_t{256} << 10;

struct PageCount {
  std::uint64_t seen = 0, resident = 0;
};

/// Counts the pages of bytes [first, last) of an open file; `first` begins a page.
void count_pages(int descriptor, std::uint64_t first, std::uint64_t last, PageCount& count) {
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  const std::uint64_t bytes = last - first;
  void* const map = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, static_cast<off_t>(first));
  if (map == MAP_FAILED) return;
  std::vector<unsigned char> pages((bytes + page - 1) / page);
  if (::mincore(map, bytes, pages.data()) == 0) {
    count.seen += pages.size();
    for (const unsigned char one : pages) count.resident += one & 1U;
  }
  ::munmap(map, bytes);
}

}  // namespace

double resident_share(std::span<const std::filesystem::path> files, std::size_t windows) {
  std::vector<std::uint64_t> ends;  // where each file ends when all lie one after another, in windows
  std::uint64_t all = 0;
  for (const std::filesystem::path& file : files) {
    struct stat status {};
    if (::stat(file.c_str(), &status) == 0 && S_ISREG(status.st_mode))
      all += (static_cast<std::uint64_t>(status.st_size) + kWindowBytes - 1) / kWindowBytes;
    ends.push_back(all);
  }
  const std::uint64_t taken = std::min<std::uint64_t>(all, windows);
  PageCount count;
  int descriptor = -1;
  std::size_t open = files.size();
  for (std::uint64_t i = 0; i < taken; ++i) {
    const std::uint64_t at = (2 * i + 1) * all / (2 * taken);  // the middle one of each of so many equal parts
    const auto file = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    if (file != open) {
      if (descriptor >= 0) ::close(descriptor);
      descriptor = ::open(files[file].c_str(), O_RDONLY | O_CLOEXEC);
      open = file;
    }
    struct stat status {};
    if (descriptor < 0 || ::fstat(descriptor, &status) != 0) continue;
    const std::uint64_t first = (at - (file == 0 ? 0 : ends[file - 1])) * kWindowBytes;
    const std::uint64_t last = std::min(first + kWindowBytes, static_cast<std::uint64_t>(status.st_size));
    if (first < last) count_pages(descriptor, first, last, count);
  }
  if (descriptor >= 0) ::close(descriptor);
  return count.seen == 0 ? 1 : static_cast<double>(count.resident) / static_cast<double>(count.seen);
}

double resident_share(const std::filesystem::path& store, std::span<const FileEntry> files, std::size_t windows) {
  std::vector<std::filesystem::path> paths;
  paths.reserve(files.size());
  for (const FileEntry& entry : files) paths.push_back(store / entry.path);
  return resident_share(paths, windows);
}

}  // namespace unweave
