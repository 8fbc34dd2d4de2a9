// engine/generations/store_purge.h - how a purge replaces one generation by another and then
// removes everything else, so that a crash at any point leaves the store as it was or a removal
// that can be finished.
//
// A mark in the store says that a purge has begun. Before the manifest is swapped the mark is given
// the checksum of the new one: where the manifest is that one the purge is decided, whatever still
// lies there, and whoever opens the store for writing finishes it.
#pragma once

#include <cstdint>
#include <filesystem>

namespace unweave {

struct Manifest;

enum class PurgeState {
  none,
  begun,    ///< the store is what it was before
  decided,  ///< the manifest is the new one; what it does not name is not part of the store any more
};

/// Throws DataError when the mark cannot be read.
[[nodiscard]] PurgeState purge_state(const std::filesystem::path& store);

// The caller of what follows holds the writer's lock.

/// Leaves the mark; durable on return.
void begin_purge(const std::filesystem::path& store);
/// Removes the mark and all files that the present manifest does not name, so that nothing has
/// happened. Does nothing where the purge is decided.
void abandon_purge(const std::filesystem::path& store);
/// Makes the files of `after` durable, swaps the manifest and finishes the purge. Returns the bytes
/// of the files that it removed. Throws ResourceError, DataError; then purge_state() says whether
/// `after` holds.
std::uint64_t commit_purge(const std::filesystem::path& store, const Manifest& before, const Manifest& after);
/// Removes models that the decided `manifest` does not name, the journal, what is not public of
/// certificates and whatever else it does not name, calls level_times(), and removes the mark last.
/// Durable on return. Returns the bytes of the files that it removed.
std::uint64_t finish_purge(const std::filesystem::path& store, const Manifest& manifest);

/// Gives all files and folders of a purged store one time of last change and access, the present
/// second: those of files that a purge has kept and written would say where something was removed.
/// It is no time of the past, since programs that copy files only where size or time differ must
/// see that the store is another one. Durable on return. Returns how many files keep theirs because
/// the system does not let this user set it, as with files of another user. Throws DataError,
/// ResourceError.
std::uint64_t level_times(const std::filesystem::path& store);

}  // namespace unweave
