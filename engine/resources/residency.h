// engine/resources/residency.h - how much of some files lies in the page cache already, from a
// bounded sample.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "storage/types/file_entry.h"

namespace unweave {

inline constexpr std::size_t kResidencyWindows =
    256;  ///< ranges of 256 KiB that are looked at, of files that hold more

/// The share of the bytes of `files`, 0 to 1, whose pages lie in memory: of all pages where there
/// are at most `windows` times 256 KiB, else of so many ranges, spread evenly. Reads none of them.
/// Files that are missing or cannot be mapped are left out; without a byte the share is 1. A system
/// tells who may not write a file that all of it is there.
[[nodiscard]] double resident_share(std::span<const std::filesystem::path> files,
                                    std::size_t windows = kResidencyWindows);

/// That of files which a manifest names, in the folder of their store.
[[nodiscard]] double resident_share(const std::filesystem::path& store, std::span<const FileEntry> files,
                                    std::size_t windows = kResidencyWindows);

}  // namespace unweave
