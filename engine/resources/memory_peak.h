// engine/resources/memory_peak.h - memory that the process can give back, and what it used: peaks
// of its resident memory, bytes it read and wrote.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace unweave {

class MemoryBudget;

/// Gives memory that is free between blocks in use back to the system, where the process has come
/// near what it may have: such memory counts as the process's, but looking for it takes long.
/// `soon`: bytes that are needed next and that nobody charges.
void trim_memory(const MemoryBudget& budget, std::uint64_t soon = 0);
/// Whether so many resident bytes are near a budget of `limit` bytes, and what is set apart beside
/// it for all that nobody charges.
[[nodiscard]] bool is_near_limit(std::uint64_t resident, std::uint64_t limit) noexcept;

/// What passed between the process and files.
struct TransferredBytes {
  /// Through read and write calls. Pages of mapped files are not among them (they show up in
  /// ProcessMeter::peak_file_bytes), bytes served from the page cache are.
  std::uint64_t read = 0, written = 0;
  std::uint64_t disk_read = 0;     ///< from disks, for read calls and for mapped files
  std::uint64_t major_faults = 0;  ///< times that the process waited for a page that it had not asked for in time
};

/// Samples the process every 10 ms from construction on, on a thread of its own. A peak shorter
/// than that can be missed; each question takes a sample of its own. Where /proc lacks the figures
/// they stay 0.
class ProcessMeter {
 public:
  ProcessMeter();
  ~ProcessMeter();
  ProcessMeter(const ProcessMeter&) = delete;
  ProcessMeter& operator=(const ProcessMeter&) = delete;

  [[nodiscard]] std::uint64_t peak_anonymous_bytes();  ///< heap, stacks, anonymous maps
  [[nodiscard]] std::uint64_t peak_file_bytes();       ///< mapped files, executables included
  /// Since construction, without what the meter itself read.
  [[nodiscard]] TransferredBytes transferred();

 private:
  void sample();

  std::atomic<std::uint64_t> peak_anonymous_ = 0;
  std::atomic<std::uint64_t> peak_file_ = 0;
  std::atomic<std::uint64_t> own_reads_ = 0;
  TransferredBytes start_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace unweave
