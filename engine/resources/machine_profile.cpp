// engine/resources/machine_profile.cpp - times a file without a name and rows of a large buffer,
// and keeps the rates.
#include "engine/resources/machine_profile.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <span>
#include <system_error>
#include <thread>
#include <utility>

#include "engine/resources/clock.h"
#include "engine/resources/machine.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

constexpr std::uint32_t kProfileVersion = 1;
constexpr std::uint64_t kMostProfileText = std::uint64_t{64} << 10;
constexpr std::uint64_t kProfilePiece = std::uint64_t{1} << 20;
constexpr std::uint64_t kProfilePage = 4096;
constexpr std::uint64_t kMostProfiledBytes = std::uint64_t{128} << 20;
constexpr std::uint64_t kMostNetworkBytes = std::uint64_t{16} << 20;
constexpr std::uint64_t kLeastProfiledBytes = std::uint64_t{4} << 20;
constexpr double kMostCommit = 2e-9;          // a byte, beyond which others were at work
constexpr double kPhaseSeconds = 0.3;         // after which a part of the measurement ends
constexpr std::size_t kPiecesAtATime = 4;     // as many as reads ahead and buffers of writes keep under way
constexpr std::size_t kPagesAtATime = 32;     // some of the hundred items that loops ask for ahead
constexpr std::uint64_t kRandomPages = 8192;  // at most
constexpr std::array<std::uint32_t, 4> kRowSizes{64, 128, 256, 512};
constexpr std::array<std::uint64_t, 3> kSmallBuffers{std::uint64_t{1} << 20, std::uint64_t{8} << 20,
                                                     std::uint64_t{64} << 20};
constexpr std::uint64_t kLargeBuffer = std::uint64_t{512} << 20;
constexpr std::uint64_t kLeastLargeBuffer = std::uint64_t{128} << 20;

/// A file without a name that is read and written past the page cache where the file system lets
/// us.
class ProfiledFile {
 public:
  explicit ProfiledFile(const std::filesystem::path& folder) {
    std::filesystem::path made;
    descriptor_ = create_unique(folder, "unweave-profile-", made);
    drop_entry(made);
    // Where the file system refuses that, reads and writes go through the page cache.
    static_cast<void>(::fcntl(descriptor_, F_SETFL, ::fcntl(descriptor_, F_GETFL) | O_DIRECT));
  }
  ~ProfiledFile() { ::close(descriptor_); }
  ProfiledFile(const ProfiledFile&) = delete;
  ProfiledFile& operator=(const ProfiledFile&) = delete;

  void write(std::uint64_t at, std::span<const std::byte> bytes) const {
    if (::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(bytes.size()))
      throw std::system_error(errno, std::generic_category());
  }
  void read(std::uint64_t at, std::span<std::byte> bytes) const {
    if (::pread(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(at)) != static_cast<ssize_t>(bytes.size()))
      throw std::system_error(errno, std::generic_category());
  }
  void sync() const {
    if (::fdatasync(descriptor_) != 0) throw std::system_error(errno, std::generic_category());
  }
  /// Where writes went through the page cache all the same, it drops them.
  void forget() const noexcept { (void)::posix_fadvise(descriptor_, 0, 0, POSIX_FADV_DONTNEED); }

 private:
  int descriptor_ = -1;
};

struct FreeAligned {
  void operator()(std::byte* bytes) const noexcept { std::free(bytes); }
};
using AlignedBytes = std::unique_ptr<std::byte, FreeAligned>;

/// Memory as reads past the page cache want it, of bytes that no disk compresses.
AlignedBytes aligned_bytes(std::size_t bytes) {
  AlignedBytes memory(static_cast<std::byte*>(std::aligned_alloc(kProfilePage, bytes)));
  if (!memory) throw std::bad_alloc();
  std::uint64_t word = 1;
  for (std::size_t i = 0; i < bytes; ++i) {
    word = word * 6'364'136'223'846'793'005U + 1'442'695'040'888'963'407U;
    memory.get()[i] = static_cast<std::byte>(word >> 56U);
  }
  return memory;
}

/// Calls work(item, memory) on items from 0 on, so many at a time, until all are done or the time
/// is over. Returns how many were.
template <class Work>
std::uint64_t timed_items(std::uint64_t items, std::size_t at_a_time, std::size_t memory_bytes, const Work& work) {
  const Clock::time_point start = Clock::now();
  std::atomic<std::uint64_t> done = 0;
  run_waiting_items(static_cast<std::size_t>(items), at_a_time, [&](const auto& next) {
    const AlignedBytes memory = aligned_bytes(memory_bytes);
    for (std::size_t item = next(); item < items && seconds_since(start) < kPhaseSeconds; item = next()) {
      work(item, std::span(memory.get(), memory_bytes));
      ++done;
    }
  });
  return done;
}

/// Better rates of the two, each of its own.
DiskProfile better(const DiskProfile& one, const DiskProfile& other) {
  return {std::max(one.read_bytes_per_second, other.read_bytes_per_second),
          std::max(one.write_bytes_per_second, other.write_bytes_per_second),
          std::max(one.random_pages_per_second, other.random_pages_per_second),
          std::min(one.sync_seconds, other.sync_seconds)};
}

/// Rates at bytes [begin, begin + bytes) of the file.
DiskProfile measure_range(const ProfiledFile& file, std::uint64_t begin, std::uint64_t bytes) {
  DiskProfile disk;
  Clock::time_point start = Clock::now();
  // Pieces that were not reached before the time was over would be holes.
  const std::uint64_t pieces = timed_items(
      bytes / kProfilePiece, kPiecesAtATime, kProfilePiece,
      [&](std::size_t item, std::span<std::byte> memory) { file.write(begin + item * kProfilePiece, memory); });
  file.sync();
  disk.write_bytes_per_second = static_cast<double>(pieces * kProfilePiece) / seconds_since(start);
  file.forget();

  start = Clock::now();
  const std::uint64_t read = timed_items(
      pieces, kPiecesAtATime, kProfilePiece,
      [&](std::size_t item, std::span<std::byte> memory) { file.read(begin + item * kProfilePiece, memory); });
  disk.read_bytes_per_second = static_cast<double>(read * kProfilePiece) / seconds_since(start);
  file.forget();

  const std::uint64_t pages = pieces * kProfilePiece / kProfilePage;
  start = Clock::now();
  const std::uint64_t random = timed_items(
      std::min(pages, kRandomPages), kPagesAtATime, kProfilePage, [&](std::size_t item, std::span<std::byte> memory) {
        // Steps of an odd number of pages reach every page of a power of two, and hardly one twice
        // of other sizes.
        file.read(begin + item * 0x9E3779B97F4A7C15U % pages * kProfilePage, memory);
      });
  disk.random_pages_per_second = static_cast<double>(random) / seconds_since(start);

  std::array<double, 5> syncs{};
  const AlignedBytes page = aligned_bytes(kProfilePage);
  for (std::size_t i = 0; i < syncs.size(); ++i) {
    start = Clock::now();
    file.write(begin + bytes + i * kProfilePage, std::span(page.get(), kProfilePage));
    file.sync();
    syncs[i] = seconds_since(start);
  }
  std::sort(syncs.begin(), syncs.end());
  disk.sync_seconds = syncs[syncs.size() / 2];
  return disk;
}

/// Twice, at halves of the file: what others do to the disk for a moment must not be kept for long.
DiskProfile measure_disk_profile(const std::filesystem::path& folder, std::uint64_t bytes) {
  const ProfiledFile file(folder);
  const std::uint64_t half = bytes / 2 / kProfilePiece * kProfilePiece;
  const DiskProfile first = measure_range(file, 0, half);
  return better(first, measure_range(file, half + kProfilePiece, half));
}

/// Seconds of a row on one thread, while all threads fetch rows of the buffer.
double measure_fetch(const HugeBuffer& buffer, std::uint64_t bytes, std::uint32_t row_bytes) {
  constexpr std::size_t kFetched = std::size_t{1} << 13;
  constexpr std::size_t kRounds = 12;
  const std::size_t ahead = std::clamp<std::size_t>(3072 / row_bytes, 6, 40);  // as many lines as a sweep has under way
  const std::size_t threads = active_threads(), words = row_bytes / sizeof(std::uint64_t);
  const std::uint64_t rows = bytes / row_bytes;
  std::atomic<std::uint64_t> sink = 0;
  const auto fetch = [&](std::uint64_t seed, std::size_t count) {
    std::vector<std::uint32_t> list(count);
    for (std::uint32_t& row : list) {
      seed ^= seed << 13U;
      seed ^= seed >> 7U;
      seed ^= seed << 17U;
      row = static_cast<std::uint32_t>((seed >> 32U) * rows >> 32U);
    }
    std::array<std::uint64_t, kRowSizes.back() / sizeof(std::uint64_t)> sums{};
    const Clock::time_point start = Clock::now();
    for (std::size_t i = 0; i < count; ++i) {
      if (i + ahead < count)
        for (std::size_t line = 0; line < row_bytes; line += 64)
          __builtin_prefetch(buffer.data() + std::uint64_t{list[i + ahead]} * row_bytes + line);
      const auto* const row = buffer.as<std::uint64_t>() + std::uint64_t{list[i]} * words;
      for (std::size_t w = 0; w < words; ++w) sums[w] += row[w];
    }
    const double seconds = seconds_since(start);
    for (const std::uint64_t sum : sums) sink += sum;
    return seconds;
  };
  // Other programs, which take the processor away now and then, are not what is measured: few
  // rounds are as fast as that.
  std::vector<double> seconds(threads);
  run_items(threads, threads, [&](std::size_t item, std::size_t) {
    std::array<double, kRounds> rounds{};
    for (std::size_t round = 0; round < kRounds; ++round)
      rounds[round] = fetch((item + 1) * kRounds + round + 1, kFetched) / kFetched;
    std::nth_element(rounds.begin(), rounds.begin() + kRounds / 3, rounds.end());
    seconds[item] = rounds[kRounds / 3];
  });
  return std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(threads);
}

/// Fetches, and what room for the buffer took.
std::vector<FetchCost> measure_fetches(MemoryBudget& budget, double& commit_byte_seconds) {
  std::vector<std::uint64_t> sizes(kSmallBuffers.begin(), kSmallBuffers.end());
  std::uint64_t large = kLargeBuffer;
  while (large > memory_shares::kRatesBuffer.of(budget) && large > kLeastLargeBuffer) large /= 2;
  if (large <= memory_shares::kRatesBuffer.of(budget)) sizes.push_back(large);
  while (!sizes.empty() && sizes.back() > memory_shares::kRatesBuffer.of(budget)) sizes.pop_back();
  if (sizes.empty()) return {};
  const HugeBuffer buffer(sizes.back(), budget, "buffer of the machine's rates");
  const Clock::time_point start = Clock::now();
  buffer.commit();
  commit_byte_seconds = std::min(kMostCommit, seconds_since(start) / static_cast<double>(buffer.size()));
  std::vector<FetchCost> fetches;
  for (const std::uint64_t size : sizes)
    for (const std::uint32_t row : kRowSizes) fetches.push_back({size, row, measure_fetch(buffer, size, row)});
  return fetches;
}

std::string machine_name() {
  std::ifstream in("/etc/machine-id");
  std::string id;
  if (!(in >> id)) {
    std::array<char, 256> host{};
    id = ::gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "unknown";
  }
  // The number of threads is part of it: rates of memory are those of all of them together.
  return id + "/" + std::to_string(std::thread::hardware_concurrency());
}

/// What profiles of one machine and file system have in common, and others do not: nobody learns
/// the machine's id from it.
std::string profile_key(const std::filesystem::path& folder) {
  const std::uint64_t device = status_of(folder).device;
  const std::string text = machine_name() + "/" + std::to_string(major(device)) + ":" + std::to_string(minor(device)) +
                           "/" + folder_facts(folder).file_system;
  return to_hex(checksum128(std::as_bytes(std::span(text)), {})).substr(0, 20);
}

bool within(double value, double least, double most) {
  return std::isfinite(value) && value >= least && value <= most;
}

bool is_credible(const MachineProfile& profile) {
  const DiskProfile& disk = profile.disk;
  if (!within(disk.read_bytes_per_second, 1e4, 1e12) || !within(disk.write_bytes_per_second, 1e4, 1e12) ||
      !within(disk.random_pages_per_second, 1, 1e9) || !within(disk.sync_seconds, 0, 60) || profile.measured_at <= 0 ||
      !within(profile.commit_byte_seconds, 0, 1e-6))
    return false;
  if (profile.fetches.empty() || profile.fetches.size() % kRowSizes.size() != 0 || profile.fetches.size() > 64)
    return false;
  for (std::size_t i = 0; i < profile.fetches.size(); ++i) {
    const FetchCost& one = profile.fetches[i];
    if (one.row_bytes != kRowSizes[i % kRowSizes.size()] || !within(one.seconds, 1e-11, 1e-4)) return false;
    if (one.buffer_bytes < kProfilePage || one.buffer_bytes > std::uint64_t{1} << 40U) return false;
    if (i >= kRowSizes.size() && i % kRowSizes.size() == 0 && one.buffer_bytes <= profile.fetches[i - 1].buffer_bytes)
      return false;
    if (i % kRowSizes.size() != 0 && one.buffer_bytes != profile.fetches[i - 1].buffer_bytes) return false;
  }
  return true;
}

std::optional<MachineProfile> kept_profile(const std::filesystem::path& file, const std::string& key) {
  try {
    std::optional<MachineProfile> profile = profile_of_text(read_user_text(file, kMostProfileText), key);
    if (profile) profile->is_in_file = true;
    return profile;
  } catch (const std::exception&) {
    return std::nullopt;  // it is missing, or nobody can read it
  }
}

}  // namespace

double MachineProfile::fetch_seconds(double buffer_bytes, double row_bytes) const {
  if (fetches.empty()) return 0;
  constexpr std::size_t kSizes = kRowSizes.size();
  const std::size_t buffers = fetches.size() / kSizes;
  // Linear in the bytes of a row; rows beyond the largest go on as the last two do.
  const auto at_buffer = [&](std::size_t buffer) {
    const FetchCost* const costs = fetches.data() + buffer * kSizes;
    if (row_bytes <= kRowSizes.front()) return costs[0].seconds;
    std::size_t i = 1;
    while (i + 1 < kSizes && row_bytes > kRowSizes[i]) ++i;
    const double share = (row_bytes - kRowSizes[i - 1]) / (kRowSizes[i] - kRowSizes[i - 1]);
    const double slope = std::max(0.0, costs[i].seconds - costs[i - 1].seconds);
    return costs[i - 1].seconds + share * slope;
  };
  const double size = std::max(1.0, buffer_bytes);
  const auto size_of = [&](std::size_t buffer) { return static_cast<double>(fetches[buffer * kSizes].buffer_bytes); };
  if (size <= size_of(0)) return at_buffer(0);
  for (std::size_t b = 1; b < buffers; ++b) {
    if (size > size_of(b)) continue;
    const double share = std::log(size / size_of(b - 1)) / std::log(size_of(b) / size_of(b - 1));
    return at_buffer(b - 1) + share * (at_buffer(b) - at_buffer(b - 1));
  }
  // Beyond caches a larger buffer costs more each time it doubles: fewer of its page tables lie in
  // a cache. On a virtual machine a row of 128 bytes took 14.7 ns in 1 GiB, 19 ns in 7 GiB and 22
  // ns in 14 GiB.
  constexpr double kEachDoubling = 0.15;
  return at_buffer(buffers - 1) * (1 + kEachDoubling * std::log2(size / size_of(buffers - 1)));
}

double commit_byte_seconds(std::uint64_t bytes) {
  MemoryBudget own(HugeBuffer::charge(bytes));
  const HugeBuffer buffer(bytes, own, "buffer of the machine's rates");
  const Clock::time_point start = Clock::now();
  buffer.commit();
  return seconds_since(start) / static_cast<double>(std::max<std::uint64_t>(1, own.used()));
}

std::filesystem::path profile_folder() {
  const auto variable = [](const char* name) {
    const char* const value = std::getenv(name);
    return std::filesystem::path(value == nullptr ? "" : value);
  };
  if (std::getenv("UNWEAVE_CACHE") != nullptr) return variable("UNWEAVE_CACHE");
  if (const auto cache = variable("XDG_CACHE_HOME"); cache.is_absolute()) return cache / "unweave";
  if (const auto home = variable("HOME"); home.is_absolute()) return home / ".cache" / "unweave";
  return {};
}

std::filesystem::path profile_file(const std::filesystem::path& folder) {
  const std::filesystem::path kept = profile_folder();
  return kept.empty() ? kept : kept / ("rates-" + profile_key(folder) + ".json");
}

std::string profile_text(const MachineProfile& profile, const std::string& machine) {
  nlohmann::ordered_json json = {{"format", "unweave rates"},
                                 {"version", kProfileVersion},
                                 {"machine", machine},
                                 {"measured_at", profile.measured_at},
                                 {"file_system", profile.file_system},
                                 {"is_memory", profile.is_memory},
                                 {"read_bytes_per_second", profile.disk.read_bytes_per_second},
                                 {"write_bytes_per_second", profile.disk.write_bytes_per_second},
                                 {"random_pages_per_second", profile.disk.random_pages_per_second},
                                 {"sync_seconds", profile.disk.sync_seconds},
                                 {"commit_byte_seconds", profile.commit_byte_seconds}};
  json["fetches"] = nlohmann::ordered_json::array();
  for (const FetchCost& one : profile.fetches)
    json["fetches"].push_back(
        {{"buffer_bytes", one.buffer_bytes}, {"row_bytes", one.row_bytes}, {"seconds", one.seconds}});
  return text_of_json(json, 1) + "\n";
}

std::optional<MachineProfile> profile_of_text(const std::string& text, const std::string& machine) {
  try {
    const auto json = parse_json(text);
    if (json.at("format") != "unweave rates" || json.at("version") != kProfileVersion || json.at("machine") != machine)
      return std::nullopt;
    MachineProfile profile;
    profile.measured_at = json.at("measured_at").get<std::int64_t>();
    profile.file_system = json.at("file_system").get<std::string>();
    profile.is_memory = json.at("is_memory").get<bool>();
    profile.disk.read_bytes_per_second = json.at("read_bytes_per_second").get<double>();
    profile.disk.write_bytes_per_second = json.at("write_bytes_per_second").get<double>();
    profile.disk.random_pages_per_second = json.at("random_pages_per_second").get<double>();
    profile.disk.sync_seconds = json.at("sync_seconds").get<double>();
    profile.commit_byte_seconds = json.at("commit_byte_seconds").get<double>();
    for (const auto& one : json.at("fetches"))
      profile.fetches.push_back({whole_number<std::uint64_t>(one.at("buffer_bytes")),
                                 whole_number<std::uint32_t>(one.at("row_bytes")), one.at("seconds").get<double>()});
    return is_credible(profile) ? std::optional(std::move(profile)) : std::nullopt;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

std::optional<MachineProfile> machine_profile(const std::filesystem::path& folder, MemoryBudget& budget,
                                              ProfileUse use) noexcept {
  try {
    const std::filesystem::path file = profile_file(folder);
    const std::string key = profile_key(folder);
    if (use != ProfileUse::measured && !file.empty())
      if (std::optional<MachineProfile> kept = kept_profile(file, key)) return kept;
    if (use == ProfileUse::kept) return std::nullopt;
    const FolderFacts facts = folder_facts(folder);
    if (facts.is_read_only || !facts.is_writable) return std::nullopt;
    const std::uint64_t most = facts.is_network ? kMostNetworkBytes : kMostProfiledBytes;
    const std::uint64_t bytes = std::min(most, facts.free_bytes / 8) / kProfilePiece * kProfilePiece;
    if (bytes < kLeastProfiledBytes) return std::nullopt;
    MachineProfile profile;
    profile.file_system = facts.file_system;
    profile.is_memory = facts.is_memory;
    profile.disk = measure_disk_profile(folder, bytes);
    profile.fetches = measure_fetches(budget, profile.commit_byte_seconds);
    profile.measured_at =
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
    if (!is_credible(profile)) return std::nullopt;
    // What little memory could hold says too little of large buffers to be kept.
    if (file.empty() || profile.fetches.back().buffer_bytes < kLeastLargeBuffer) return profile;
    try {
      const std::filesystem::path own = resolved_parent(file);
      make_folders(own.parent_path());
      replace_file(own, profile_text(profile, key), 0600);
      profile.is_in_file = true;
    } catch (const std::exception&) {
      profile.is_in_file = false;  // a folder that cannot be written: they are measured again next time
    }
    return profile;
  } catch (...) {
    return std::nullopt;
  }
}

}  // namespace unweave
