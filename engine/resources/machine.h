// engine/resources/machine.h - what the machine says of itself and of a folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace unweave {

struct MachineFacts {
  std::size_t cores = 0;               ///< that the machine has
  std::size_t usable_cores = 0;        ///< on which this process may run
  std::uint64_t memory_bytes = 0;      ///< that the machine has
  std::uint64_t group_bytes = 0;       ///< limit of the control groups; the largest number where there is none
  std::uint64_t available_bytes = 0;   ///< what the system could give now; 0: it does not say
  std::uint64_t large_page_bytes = 0;  ///< free in pieces of 2 MiB or more; all that is available where nobody tells
  std::uint64_t page_bytes = 0;
  std::uint64_t open_files = 0;     ///< limit of the process; the largest number where there is none, as below
  std::uint64_t file_bytes = 0;     ///< largest file that it may write
  std::uint64_t address_bytes = 0;  ///< its address space, mapped files among it
  std::string huge_pages;           ///< always, madvise or never; empty: the system knows none
  bool has_random_numbers = false;  ///< the system gives random bytes
};

[[nodiscard]] MachineFacts machine_facts();

struct FolderFacts {
  std::string file_system;  ///< as "ext4"; a number where the name is not known
  bool is_network = false;  ///< files lie on another machine
  bool is_memory = false;   ///< files lie in memory
  bool is_read_only = false;
  bool is_writable = false;      ///< by this process
  std::uint64_t free_bytes = 0;  ///< for this user
};

/// Throws DataError where the folder cannot be looked at.
[[nodiscard]] FolderFacts folder_facts(const std::filesystem::path& folder);

/// The process that holds a lock of flock(2) on the file for itself, as far as the system tells.
[[nodiscard]] std::optional<std::int64_t> lock_holder(const std::filesystem::path& file);

}  // namespace unweave
