// algorithms/propagation/recompute.cpp - plans and runs sweeps over levels of an embedding, and
// sums single rows.
#include "algorithms/propagation/recompute.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "algorithms/propagation/level0.h"
#include "algorithms/propagation/resident_sink.h"
#include "algorithms/propagation/run.h"
#include "algorithms/propagation/sum_form.h"
#include "engine/graph/resident_rows.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/memory_shares.h"
#include "engine/sweep/sum_check.h"
#include "storage/io/error.h"
#include "storage/io/readable_bytes.h"

namespace unweave {
namespace {

/// Turns present normalised sums into published ones.
void take_stale(const StaleRows& stale, std::uint32_t all_columns, TileColumns tile, NodeRange rows,
                std::int32_t* out) {
  if (stale.size() == 0) return;
  std::vector<std::int32_t> row(all_columns);
  for (NodeId node = rows.first; node < rows.last; ++node, out += tile.count) {
    if (!stale.contains(node)) continue;
    std::fill(row.begin(), row.end(), 0);
    stale.add_to(node, 1, row.data());
    for (std::size_t c = 0; c < tile.count; ++c) out[c] -= row[tile.first + c];
  }
}

std::uint64_t mask_bytes(const Contents& contents, const Embedding& embedding, std::uint32_t first,
                         std::uint32_t last) {
  return embedding.cone().all_rows() ? 0 : (last - first + 1) * RowMask::bytes(contents.num_nodes());
}

/// The rows that these levels keep; none where they keep all.
std::vector<RowMask> masks_of(const Contents& contents, const Embedding& embedding, std::uint32_t first,
                              std::uint32_t last) {
  std::vector<RowMask> masks;
  if (embedding.cone().all_rows()) return masks;
  for (std::uint32_t l = first; l <= last; ++l) {
    RowMask& mask = masks.emplace_back(contents.num_nodes());
    for (NodeId node = 0; node < contents.num_nodes(); ++node)
      if (embedding.cone().contains(l, node)) mask.insert(node);
  }
  return masks;
}

SweepSpec sweep_of(const Embedding& embedding, std::uint32_t first, std::uint32_t last,
                   std::span<const RowMask> masks) {
  SweepSpec sweep;
  sweep.first_level = first;
  sweep.levels = last - first + 1;
  sweep.columns = {0, embedding.columns()};
  sweep.scale_bits = embedding.spec().scale_bits;
  sweep.wanted = masks;
  return sweep;
}

/// Tiles for levels in memory. There they cost nothing to put together, and a decoded graph little.
/// Memory that was never touched before costs more than either: with 2^20 nodes x 128 features the
/// first recomputation took 1.2 to 1.8 sweeps with tiles of 64 columns and 0.9 to 1.4 with tiles of
/// 32; later ones, 0.8 to 1.1, did not differ.
TilePlan plan_in_memory(const Contents& contents, SweepSpec sweep, std::uint64_t available) {
  sweep.most_columns = 32;
  return plan_tiles(block_source(contents.graph()), sweep, available);
}

/// Bytes of these levels in memory beyond what those take that are there; none where not all have
/// room.
std::optional<std::uint64_t> resident_bytes(const Contents& contents, const Embedding& embedding,
                                            std::uint64_t available, std::uint32_t first, std::uint32_t last) {
  const std::uint64_t level_bytes = ResidentRows::bytes(contents.num_nodes(), embedding.columns());
  std::uint64_t bytes = 0;
  for (std::uint32_t l = first; l <= last; ++l) {
    if (embedding.level(l).is_resident()) continue;
    if (!StateLevel::has_room(level_bytes, available - bytes)) return std::nullopt;
    bytes += level_bytes;
  }
  return bytes;
}

/// What tiles and buffers may take of the memory available.
std::uint64_t planned(std::uint64_t available) {
  constexpr std::uint64_t kMostUnplanned = std::uint64_t{256} << 10;
  return available - std::min(kMostUnplanned, memory_shares::kUnplanned.of(available));
}

}  // namespace

RecomputePlan plan_recompute(const Contents& contents, const Embedding& embedding, MemoryBudget& budget,
                             std::uint32_t first, std::uint32_t last) {
  const std::uint64_t available = budget.available(), bytes = mask_bytes(contents, embedding, first, last);
  if (bytes > available)
    return {.lack = "masks of the rows to keep need " + readable_bytes(bytes) + " of memory, " +
                    readable_bytes(available) + " available; raise " + option("memory")};
  const Reservation charged = budget.reserve(bytes, "masks of the rows to keep");
  const std::vector<RowMask> masks = masks_of(contents, embedding, first, last);
  const SweepSpec sweep = sweep_of(embedding, first, last, masks);
  std::uint64_t left = budget.available();
  const std::optional<std::uint64_t> resident = resident_bytes(contents, embedding, left, first, last);
  left -= resident.value_or(0);
  RecomputePlan plan{available - left, 0, 0, resident.has_value(), {}};
  if (resident) {
    const TilePlan tiles = plan_in_memory(contents, sweep, planned(left));
    plan.lack = tiles.lack;
    plan.memory_bytes += tiles.memory_bytes();
    for (std::uint32_t l = first; l <= last; ++l)
      plan.disk_bytes += embedding.cone().rows(l) * embedding.columns() * sizeof(std::int32_t);
    plan.written_bytes = plan.disk_bytes;
  } else {
    const StatePlan files = SumForm(contents, sweep).plan(planned(left));
    plan.lack = files.lack;
    plan.memory_bytes += files.memory_bytes();
    plan.disk_bytes = files.disk_bytes;
    plan.written_bytes = files.state_bytes + files.spooled_bytes;
  }
  return plan;
}

std::uint64_t recompute_levels(const Contents& contents, Embedding& embedding, MemoryBudget& budget,
                               const std::filesystem::path& store, std::uint32_t first, std::uint32_t last) {
  const Reservation charged = budget.reserve(mask_bytes(contents, embedding, first, last), "masks of the rows to keep");
  const std::vector<RowMask> masks = masks_of(contents, embedding, first, last);
  const SweepSpec sweep = sweep_of(embedding, first, last, masks);
  const std::size_t shift = embedding.part().first;
  TileFill current = [fill = level0_fill(contents, embedding.spec()), shift](TileColumns columns, NodeRange rows,
                                                                             std::int32_t* out) {
    fill({columns.first + shift, columns.count}, rows, out);
  };
  if (first > 1)
    current = [&](TileColumns columns, NodeRange rows, std::int32_t* out) {
      embedding.normalised_tile(first - 1, columns, rows, out);
    };
  const LevelSource below{[&](TileColumns columns, NodeRange rows, std::int32_t* out) {
    current(columns, rows, out);
    take_stale(embedding.stale(first - 1), embedding.columns(), columns, rows, out);
  }};
  // Where not all levels have room in memory, none takes any.
  const bool in_memory = resident_bytes(contents, embedding, budget.available(), first, last).has_value();
  std::vector<ResidentRows*> rows;
  for (std::uint32_t l = first; in_memory && l <= last; ++l)
    rows.push_back(embedding.level(l).recompute_in_memory(budget));
  const SumForm form(contents, sweep);
  StatePlan plan;
  if (in_memory)
    plan.tiles = plan_in_memory(contents, sweep, planned(budget.available())).require();
  else
    plan = form.plan(planned(budget.available())).require();
  const PropagationJob job{store, contents, sweep,   form, plan,
                           below, budget,   nullptr, {},   "have changes pushed (" + option("plan", "push") + ")"};
  SweepResult result;
  if (in_memory) {
    ResidentSink sink(rows, first);
    result = run_sweep(job, sweep, plan.tiles, below, plan.tiles.tiles, sink);
  } else {
    result = run_whole(job);
    for (std::uint32_t l = first; l <= last; ++l) embedding.level(l).replace(store, result.files[l - first]);
  }
  for (std::uint32_t l = first; l < last; ++l) embedding.stale(l).clear();
  return result.rows;
}

std::uint64_t recompute_rows(const Contents& contents, Embedding& embedding, std::uint32_t level,
                             std::span<const NodeId> rows) {
  if (rows.empty()) return 0;
  const std::uint32_t columns = embedding.columns();
  const FingerprintKey key(1, columns);
  const ColumnFactors factors = key.columns(0);
  std::uint64_t arcs = 0;
  NeighbourList list;
  std::vector<std::int32_t> one(columns);
  std::vector<std::int64_t> sum(columns);
  LookAhead lists(0, rows.size(), [&](std::size_t i) { contents.graph().read_ahead(rows[i]); });
  for (std::size_t i = 0; i < rows.size(); ++i) {
    lists.at(i);
    contents.graph().neighbours(rows[i], list);
    std::fill(sum.begin(), sum.end(), 0);
    std::uint64_t expected = 0;
    const auto add = [&](NodeId node, std::uint32_t weight) {
      embedding.published(level - 1, node, one.data());
      const std::uint64_t fingerprint = fingerprint_of(std::span<const std::int32_t>(one), factors);
      const auto times = static_cast<std::int32_t>(weight);
      expected = factors.modulus.add(expected, factors.modulus.multiply(times, fingerprint));
      for (std::uint32_t c = 0; c < columns; ++c) sum[c] += std::int64_t{times} * one[c];
    };
    const std::vector<NodeId>& ids = list.ids;
    LookAhead neighbours(0, ids.size() + 1, [&](std::size_t j) {
      const NodeId node = j < ids.size() ? ids[j] : rows[i];
      embedding.read_ahead(level - 1, {node, node + 1});
    });
    std::size_t turn = 0;
    for_neighbours(list.view(), [&](NodeId node, std::uint32_t weight) {
      neighbours.at(turn);
      turn += list.weights.empty() ? weight : 1;
      add(node, weight);
    });
    add(rows[i], contents.graph().self_weight());
    embedding.level(level).store(rows[i], sum.data());
    if (fingerprint_of(embedding.level(level).row(rows[i]), columns, factors) != expected)
      throw_wrong_sums(level, contents.num_nodes(), rows[i]);
    arcs += ids.size() + 1;
  }
  return arcs;
}

}  // namespace unweave
