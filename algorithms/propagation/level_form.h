// algorithms/propagation/level_form.h - what a propagation keeps of its levels: sums, or rows of
// values made of them.
//
// Both forms are planned, summed and joined by the same steps (run.h). What differs is here: the
// sizes, the sinks and the join. form_of() is the one place that chooses.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "algorithms/propagation/propagation_sweep.h"
#include "algorithms/propagation/tile_folder.h"
#include "engine/graph/contents.h"
#include "engine/ranks/ranks.h"
#include "engine/resources/memory.h"
#include "storage/formats/manifest.h"
#include "storage/types/file_entry.h"

namespace unweave {

class TileWriter;

/// Files of the store, as [level of the form][span]; empty where another rank writes one.
using LevelEntries = std::vector<std::vector<FileEntry>>;

/// What a propagation is going to take of memory and disk.
struct StatePlan {
  TilePlan tiles;
  std::uint64_t write_buffers = 0;  ///< size of the buffers in which rows wait to be written, as WriteBuffers takes it
  std::uint64_t state_bytes = 0;    ///< bytes of the new files; rows that need more than 32 bits come on top
  std::uint64_t spooled_bytes = 0;  ///< bytes of tiles that are written and read back; 0 where one tile has all columns
  std::uint64_t refill_bytes = 0;   ///< bytes of sums that are read to fill tiles for the next level
  std::uint64_t disk_bytes = 0;     ///< the most that files and spooled tiles take of the disk at a time
  std::uint64_t row_segments = 0;   ///< segments of the queue of kept rows (row_sink.h); 0 where sums are kept
  std::uint64_t row_batch = 0;      ///< rows of sums that a thread turns into kept values at a time
  std::uint64_t row_bytes = 0;      ///< memory of that queue and of those batches
  std::string lack{};               ///< why the memory does not do; empty: it does
  [[nodiscard]] std::uint64_t buffer_bytes() const;  ///< memory of the write buffers, the queue and the batches
  [[nodiscard]] std::uint64_t memory_bytes() const { return tiles.memory_bytes() + buffer_bytes(); }
  [[nodiscard]] bool fits() const noexcept { return lack.empty(); }
  /// Returns the plan; throws ResourceError unless it fits.
  [[nodiscard]] const StatePlan& require() const;
};

/// A sink whose sums become files of the store at once.
class FileSink : public LevelSink {
 public:
  /// Writes what is left and names the files, not yet durable. After finish().
  [[nodiscard]] virtual LevelEntries name_files() = 0;
};

/// Memory that a sink of tiles takes.
struct TileMemory {
  std::uint64_t write_buffers = 0;  ///< as WriteBuffers takes it
  std::uint64_t rows = 0;           ///< for the conversion of rows
  [[nodiscard]] std::uint64_t bytes() const;
};

/// What becomes of tiles that were joined.
enum class TileEnd { stay, removed };

/// The levels of one sweep in the form in which they are kept. References that it is made of must
/// outlive it.
class LevelForm {
 public:
  LevelForm() = default;
  virtual ~LevelForm() = default;
  LevelForm(const LevelForm&) = delete;
  LevelForm& operator=(const LevelForm&) = delete;

  /// "the sums", or "the rows".
  [[nodiscard]] virtual const char* name() const noexcept = 0;
  /// Whether tiles are worth more than one pass: else several of them go to their place in the
  /// files at once.
  [[nodiscard]] virtual bool joins_tiles() const noexcept = 0;
  /// Where the manifest names the files.
  [[nodiscard]] virtual std::vector<FileEntry> LevelFiles::*member() const noexcept = 0;
  [[nodiscard]] virtual TileForm tiles() const = 0;

  /// Plans the whole within so many bytes of memory.
  [[nodiscard]] virtual StatePlan plan(std::uint64_t available) const = 0;
  /// Bytes that are still to be written at a time by this plan, beside tiles of `there` bytes in a
  /// folder, from which so many columns are missing where it has some.
  [[nodiscard]] virtual std::uint64_t disk_bytes(const StatePlan& plan, std::uint64_t there,
                                                 std::uint64_t missing) const = 0;
  /// Bytes of what tiles that stay are joined to.
  [[nodiscard]] virtual std::uint64_t joined_bytes(const StatePlan& plan) const = 0;
  /// Cuts what is left of the sweep for some columns, of which all rows go into tiles of a folder.
  [[nodiscard]] virtual TilePlan plan_part(const SweepSpec& part, std::uint64_t available) const = 0;
  /// What to_tiles() is going to take.
  [[nodiscard]] virtual TileMemory tile_memory(const StatePlan& plan, std::uint64_t available) const = 0;

  /// For columns in one go, which `plan` cuts, into files of `store`.
  [[nodiscard]] virtual std::unique_ptr<FileSink> to_files(const std::filesystem::path& store, const StatePlan& plan,
                                                           MemoryBudget& budget) const = 0;
  /// For a part whose tiles have `width` columns at most, into tiles of the folder.
  [[nodiscard]] virtual std::unique_ptr<LevelSink> to_tiles(const TileFolder& folder, TileWriter& writer,
                                                            std::size_t width, const StatePlan& plan) const = 0;
  /// Joins tiles that cover all columns once into files of some spans of `store`, of all levels.
  /// Throws ResourceError, DataError.
  [[nodiscard]] virtual LevelEntries join(const std::filesystem::path& store, std::vector<FinishedTile>& tiles,
                                          RankShare spans, TileEnd end, const StatePlan& plan,
                                          MemoryBudget& budget) const = 0;
};

/// The form that the specification asks for. `sweep`, `contents` and `spec` must outlive it.
[[nodiscard]] std::unique_ptr<LevelForm> form_of(const Contents& contents, const PropagationSpec& spec,
                                                 const SweepSpec& sweep);

}  // namespace unweave
