// engine/resources/memory.h - the memory budget of the process: reserve before allocating, and
// buffers that did.
//
// One MemoryBudget is made by the command and handed down as an argument. What is small and bounded
// (a few KiB an object) is not charged; everything that grows with the graph is.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string_view>
#include <utility>

namespace unweave {

class MemoryBudget;

/// A part of a budget, given back on destruction. Move-only; the budget must outlive it.
class Reservation {
 public:
  Reservation() = default;
  Reservation(Reservation&& other) noexcept
      : budget_(std::exchange(other.budget_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Reservation& operator=(Reservation&& other) noexcept;
  ~Reservation() { release(); }

  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }
  void release() noexcept;

 private:
  friend class MemoryBudget;
  Reservation(MemoryBudget& budget, std::uint64_t bytes) noexcept : budget_(&budget), bytes_(bytes) {}

  MemoryBudget* budget_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// What a process keeps out of its budget for pieces that nobody charges one by one; of less than
/// twice as much half.
inline constexpr std::uint64_t kUnchargedBytes = std::uint64_t{12} << 20;

/// A limit in bytes that concurrent users share. All members may be called from any thread.
class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit) noexcept : limit_(limit) {}
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  /// Sets `bytes` aside, or throws ResourceError that names `what`, the bytes needed and the bytes
  /// available.
  [[nodiscard]] Reservation reserve(std::uint64_t bytes, std::string_view what);

  [[nodiscard]] std::uint64_t limit() const noexcept { return limit_; }
  [[nodiscard]] std::uint64_t used() const noexcept { return used_.load(); }
  [[nodiscard]] std::uint64_t available() const noexcept { return limit_ - used_.load(); }
  /// The largest value that used() ever had.
  [[nodiscard]] std::uint64_t peak() const noexcept { return peak_.load(); }

 private:
  friend class Reservation;
  const std::uint64_t limit_;
  std::atomic<std::uint64_t> used_ = 0;
  std::atomic<std::uint64_t> peak_ = 0;
};

/// The physical memory, or the control group's limit where that is smaller.
[[nodiscard]] std::uint64_t system_memory();
/// 80 % of the physical memory, or of the control group's limit where that is smaller.
[[nodiscard]] std::uint64_t default_memory_limit();

/// The smallest limit (cgroup v1 or v2) that binds a process whose /proc/self/cgroup is
/// `membership`, where the hierarchies are mounted below `root`; the largest 64-bit number when
/// there is none. Groups above the process bind it too. A container often sees its own group as the
/// root, hence the walk up to the root itself.
[[nodiscard]] std::uint64_t cgroup_memory_limit(const std::filesystem::path& membership,
                                                const std::filesystem::path& root);

/// Zeroed anonymous memory charged to a budget, on 2 MiB pages where the kernel grants them: random
/// rows of a tile of many GiB would otherwise miss the TLB at every access. Pages are committed by
/// commit() or the first touch. Move-only.
class HugeBuffer {
 public:
  HugeBuffer() = default;
  /// Throws ResourceError when the budget or the kernel refuses. The charge is `bytes` rounded up
  /// to whole pages.
  HugeBuffer(std::uint64_t bytes, MemoryBudget& budget, std::string_view what);
  HugeBuffer(HugeBuffer&& other) noexcept;
  HugeBuffer& operator=(HugeBuffer&& other) noexcept;
  ~HugeBuffer();

  /// The bytes that HugeBuffer(bytes, ...) charges.
  [[nodiscard]] static std::uint64_t charge(std::uint64_t bytes) noexcept;

  /// Commits all pages now, on all threads, and moves what the kernel gave on small pages to large
  /// ones where it can free any: first touches take what is free at the moment, which is little
  /// once the page cache is full.
  void commit() const;

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }  ///< as asked for
  template <class T>
  [[nodiscard]] T* as() const noexcept {
    return reinterpret_cast<T*>(data_);
  }

 private:
  Reservation reservation_;
  std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace unweave
