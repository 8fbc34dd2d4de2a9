// algorithms/propagation/tile_writer.h - tiles on their way into a folder.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "algorithms/propagation/tile_folder.h"
#include "storage/formats/tile_file.h"
#include "storage/io/write_behind.h"

namespace unweave {

/// Writes the tiles of a sweep, level after level of each, and names them as soon as they are
/// written. From any thread.
class TileWriter {
 public:
  /// `norms` gives the sums of features of a tile's columns, kTileNormBytes each. References must
  /// outlive this object.
  TileWriter(const TileFolder& folder, const TileForm& form, WriteBehind& queue,
             std::function<std::vector<std::byte>(TileColumns)> norms)
      : folder_(folder), form_(form), queue_(queue), norms_(std::move(norms)) {}

  /// The image of the level at `index` of the form.
  [[nodiscard]] TileImage& at(std::size_t index, TileColumns columns);
  /// All rows of the level were put.
  void finish(std::size_t index, TileColumns columns, std::span<const std::byte> proof);
  /// Names what is written by now, where a moment has passed since the last call; cheap.
  void publish_written();
  /// Waits until all is written, and names it.
  void publish_all();

 private:
  void publish(bool all);
  /// Whether a moment has passed since it said so.
  [[nodiscard]] bool has_moment_passed() noexcept;

  const TileFolder& folder_;
  const TileForm& form_;
  WriteBehind& queue_;
  std::function<std::vector<std::byte>(TileColumns)> norms_;
  std::mutex mutex_;  ///< guards the next
  std::map<std::size_t, std::unique_ptr<TileImage>> open_;
  std::mutex publishing_;  ///< guards the next
  std::vector<std::unique_ptr<TileImage>> finished_;
  std::atomic<std::int64_t> next_moment_ = 0;  ///< milliseconds of the steady clock
};

}  // namespace unweave
