// algorithms/live/tile_jobs.h - a propagation in jobs: each sums some columns of a store that it
// only reads, and writes their tiles; propagate() joins them. And what becomes of tiles when
// contents change.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "algorithms/live/propagate.h"
#include "algorithms/live/reports.h"
#include "algorithms/propagation/level_form.h"
#include "algorithms/propagation/tile_folder.h"
#include "engine/resources/memory.h"
#include "storage/types/propagation_spec.h"

namespace unweave {

class LiveStore;
struct Manifest;
class Ranks;

/// A word for the contents of a store with so many acknowledged requests: what its sums follow
/// from. Embedding, models and journal are not part of it.
[[nodiscard]] std::string contents_word(const Manifest& manifest, std::uint64_t sequence);

/// Where parts of this propagation of the store's present contents are kept.
[[nodiscard]] TileFolder tile_folder(const LiveStore& store, const PropagationSpec& spec);

/// Throws UsageError where parts of a propagation with other options are kept, which names both
/// ways to go on.
void require_no_other_tiles(const LiveStore& store, const TileFolder& tiles);
/// Throws UsageError where nothing of this propagation is there to be joined.
void require_tile_folder(const LiveStore& store, const PropagationSpec& spec, const TileFolder& tiles);

/// Removes all that is kept of propagations that are not finished.
void remove_tiles(const std::filesystem::path& store) noexcept;
/// Removes what is kept of other contents than those of this manifest after so many requests.
void remove_stale_tiles(const std::filesystem::path& store, const Manifest& manifest, std::uint64_t sequence);

/// Bytes of all that is kept of propagations that are not finished.
[[nodiscard]] std::uint64_t tile_bytes(const std::filesystem::path& store);

/// A tile file.
struct CheckedTile {
  std::filesystem::path path;
  std::string damage;  ///< what is wrong with it; empty: nothing
};
/// All tiles of a store with so many nodes, by name, after every byte of them was read.
[[nodiscard]] std::vector<CheckedTile> check_tiles(const std::filesystem::path& store, NodeId nodes);

/// The columns of one of `jobs` jobs, which are all about as wide; where there are enough of them,
/// whole cache lines.
[[nodiscard]] TileColumns job_columns(std::uint32_t columns, std::uint64_t index, std::uint64_t jobs,
                                      std::uint32_t scale_bits);

/// Bytes that the tiles of all ranks take, one each, with what is joined of them: tiles stay until
/// everything is joined. `plan`: that of all columns.
[[nodiscard]] std::uint64_t shared_bytes(const LevelForm& form, const PropagationSpec& spec, std::uint32_t columns,
                                         std::uint64_t ranks, const StatePlan& plan);

/// Sums columns of a store that is open for reading, and writes their tiles, durable. Any number of
/// processes may do so at a time, also for the same columns, and each may be killed and begun
/// again. Throws UsageError (options; more jobs than columns; parts of other options),
/// ResourceError (memory, disk), DataError; also where the contents change meanwhile. With `ranks`,
/// all of which call it, each for a job of its own, every rank makes the files of a share of the
/// spans of sums when all jobs are done, durable, and `joined` names them where the form joins
/// tiles: what is left to do then is to publish them.
TileReport propagate_tiles(const LiveStore& store, const PropagationSpec& spec, const TileChoice& choice,
                           MemoryBudget& budget, const PropagateMeter& progress, Ranks* ranks = nullptr,
                           LevelEntries* joined = nullptr);

}  // namespace unweave
