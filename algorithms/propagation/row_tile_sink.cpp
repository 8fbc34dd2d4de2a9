// algorithms/propagation/row_tile_sink.cpp - puts values into images of tiles, block by block.
#include "algorithms/propagation/row_tile_sink.h"

#include <algorithm>

#include "algorithms/propagation/row_sink.h"

namespace unweave {

RowTileSink::RowTileSink(const TileFolder& folder, TileWriter& writer, const Contents& contents,
                         const PropagationSpec& spec, const RowMask* targets, std::size_t width, std::size_t batch)
    : writer_(writer),
      contents_(contents),
      spec_(spec),
      first_level_(first_kept_level(spec)),
      ranks_(contents.num_nodes(), targets),
      converter_(folder.path(), contents, spec, targets, width, batch,
                 [this](std::uint32_t level, TileColumns some, std::span<const NodeId> nodes, const float* values) {
                   take(level, some, nodes, values);
                 }) {}

void RowTileSink::take(std::uint32_t level, TileColumns some, std::span<const NodeId> nodes, const float* values) {
  KeptBits bits(contents_, spec_.kept);
  const std::size_t all = contents_.features().columns(), blocks = blocks_of_rows(spec_);
  const std::uint64_t rank = ranks_.before(nodes.front());
  const std::size_t index = level - first_level_;
  if (blocks == 1 || some.count < blocks * all) {
    writer_.at(index, {some.first % all, some.count})
        .put(static_cast<std::uint32_t>(some.first / all), rank,
             bits.of(level, some, nodes, {values, nodes.size() * some.count}));
    return;
  }
  // All blocks of whole rows: a tile has them one after another.
  std::vector<float> block(nodes.size() * all);
  for (std::size_t b = 0; b < blocks; ++b) {
    for (std::size_t i = 0; i < nodes.size(); ++i) std::copy_n(values + (i * blocks + b) * all, all, &block[i * all]);
    writer_.at(index, {0, all}).put(static_cast<std::uint32_t>(b), rank, bits.of(level, {b * all, all}, nodes, block));
  }
}

void RowTileSink::put(std::uint32_t level, TileColumns columns, const SumRows& rows) {
  converter_.put(level, columns, rows);
  writer_.publish_written();
}

void RowTileSink::end(std::uint32_t level, TileColumns columns, const LevelProof& /*proof*/) {
  if (level >= first_level_) writer_.finish(level - first_level_, columns, {});
}

}  // namespace unweave
