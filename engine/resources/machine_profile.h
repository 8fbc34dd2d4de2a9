// engine/resources/machine_profile.h - how fast the disk of a folder and the machine's memory are:
// measured once, and kept.
//
// What is predicted of work rests on these rates. They are kept as JSON in the folder that
// UNWEAVE_CACHE names, else in unweave/ of XDG_CACHE_HOME, else in ~/.cache/unweave, one file for
// each machine and file system. Where that folder cannot be written, they are measured each time; a
// file that is damaged, foreign or beyond belief counts as missing.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "engine/resources/memory.h"

namespace unweave {

struct DiskProfile {
  double read_bytes_per_second = 0;    ///< large pieces, some at a time, past the page cache
  double write_bytes_per_second = 0;   ///< large pieces, some at a time, made durable
  double random_pages_per_second = 0;  ///< pages of 4 KiB anywhere in a file, as many at a time as read-ahead asks for
  double sync_seconds = 0;             ///< a few bytes made durable
};

/// What it costs to fetch a row from anywhere in a buffer, on each thread while all threads do so.
struct FetchCost {
  std::uint64_t buffer_bytes = 0;
  std::uint32_t row_bytes = 0;
  double seconds = 0;
};

struct MachineProfile {
  DiskProfile disk;
  std::vector<FetchCost> fetches;  ///< by size of the buffer, then by that of the row; the same rows for each buffer
  double commit_byte_seconds = 0;  ///< a byte of memory that was never touched, on all threads
  std::int64_t measured_at = 0;    ///< seconds since 1970
  std::string file_system;         ///< as FolderFacts has it
  bool is_memory = false;          ///< files of this folder lie in memory
  bool is_in_file = false;         ///< came from the file, or is in it now

  /// Seconds of a row of so many bytes, 1 or more, anywhere in a buffer of so many, between and
  /// beyond what was measured.
  [[nodiscard]] double fetch_seconds(double buffer_bytes, double row_bytes) const;
  /// Seconds of reading a file of so many bytes in order, of which the page cache has a share.
  [[nodiscard]] double read_seconds(double bytes, double resident = 0) const {
    return is_memory ? 0 : bytes * (1 - resident) / disk.read_bytes_per_second;
  }
};

enum class ProfileUse {
  kept,              ///< take what is kept, measure nothing
  kept_or_measured,  ///< measure where nothing is kept, and keep it
  measured,          ///< measure anew, and keep it
};

/// Seconds that a byte of memory takes which was never touched, on all threads, from a buffer of so
/// many bytes that is taken and given back: what that costs depends on what the system, or the host
/// of a virtual machine, has to do for it now.
[[nodiscard]] double commit_byte_seconds(std::uint64_t bytes);

/// How work on so many bytes comes by a profile: what is done in less time than a measurement takes
/// does with a kept one.
[[nodiscard]] constexpr ProfileUse profile_use_for(std::uint64_t bytes) noexcept {
  return bytes < std::uint64_t{256} << 20 ? ProfileUse::kept : ProfileUse::kept_or_measured;
}

/// Where profiles are kept; empty where no folder is known.
[[nodiscard]] std::filesystem::path profile_folder();
/// The file that holds the profile of this machine and the file system of `folder`; empty where
/// profiles are kept nowhere.
[[nodiscard]] std::filesystem::path profile_file(const std::filesystem::path& folder);

/// The rates of this machine and of the file system of `folder`. Measuring takes a second or two,
/// at most 128 MiB of disk (an eighth of what is free) in a file without a name, and at most a
/// quarter of what `budget` has, up to 512 MiB. Nothing where they cannot be measured: a folder
/// that is missing or not writable, a disk that is full. Throws nothing.
[[nodiscard]] std::optional<MachineProfile> machine_profile(const std::filesystem::path& folder, MemoryBudget& budget,
                                                            ProfileUse use) noexcept;

/// A profile as text and back. Nothing for a text that is no profile of this format, or whose
/// numbers no machine has.
[[nodiscard]] std::string profile_text(const MachineProfile& profile, const std::string& machine);
[[nodiscard]] std::optional<MachineProfile> profile_of_text(const std::string& text, const std::string& machine);

}  // namespace unweave
