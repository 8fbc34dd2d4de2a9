// algorithms/propagation/sum_tile_sink.cpp - puts sums into images of tiles, and names these with
// their proof.
#include "algorithms/propagation/sum_tile_sink.h"

#include <memory>

namespace unweave {

SumTileSink::SumTileSink(const TileFolder& folder, TileWriter& writer, const Contents& contents, const SweepSpec& sweep)
    : folder_(folder), writer_(writer), contents_(contents), first_level_(sweep.first_level) {
  for (std::size_t index = 0; index < sweep.levels; ++index)
    ranks_.emplace_back(contents.num_nodes(), sweep.mask(index));
}

void SumTileSink::put(std::uint32_t level, TileColumns columns, const SumRows& rows) {
  put_sums(writer_.at(index(level), columns), ranks_[index(level)], rows);
  writer_.publish_written();
}

void SumTileSink::end(std::uint32_t level, TileColumns columns, const LevelProof& proof) {
  writer_.finish(index(level), columns, proof_of(proof.key, columns.first, columns.count, proof.sums));
}

TileFill SumTileSink::refill(std::uint32_t level, TileColumns columns) {
  writer_.publish_all();
  const auto tile =
      std::make_shared<TileFile>(folder_.path() / tile_name(level, static_cast<std::uint32_t>(columns.first),
                                                            static_cast<std::uint32_t>(columns.count)),
                                 contents_.num_nodes());
  return [tile, fill = fill_from_tile(*tile, contents_, nullptr, PageCache::passed)](
             TileColumns some, NodeRange rows, std::int32_t* out) { fill(some, rows, out); };
}

}  // namespace unweave
