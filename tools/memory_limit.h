// tools/memory_limit.h - how much memory a process may use on this machine.
#pragma once

#include <cstdint>
#include <filesystem>

namespace unweave {

/// Bytes of physical memory, or of the tightest limit among the process's control groups (versions 1 and 2) if that is
/// less. Files that are missing or unreadable are passed over; 2 GiB if nothing at all is known.
/// `root` stands for "/": tests give a folder with the same files.
[[nodiscard]] std::uint64_t memory_limit(const std::filesystem::path& root = "/");

/// The default of --memory: 80 % of memory_limit().
[[nodiscard]] std::uint64_t default_memory(const std::filesystem::path& root = "/");

}  // namespace unweave
