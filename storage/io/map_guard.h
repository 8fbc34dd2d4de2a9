// storage/io/map_guard.h - mapped files that are cut short under us give an error, not a death by
// SIGBUS.
//
// Reading a page of a map that its file has lost raises SIGBUS. The handler of this process puts a
// page of zeros there and notes it; whoever reads goes on with zeros and must ask, before anybody
// relies on what it made of them, whether all maps are whole. The first map installs the handler. A
// SIGBUS anywhere else goes to the handler that was there before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>

namespace unweave {

/// From now on a part of this map may go missing. `map` begins a page; `descriptor` is that of its
/// file, open at `path`.
void guard_map(const std::byte* map, std::uint64_t bytes, const std::filesystem::path& path, int descriptor);
/// Before it is unmapped; notes where its file has become shorter than it, by less than a page
/// even.
void forget_map(const std::byte* map) noexcept;

/// Pages of all guarded maps leave this process, but not the page cache: whoever reads one again
/// mostly finds it there. For scans of more than memory holds, since the system takes back pages
/// that are mapped one by one, with an interrupt of all processors for a few of them.
void release_mapped_pages() noexcept;

namespace detail {
extern std::atomic<bool> a_map_was_cut;
[[noreturn]] void fail_cut_map();
}  // namespace detail

/// Throws FormatError when pages of a map that was read have gone missing, at any time in this
/// process: again and again while the map is there, once when it is gone. Costs one load.
inline void require_whole_maps() {
  if (detail::a_map_was_cut.load(std::memory_order_acquire)) detail::fail_cut_map();
}
/// Throws as require_whole_maps() does, and also where the file of a map that is there lost less
/// than a page, which no signal tells of: it compares lengths.
void require_whole_files();

}  // namespace unweave
