// engine/resources/residency.cpp - maps ranges of files and asks the system which of their pages
// are there.
#include "engine/resources/residency.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>

#include "storage/io/entry.h"
#include "storage/io/file.h"

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
    if (const std::optional<EntryStatus> status = try_status_of(file); status && status->kind == EntryKind::file)
      all += (status->bytes + kWindowBytes - 1) / kWindowBytes;
    ends.push_back(all);
  }
  const std::uint64_t taken = std::min<std::uint64_t>(all, windows);
  PageCount count;
  File file;
  std::size_t open = files.size();
  for (std::uint64_t i = 0; i < taken; ++i) {
    const std::uint64_t at = (2 * i + 1) * all / (2 * taken);  // the middle one of each of so many equal parts
    const auto index = static_cast<std::size_t>(std::upper_bound(ends.begin(), ends.end(), at) - ends.begin());
    if (index != open) {
      file = File::try_open_stored(files[index]);
      open = index;
    }
    if (!file.is_open()) continue;
    const std::uint64_t first = (at - (index == 0 ? 0 : ends[index - 1])) * kWindowBytes;
    const std::uint64_t last = std::min(first + kWindowBytes, file.size());
    if (first < last) count_pages(file.descriptor(), first, last, count);
  }
  return count.seen == 0 ? 1 : static_cast<double>(count.resident) / static_cast<double>(count.seen);
}

double resident_share(const std::filesystem::path& store, std::span<const FileEntry> files, std::size_t windows) {
  std::vector<std::filesystem::path> paths;
  paths.reserve(files.size());
  for (const FileEntry& entry : files) paths.push_back(store / entry.path);
  return resident_share(paths, windows);
}

}  // namespace unweave
