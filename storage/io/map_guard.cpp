// storage/io/map_guard.cpp - handles SIGBUS in mapped files, and remembers which maps were cut.
#include "storage/io/map_guard.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "storage/io/entry.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

/// A folder of mapped files, open for as long as one of them is: a store has thousands of files in
/// a few folders, and each is asked for its length twice.
class Folder {
 public:
  explicit Folder(const std::filesystem::path& path) noexcept
      : path_(path), descriptor_(try_open_entry(path.empty() ? "." : path, O_PATH | O_DIRECTORY)) {}
  ~Folder() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  /// False where no file of this name is there.
  [[nodiscard]] bool look_at(const std::filesystem::path& name, struct stat& status) const noexcept {
    if (descriptor_ < 0)  // this process has no more descriptors
      return ::fstatat(AT_FDCWD, (path_ / name).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
    return ::fstatat(descriptor_, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  }

 private:
  std::filesystem::path path_;
  int descriptor_;
};

bool is_same_file(const struct stat& a, const struct stat& b) noexcept {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/// A guarded map. The handler reads it at any moment: `begin` is set last and cleared first.
struct Slot {
  std::atomic<std::uintptr_t> begin{0};  // 0: free
  std::atomic<std::uintptr_t> end{0};
  std::atomic<bool> cut{false};
  std::filesystem::path path;
  std::filesystem::path name;  // in the folder
  std::shared_ptr<const Folder> folder;
  struct stat status {};  // what the file was when it was mapped
};

/// Slots are never given back to the system: the handler may be among them.
struct Block {
  static constexpr std::size_t kSlots = 256;
  Slot slots[kSlots];
  std::atomic<Block*> next{nullptr};
};

std::mutex mutex;  // held by whoever changes slots, or goes through all
std::atomic<Block*> first{nullptr};
struct sigaction before {};
std::uintptr_t page_bytes = 4096;

Slot* find(std::uintptr_t address) noexcept {
  for (Block* block = first.load(std::memory_order_acquire); block != nullptr;
       block = block->next.load(std::memory_order_acquire))
    for (Slot& slot : block->slots) {
      const std::uintptr_t begin = slot.begin.load(std::memory_order_acquire);
      if (begin != 0 && address >= begin && address < slot.end.load(std::memory_order_relaxed)) return &slot;
    }
  return nullptr;
}

void on_lost_page(int signal, siginfo_t* info, void* context) {
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  Slot* const slot = info->si_code > 0 ? find(address) : nullptr;  // 0 and below: somebody has sent it
  if (slot != nullptr) {
    void* const page = reinterpret_cast<void*>(address / page_bytes * page_bytes);
    if (::mmap(page, page_bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED) {
      slot->cut.store(true, std::memory_order_release);
      detail::a_map_was_cut.store(true, std::memory_order_release);
      return;
    }
  }
  if ((before.sa_flags & SA_SIGINFO) != 0) return before.sa_sigaction(signal, info, context);
  if (before.sa_handler != SIG_DFL && before.sa_handler != SIG_IGN) return before.sa_handler(signal);
  std::signal(signal, SIG_DFL);
  std::raise(signal);  // ends the process when this returns
}

void install() {
  page_bytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  struct sigaction ours {};
  ours.sa_sigaction = &on_lost_page;
  ours.sa_flags = SA_SIGINFO;
  ::sigaction(SIGBUS, &ours, &before);
}

/// Where maps are and where there is room, so that thousands of them are not looked through for
/// each; the handler has the slots alone.
std::unordered_map<std::uintptr_t, Slot*> used_slots;
std::vector<Slot*> free_slots;

void need_free_slot() {
  if (!free_slots.empty()) return;
  std::atomic<Block*>* link = &first;
  std::size_t slots = Block::kSlots;
  for (Block* block = link->load(); block != nullptr; block = link->load()) {
    slots += Block::kSlots;
    link = &block->next;
  }
  free_slots.reserve(slots);      // so that none is ever given back in vain
  auto* const fresh = new Block;  // NOLINT(cppcoreguidelines-owning-memory): lives as long as the process
  link->store(fresh, std::memory_order_release);
  for (Slot& slot : fresh->slots) free_slots.push_back(&slot);
}

std::unordered_map<std::string, std::weak_ptr<const Folder>> folders;  // by their paths

/// The folder of a file whose status is given. One that is open already may have got another name
/// since, and another folder its own.
std::shared_ptr<const Folder> folder_of(const std::filesystem::path& path, const std::filesystem::path& name,
                                        const struct stat& status) {
  const std::filesystem::path parent = path.parent_path();
  const auto holds = [&](const Folder& folder) {
    struct stat now {};
    return folder.look_at(name, now) && is_same_file(now, status);
  };
  std::shared_ptr<const Folder> open;
  {
    const std::scoped_lock lock(mutex);
    if (const auto known = folders.find(parent.native()); known != folders.end()) open = known->second.lock();
  }
  if (open && holds(*open)) return open;
  auto fresh = std::make_shared<const Folder>(parent);
  if (open && !holds(*fresh)) return open;  // the file has no name any more, and nobody finds it
  const std::scoped_lock lock(mutex);
  std::erase_if(folders, [](const auto& one) { return one.second.expired(); });
  folders.insert_or_assign(parent.native(), fresh);
  return fresh;
}

std::filesystem::path lost;  // the last map that was cut and is gone

[[noreturn]] void fail(const std::filesystem::path& path) {
  throw FormatError(path, "whole file", "it was cut short or became unreadable while it was read");
}

/// Whether the file is there, and shorter than its map.
bool is_shortened(const Slot& slot) noexcept {
  struct stat now {};
  return slot.folder->look_at(slot.name, now) && is_same_file(now, slot.status) &&
         static_cast<std::uint64_t>(now.st_size) < slot.end.load() - slot.begin.load();
}

/// The mutex is held.
template <class Visit>
void for_each_map(const Visit& visit) {
  for (Block* block = first.load(); block != nullptr; block = block->next.load())
    for (Slot& slot : block->slots)
      if (slot.begin.load() != 0) visit(slot);
}

}  // namespace

namespace detail {

std::atomic<bool> a_map_was_cut{false};

void fail_cut_map() {
  const std::scoped_lock lock(mutex);
  // Before the maps are looked at: what the handler notes from now on is told the next time. A map
  // that is gone is told once, and to whoever else has seen the flag by now.
  a_map_was_cut.store(false);
  for_each_map([](const Slot& slot) {
    if (!slot.cut.load()) return;
    a_map_was_cut.store(true);  // as long as it is there
    fail(slot.path);
  });
  fail(lost);
}

}  // namespace detail

void guard_map(const std::byte* map, std::uint64_t bytes, const std::filesystem::path& path, int descriptor) {
  static std::once_flag installed;
  std::call_once(installed, install);
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) throw_system_error("examine", path, errno);
  std::filesystem::path name = path.filename();
  std::shared_ptr<const Folder> folder = folder_of(path, name, status);
  const std::scoped_lock lock(mutex);
  need_free_slot();
  const auto begin = reinterpret_cast<std::uintptr_t>(map);
  Slot& slot = *free_slots.back();
  slot.path = path;
  slot.name = std::move(name);
  slot.folder = std::move(folder);
  used_slots.insert_or_assign(begin, &slot);
  free_slots.pop_back();
  slot.status = status;
  slot.cut.store(false);
  slot.end.store(begin + bytes, std::memory_order_relaxed);
  slot.begin.store(begin, std::memory_order_release);
}

void forget_map(const std::byte* map) noexcept {
  Slot* slot = nullptr;
  {
    const std::scoped_lock lock(mutex);
    const auto used = used_slots.find(reinterpret_cast<std::uintptr_t>(map));
    if (used == used_slots.end()) return;
    slot = used->second;
    used_slots.erase(used);
  }
  const bool is_short = is_shortened(*slot);  // many are forgotten at once: nobody waits for the answer
  const std::scoped_lock lock(mutex);
  if (slot->cut.load() || is_short) {
    lost.swap(slot->path);
    detail::a_map_was_cut.store(true);
  }
  slot->folder.reset();
  slot->begin.store(0, std::memory_order_release);
  free_slots.push_back(slot);
}

void release_mapped_pages() noexcept {
  const std::scoped_lock lock(mutex);
  for_each_map([](const Slot& slot) {
    const std::uintptr_t begin = slot.begin.load();
    ::madvise(reinterpret_cast<void*>(begin), slot.end.load() - begin, MADV_DONTNEED);
  });
}

void require_whole_files() {
  require_whole_maps();
  const std::scoped_lock lock(mutex);
  for_each_map([](const Slot& slot) {
    if (is_shortened(slot)) fail(slot.path);
  });
}

}  // namespace unweave
