// engine/resources/memory.cpp - finds the limit of memory, counts reservations against it, and maps
// large buffers.
#include "engine/resources/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <limits>
#include <string>

#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"

namespace unweave {
namespace {

constexpr std::uint64_t kHugePage = std::uint64_t{2} << 20;
constexpr std::uint64_t kSmallPage = std::uint64_t{4} << 10;
constexpr int kCollapse = 25;  // MADV_COLLAPSE of Linux 6.1, which the headers of the C library lack
constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::uint64_t page_of(std::uint64_t bytes) {
  return bytes < kHugePage ? kSmallPage : kHugePage;
}

/// The number in a limit file; "max", an absent file and anything else mean no limit.
std::uint64_t read_limit(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::uint64_t value = 0;
  return in >> value ? value : kNoLimit;
}

/// The smallest `file` of the group `group` below `mount` and of the groups that contain it.
std::uint64_t smallest_limit(const std::filesystem::path& mount, std::filesystem::path group, const char* file) {
  std::uint64_t least = read_limit(mount / file);
  for (; group.has_relative_path(); group = group.parent_path()) {
    least = std::min(least, read_limit(mount / group.relative_path() / file));
  }
  return least;
}

}  // namespace

Reservation& Reservation::operator=(Reservation&& other) noexcept {
  if (this != &other) {
    release();
    budget_ = std::exchange(other.budget_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

void Reservation::release() noexcept {
  if (budget_ != nullptr) budget_->used_.fetch_sub(bytes_);
  budget_ = nullptr;
  bytes_ = 0;
}

Reservation MemoryBudget::reserve(std::uint64_t bytes, std::string_view what) {
  std::uint64_t used = used_.load();
  do {
    if (bytes > limit_ - used) {
      throw ResourceError(std::string(what) + ": " + readable_bytes(bytes) + " of memory needed, " +
                          readable_bytes(limit_ - used) + " of " + readable_bytes(limit_) + " available; raise " +
                          option("memory"));
    }
  } while (!used_.compare_exchange_weak(used, used + bytes));
  std::uint64_t peak = peak_.load();
  while (peak < used + bytes && !peak_.compare_exchange_weak(peak, used + bytes)) {
  }
  return Reservation(*this, bytes);
}

std::uint64_t cgroup_memory_limit(const std::filesystem::path& membership, const std::filesystem::path& root) {
  std::uint64_t least = kNoLimit;
  std::ifstream in(membership);
  // A line is "hierarchy:controllers:group"; version 2 has hierarchy 0 and no controllers.
  for (std::string line; std::getline(in, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const std::filesystem::path group = line.substr(second + 1);
    if (controllers == ",,") {
      least = std::min(least, smallest_limit(root, group, "memory.max"));
      least = std::min(least, smallest_limit(root / "unified", group, "memory.max"));
    } else if (controllers.find(",memory,") != std::string::npos) {
      least = std::min(least, smallest_limit(root / "memory", group, "memory.limit_in_bytes"));
    }
  }
  return least;
}

std::uint64_t system_memory() {
  const std::uint64_t ram =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return std::min(ram, cgroup_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup"));
}

std::uint64_t default_memory_limit() {
  return system_memory() / 5 * 4;
}

std::uint64_t HugeBuffer::charge(std::uint64_t bytes) noexcept {
  const std::uint64_t page = page_of(bytes);
  return (bytes + page - 1) / page * page;
}

HugeBuffer::HugeBuffer(std::uint64_t bytes, MemoryBudget& budget, std::string_view what) : size_(bytes) {
  if (bytes == 0) return;
  reservation_ = budget.reserve(charge(bytes), what);
  const std::uint64_t page = page_of(bytes);
  const std::uint64_t mapped = charge(bytes) + page;
  void* raw = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) {
    throw ResourceError(std::string(what) + ": the system refused " + std::to_string(bytes) +
                        " bytes of memory; lower " + option("memory") + " or free some memory");
  }
  // Cut the unaligned ends off, so that the rest can lie on pages of the larger size.
  auto* const start = static_cast<std::byte*>(raw);
  const std::uint64_t skip = (page - reinterpret_cast<std::uintptr_t>(start) % page) % page;
  data_ = start + skip;
  if (skip > 0) munmap(start, skip);
  munmap(data_ + charge(bytes), page - skip);
  // A kernel without huge pages refuses, and the buffer works on small ones.
  if (page == kHugePage) madvise(data_, charge(bytes), MADV_HUGEPAGE);
}

void HugeBuffer::commit() const {
  if (size_ < kHugePage) return;
  constexpr std::size_t kPagesAtOnce = 16;
  parallel_ranges(0, charge(size_) / kHugePage, kPagesAtOnce, [&](std::size_t first, std::size_t last) {
    std::byte* const at = data_ + first * kHugePage;
    const std::size_t bytes = (last - first) * kHugePage;
    // Kernels that know neither refuse, and the first touch commits.
    madvise(at, bytes, MADV_POPULATE_WRITE);
    // One by one: the first page that finds no room of its size would end a call for all.
    for (std::size_t page = 0; page < bytes; page += kHugePage) madvise(at + page, kHugePage, kCollapse);
  });
}

HugeBuffer::HugeBuffer(HugeBuffer&& other) noexcept
    : reservation_(std::move(other.reservation_)),
      data_(std::exchange(other.data_, nullptr)),
      size_(std::exchange(other.size_, 0)) {}

HugeBuffer& HugeBuffer::operator=(HugeBuffer&& other) noexcept {
  std::swap(reservation_, other.reservation_);
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

HugeBuffer::~HugeBuffer() {
  if (data_ != nullptr) munmap(data_, charge(size_));
}

}  // namespace unweave
