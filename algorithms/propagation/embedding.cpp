// algorithms/propagation/embedding.cpp - opens the levels of an embedding, derives rows from them,
// and writes checkpoints.
#include "algorithms/propagation/embedding.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

#include "algorithms/propagation/expected_row.h"
#include "algorithms/propagation/row_values.h"
#include "engine/resources/look_ahead.h"
#include "engine/resources/parallel.h"
#include "storage/formats/level_files.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

std::vector<StoredRun> read_runs(const std::filesystem::path& store, const Manifest& manifest) {
  if (!manifest.propagation)
    throw UsageError(store.string() + ": not propagated yet; run " +
                     operation("propagate " + shell_word(store.string())) + " first");
  std::vector<StoredRun> runs;
  for (std::uint32_t level = 0; level < manifest.levels.size(); ++level) {
    const auto& entry = manifest.levels[level].run;
    runs.push_back(entry ? read_run(store, *entry, level, manifest.features, manifest.nodes) : StoredRun());
  }
  return runs;
}

}  // namespace

Embedding::Embedding(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
                     ColumnRange part)
    : Embedding(store, manifest, contents, part, read_runs(store, manifest)) {}

Embedding::Embedding(const std::filesystem::path& store, const Manifest& manifest, const Contents& contents,
                     ColumnRange part, const std::vector<StoredRun>& runs)
    : spec_(*manifest.propagation),
      part_(part),
      contents_(contents),
      power_(spec_.rho),
      cone_(store, manifest, contents, runs),
      indexes_(store, manifest),
      deferred_{ReceivedRows(manifest.nodes, part.count), false} {
  if (!spec_.kept.has_sums()) kept_.emplace(store, manifest, contents);
  for (std::uint32_t l = 1; !kept_ && l <= spec_.levels; ++l) {
    sums_.emplace_back(store, manifest, l, runs[l], part);
    cone_.know_rows(l, sums_.back().num_rows());
  }
  for (std::uint32_t l = 0; l < spec_.levels; ++l) {
    stale_.emplace_back(manifest.nodes, part.count);
    if (const auto& entry = manifest.levels[l].stale)
      stale_.back().load(store, *entry, l, [&](NodeId node) { return contents.graph().degree(node); });
  }
}

std::uint64_t Embedding::map_bytes(const Manifest& manifest) noexcept {
  const std::uint64_t levels = manifest.propagation->levels;
  const std::uint64_t counted = manifest.propagation->all_rows || levels == 0 ? 0 : levels - 1;
  return levels * StateLevel::map_bytes(manifest.nodes) + levels * StaleRows::map_bytes(manifest.nodes) +
         ReceivedRows::map_bytes(manifest.nodes) + counted * Cone::map_bytes(manifest.nodes) +
         LevelIndexes::map_bytes(manifest);
}

std::uint64_t Embedding::run_bytes(const std::filesystem::path& store, const Manifest& manifest) {
  std::uint64_t bytes = 0;
  // Numbers of rows that nobody has checked yet: those of too many rows are refused later.
  const auto rows = [&](std::uint64_t number) { return std::min<std::uint64_t>(number, manifest.nodes); };
  for (const LevelFiles& level : manifest.levels) {
    if (level.run) {
      const SealedFile file(store, *level.run, "run");
      const SealedParameters& p = file.parameters();
      bytes += StateLevel::run_bytes(rows(p[2]), rows(p[3]), rows(p[4]), manifest.features) + Cone::bytes(rows(p[5]));
    }
    if (level.stale) bytes += StaleRows::stored_bytes(rows(SealedFile(store, *level.stale, "stale").parameters()[2]));
  }
  return bytes;
}

void Embedding::require_sums(const std::filesystem::path& store) const {
  if (kept_)
    throw UsageError((store.empty() ? "this store" : store.string()) + ": keeps its " +
                     std::string(keep_name(spec_.kept.keep)) +
                     " in place of the sums, which streams and requests need; run " +
                     operation((store.empty() ? "propagate" : "propagate " + shell_word(store.string())) + ' ' +
                               option("keep", "state")));
}

std::uint64_t Embedding::stale_rows() const {
  std::uint64_t rows = 0;
  for (const StaleRows& one : stale_) rows += one.size();
  return rows;
}

bool Embedding::has_resident_levels() const noexcept {
  for (std::uint32_t l = 1; l <= levels(); ++l)
    if (level(l).is_resident()) return true;
  return false;
}

void Embedding::checkpoint(const std::filesystem::path& store, bool fold, std::vector<LevelFiles>& files,
                           MemoryBudget& budget, const std::function<void()>& advance, const WholeLevel& whole) const {
  if (kept_) return;  // nothing can have changed them
  std::vector<Run> runs(files.size());
  cone_.checkpoint(store, fold, files, runs);
  for (std::uint32_t l = 0; l <= levels(); ++l) {
    drop_files(files[l], FileRole::overlay);
    if (indexes_.ended()) drop_files(files[l], FileRole::index);
    const std::shared_ptr<const StateLevel> joined = whole && l > 0 ? whole(l) : nullptr;
    const auto sums = [&]() -> const StateLevel& { return joined ? *joined : level(l); };
    if (l > 0) files[l].partitions = sums().checkpoint(store, fold, runs[l], budget);
    if (!runs[l].empty())
      files[l].run =
          write_run(store, l, contents_.features().columns(), runs[l], [&](NodeId node) { return sums().row(node); });
    if (l < levels()) files[l].stale = stale_[l].checkpoint(store, l);
    if (l > 0 && advance) advance();
  }
}

void Embedding::read_ahead(std::uint32_t level, NodeRange nodes) const noexcept {
  if (level == 0)
    contents_.features().read_ahead(nodes, part_.first, part_.count);
  else if (!kept_)
    sums_[level - 1].read_ahead(nodes);
  else if (level >= kept_->first_level())
    kept_->level(level).read_ahead(nodes);
}

void Embedding::normalised_sums(std::uint32_t level, NodeId node, std::int32_t* out) const {
  const std::uint32_t degree = contents_.graph().degree(node);
  if (level > 0) {
    density_from_sums(expected_row(this->level(level), node), columns(), degree, out);
    return;
  }
  std::vector<float> x(columns());
  contents_.features().read({node, node + 1}, part_.first, part_.count, x.data());
  power_.level0(x, degree, spec_.scale_bits, out);
}

void Embedding::published(std::uint32_t level, NodeId node, std::int32_t* out) const {
  normalised_sums(level, node, out);
  stale_[level].add_to(node, -1, out);
}

bool Embedding::received(NodeId node, std::int32_t* out) const {
  const std::optional<ReceivedRow> row = deferred_.rows.find(node);
  if (!row) return false;
  if (row->values != nullptr)
    std::copy_n(row->values, columns(), out);
  else
    density_from_sums(row->sums, columns(), row->degree, out);
  return true;
}

void Embedding::normalised_tile(std::uint32_t level, TileColumns tile, NodeRange rows, std::int32_t* out) const {
  this->level(level).read_ahead(rows);
  const auto width = static_cast<std::uint32_t>(tile.count);
  const auto first = static_cast<std::uint32_t>(tile.first);
  for (NodeId node = rows.first; node < rows.last; ++node) {
    std::int32_t* row = out + std::size_t{node - rows.first} * width;
    StateRow sums = sums_[level - 1].row(node);
    if (!sums.exists()) {
      std::fill_n(row, width, 0);
      continue;
    }
    if (sums.narrow != nullptr) sums.narrow += first;
    if (sums.wide != nullptr) sums.wide += first;
    density_from_sums(sums, width, contents_.graph().degree(node), row);
  }
}

std::size_t Embedding::row_width(std::span<const double> weights) const {
  const std::size_t levels = spec_.levels + std::size_t{1};
  if (weights.empty() || weights.size() % levels != 0)
    throw UsageError("weights: " + std::to_string(weights.size()) + " given, the store has " + std::to_string(levels) +
                     " levels");
  return weights.size() / levels * columns();
}

void Embedding::rows(std::span<const NodeId> nodes, std::span<const double> weights, float* out) const {
  const std::size_t levels = spec_.levels + std::size_t{1}, width = row_width(weights),
                    blocks = weights.size() / levels;
  if (!deferred_.empty()) throw std::logic_error("rows of an embedding whose last level is behind");
  if (part_.count != contents_.features().columns()) throw std::logic_error("rows of an embedding of some columns");
  for (const NodeId node : nodes)
    if (!is_target(node))
      throw UsageError(contents_.order().text(node) +
                       (contents_.graph().list_weight(node) == 0 && contents_.is_blank(node)
                            ? " has no edges, features and label: it was removed, or never had any, and has no "
                              "embedding; take it out of the list"
                            : " has no embedding in this store (not a target); run " + operation("propagate") +
                                  " with " + option("rows", "all")));
  if (kept_) return kept_->rows(nodes, weights, out);
  const double unit = unit_of(spec_.scale_bits);
  const std::vector<bool> used = used_levels(weights, spec_.levels);
  parallel_ranges(0, nodes.size(), 256, [&](std::size_t first, std::size_t last) {
    std::vector<std::int32_t> t(columns());
    std::vector<double> sum(width);
    LookAhead ahead(first, last, [&](std::size_t i) {
      for (std::uint32_t l = 0; l <= spec_.levels; ++l)
        if (used[l]) read_ahead(l, {nodes[i], nodes[i] + 1});
    });
    for (std::size_t i = first; i < last; ++i) {
      ahead.at(i);
      std::fill(sum.begin(), sum.end(), 0.0);
      for (std::uint32_t l = 0; l <= spec_.levels; ++l) {
        if (!used[l]) continue;
        normalised_sums(l, nodes[i], t.data());
        for (std::size_t b = 0; b < blocks; ++b) {
          const double weight = weights[b * levels + l];
          if (weight == 0) continue;
          add_level(weight, std::span<const std::int32_t>(t), sum.data() + b * columns());
        }
      }
      finish_row(power_.inverse(contents_.graph().degree(nodes[i])) * unit, sum, out + i * width);
    }
  });
}

Reservation reserve_embedding(const std::filesystem::path& store, const Manifest& manifest, MemoryBudget& budget) {
  return budget.reserve(Embedding::map_bytes(manifest) + Embedding::run_bytes(store, manifest),
                        "maps and rows of the embedding");
}

}  // namespace unweave
