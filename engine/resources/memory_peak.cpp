// engine/resources/memory_peak.cpp - reads resident memory and transferred bytes from /proc, and
// samples their peaks.
#include "engine/resources/memory_peak.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <string_view>
#include <system_error>

#include "engine/resources/memory.h"

namespace unweave {
namespace {

constexpr std::chrono::milliseconds kSamplePeriod{10};

using ProcBuffer = std::array<char, 8192>;  // more than any file has that is read here

/// The text of a /proc file, in `buffer`: whoever measures memory takes none. Empty where it cannot
/// be read.
std::string_view read_proc(const char* path, ProcBuffer& buffer) {
  const int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return {};
  std::size_t filled = 0;
  for (ssize_t got = 0; (got = read(file, buffer.data() + filled, buffer.size() - filled)) > 0;)
    filled += static_cast<std::size_t>(got);
  close(file);
  return {buffer.data(), filled};
}

/// The number that follows `key` at the start of a line.
std::uint64_t field(std::string_view text, std::string_view key) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    at = end + 1;
    if (!line.starts_with(key)) continue;
    line.remove_prefix(key.size());
    line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
    std::uint64_t value = 0;
    std::from_chars(line.data(), line.data() + line.size(), value);
    return value;
  }
  return 0;
}

/// Resident bytes of the process at one moment.
struct ResidentMemory {
  std::uint64_t anonymous = 0;
  std::uint64_t file = 0;
};

/// From the text of /proc/self/status.
ResidentMemory parse_status(std::string_view text) {
  return {field(text, "RssAnon:") * 1024, field(text, "RssFile:") * 1024};
}

/// From the text of /proc/self/io.
TransferredBytes parse_io(std::string_view text) {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {field(text, "rchar:"), field(text, "wchar:"), field(text, "read_bytes:"),
          static_cast<std::uint64_t>(usage.ru_majflt)};
}

void raise_to(std::atomic<std::uint64_t>& peak, std::uint64_t value) {
  std::uint64_t old = peak.load();
  while (old < value && !peak.compare_exchange_weak(old, value)) {
  }
}

}  // namespace

void trim_memory(const MemoryBudget& budget, std::uint64_t soon) {
  ProcBuffer buffer;
  std::string_view text = read_proc("/proc/self/statm", buffer);  // pages: in all, resident, of files
  const auto next = [&] {
    std::uint64_t pages = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pages);
    text.remove_prefix(std::min<std::size_t>(text.size(), static_cast<std::size_t>(end - text.data()) + 1));
    return error == std::errc() ? pages : 0;
  };
  static_cast<void>(next());
  const std::uint64_t resident = next(), of_files = next();
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (resident == 0 || is_near_limit((resident - std::min(of_files, resident)) * page + soon, budget.limit()))
    malloc_trim(0);
}

bool is_near_limit(std::uint64_t resident, std::uint64_t limit) noexcept {
  constexpr std::uint64_t kLeftPart = 4;  // a quarter is left for what comes before somebody looks again
  const std::uint64_t apart = std::min(limit, kUnchargedBytes);
  return resident > limit + apart - apart / kLeftPart;
}

ProcessMeter::ProcessMeter() {
  ProcBuffer buffer;
  const std::string_view io = read_proc("/proc/self/io", buffer);
  start_ = parse_io(io);
  // The figures in `io` were taken before the bytes of `io` itself were counted.
  own_reads_ = io.size();
  sample();
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!wake_.wait_for(lock, kSamplePeriod, [this] { return stop_; })) sample();
  });
}

ProcessMeter::~ProcessMeter() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_one();
  thread_.join();
}

void ProcessMeter::sample() {
  ProcBuffer buffer;
  const std::string_view status = read_proc("/proc/self/status", buffer);
  own_reads_ += status.size();
  const ResidentMemory now = parse_status(status);
  raise_to(peak_anonymous_, now.anonymous);
  raise_to(peak_file_, now.file);
}

std::uint64_t ProcessMeter::peak_anonymous_bytes() {
  sample();
  return peak_anonymous_;
}

std::uint64_t ProcessMeter::peak_file_bytes() {
  sample();
  return peak_file_;
}

TransferredBytes ProcessMeter::transferred() {
  // The lock keeps the sampling thread from reading between the two figures.
  const std::lock_guard lock(mutex_);
  const std::uint64_t own = own_reads_;
  ProcBuffer buffer;
  const std::string_view io = read_proc("/proc/self/io", buffer);
  const TransferredBytes now = parse_io(io);
  own_reads_ += io.size();
  return {now.read - start_.read - own, now.written - start_.written, now.disk_read - start_.disk_read,
          now.major_faults - start_.major_faults};
}

}  // namespace unweave
