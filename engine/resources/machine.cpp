// engine/resources/machine.cpp - asks the kernel for limits, file systems and locks.
#include "engine/resources/machine.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sched.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <fstream>
#include <limits>
#include <sstream>
#include <thread>

#include "engine/resources/memory.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kUnlimited = std::numeric_limits<std::uint64_t>::max();

struct FileSystem {
  std::uint32_t magic;
  const char* name;
  bool is_network, is_memory;
};

// Those that linux/magic.h lacks are from statfs(2).
constexpr FileSystem kFileSystems[] = {
    {EXT4_SUPER_MAGIC, "ext4", false, false},
    {XFS_SUPER_MAGIC, "xfs", false, false},
    {BTRFS_SUPER_MAGIC, "btrfs", false, false},
    {F2FS_SUPER_MAGIC, "f2fs", false, false},
    {OVERLAYFS_SUPER_MAGIC, "overlay", false, false},
    {0x2FC12FC1, "zfs", false, false},
    {0xCA451A4E, "bcachefs", false, false},
    {MSDOS_SUPER_MAGIC, "vfat", false, false},
    {TMPFS_MAGIC, "tmpfs", false, true},
    {RAMFS_MAGIC, "ramfs", false, true},
    {NFS_SUPER_MAGIC, "nfs", true, false},
    {0xFF534D42, "cifs", true, false},
    {0xFE534D42, "smb2", true, false},
    {SMB_SUPER_MAGIC, "smb", true, false},
    {V9FS_MAGIC, "9p", true, false},
    {FUSE_SUPER_MAGIC, "fuse", true, false},  // most often sshfs or a store of objects
    {CEPH_SUPER_MAGIC, "ceph", true, false},
    {0x0BD00BD0, "lustre", true, false},
    {0x47504653, "gpfs", true, false},
    {AFS_SUPER_MAGIC, "afs", true, false},
};

std::uint64_t limit_of(decltype(RLIMIT_NOFILE) resource) {
  struct rlimit limit {};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return kUnlimited;
  return limit.rlim_cur;
}

std::size_t usable_cores(std::size_t cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  return ::sched_getaffinity(0, sizeof(set), &set) == 0 ? static_cast<std::size_t>(CPU_COUNT(&set)) : cores;
}

std::uint64_t available_memory() {
  std::ifstream in("/proc/meminfo");
  std::string word;
  for (std::uint64_t kib = 0; in >> word;)
    if (word == "MemAvailable:" && in >> kib) return kib << 10;
  return 0;
}

/// Bytes that are free in pieces of at least 2 MiB, of pages of so many bytes.
std::uint64_t free_large_pages(std::uint64_t page_bytes, std::uint64_t otherwise) {
  std::ifstream in("/proc/buddyinfo");
  bool is_told = false;
  std::uint64_t bytes = 0;
  // A line is "Node 0, zone Normal 4 2 1 ..": how many free pieces there are of 1, 2, 4 pages and
  // so on.
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string node, number, zone, name;
    if (!(words >> node >> number >> zone >> name)) continue;
    std::uint64_t piece = page_bytes;
    for (std::uint64_t count = 0; words >> count; piece *= 2)
      if (piece >= std::uint64_t{2} << 20) bytes += count * piece;
    is_told = true;
  }
  return is_told ? bytes : otherwise;
}

/// The word in brackets of "always [madvise] never".
std::string huge_pages() {
  std::ifstream in("/sys/kernel/mm/transparent_hugepage/enabled");
  for (std::string word; in >> word;)
    if (word.starts_with('[') && word.ends_with(']')) return word.substr(1, word.size() - 2);
  return "";
}

}  // namespace

MachineFacts machine_facts() {
  MachineFacts facts;
  facts.cores = std::max(1U, std::thread::hardware_concurrency());
  if (const long online = ::sysconf(_SC_NPROCESSORS_ONLN); online > 0) facts.cores = static_cast<std::size_t>(online);
  facts.usable_cores = usable_cores(facts.cores);
  facts.page_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  facts.memory_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) * facts.page_bytes;
  facts.group_bytes = cgroup_memory_limit("/proc/self/cgroup", "/sys/fs/cgroup");
  facts.available_bytes = available_memory();
  facts.large_page_bytes = free_large_pages(facts.page_bytes, facts.available_bytes);
  facts.open_files = limit_of(RLIMIT_NOFILE);
  facts.file_bytes = limit_of(RLIMIT_FSIZE);
  facts.address_bytes = limit_of(RLIMIT_AS);
  facts.huge_pages = huge_pages();
  std::array<char, 16> random{};
  facts.has_random_numbers =
      ::getrandom(random.data(), random.size(), GRND_NONBLOCK) == static_cast<ssize_t>(random.size());
  return facts;
}

FolderFacts folder_facts(const std::filesystem::path& folder) {
  struct statfs status {};
  if (::statfs(folder.c_str(), &status) != 0) throw_system_error("look at", folder, errno);
  FolderFacts facts;
  const auto magic = static_cast<std::uint32_t>(status.f_type);
  const auto* const known = std::find_if(std::begin(kFileSystems), std::end(kFileSystems),
                                         [&](const auto& one) { return one.magic == magic; });
  if (known != std::end(kFileSystems)) {
    facts.file_system = known->name;
    facts.is_network = known->is_network;
    facts.is_memory = known->is_memory;
  } else {
    std::ostringstream number;
    number << "0x" << std::hex << magic;
    facts.file_system = number.str();
  }
  facts.is_read_only = (status.f_flags & ST_RDONLY) != 0;
  facts.is_writable = ::access(folder.c_str(), W_OK | X_OK) == 0;
  facts.free_bytes = static_cast<std::uint64_t>(status.f_bavail) * static_cast<std::uint64_t>(status.f_bsize);
  return facts;
}

std::optional<std::int64_t> lock_holder(const std::filesystem::path& file) {
  const std::optional<EntryStatus> status = try_status_of(file);
  if (!status) return std::nullopt;
  // A line is "1: FLOCK  ADVISORY  WRITE 4711 08:01:131 0 EOF": process, device and file, the
  // device in hexadecimal.
  std::array<char, 64> name{};
  static_cast<void>(std::snprintf(name.data(), name.size(), "%02x:%02x:%llu", major(status->device),
                                  minor(status->device), static_cast<unsigned long long>(status->inode)));
  std::ifstream in("/proc/locks");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string number, kind, advisory, access, locked;
    std::int64_t process = 0;
    if (words >> number >> kind >> advisory >> access >> process >> locked && kind == "FLOCK" && access == "WRITE" &&
        locked == name.data())
      return process;
  }
  return std::nullopt;
}

}  // namespace unweave
