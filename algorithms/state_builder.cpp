#include "algorithms/state_builder.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "engine/parallel.h"
#include "storage/spool_file.h"
#include "storage/state_file.h"
#include "storage/store_layout.h"

namespace unweave {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAssemblyBytes = std::size_t{8} << 20;  // of one chunk of rows when tiles are put together

// In memory tiles cost nothing to put together, and a decoded graph little. Memory that was never touched before costs
// more than either: with 2^20 nodes x 128 features the first recomputation took 1.2 to 1.8 sweeps with tiles of 64
// columns and 0.9 to 1.4 with tiles of 32; later ones, 0.8 to 1.1, did not differ.
constexpr std::size_t kMostColumns = 32;

/// Wall time in which at least one call was inside, per tile.
class Stopwatch {
 public:
  void cover(Clock::time_point from, Clock::time_point to) {
    const std::scoped_lock lock(mutex_);
    first_ = first_ ? std::min(*first_, from) : from;
    last_ = std::max(last_, to);
  }
  void close() {
    if (first_) seconds_ += std::chrono::duration<double>(last_ - *first_).count();
    first_.reset();
    last_ = {};
  }
  [[nodiscard]] double seconds() const noexcept { return seconds_; }

 private:
  std::mutex mutex_;
  std::optional<Clock::time_point> first_;
  Clock::time_point last_{};
  double seconds_ = 0;
};

/// Writes the partitions of one level from whole rows in node order.
class LevelWriter {
 public:
  LevelWriter(const std::filesystem::path& store, std::uint32_t level, std::uint32_t columns, NodeId nodes,
              const RowMask* wanted)
      : store_(store), level_(level), columns_(columns), nodes_(nodes), wanted_(wanted) {}

  StatePartitionWriter& at(NodeId node) {
    while (!writer_ || node >= span_range(nodes_, entries_.size()).last) advance();
    return *writer_;
  }
  void add(std::span<const NodeId> ids, const std::int32_t* sums, std::span<const std::uint32_t> wide_positions,
           const std::int64_t* wide_sums) {
    if (ids.empty()) return;
    StatePartitionWriter& writer = at(ids.front());
    std::size_t done = 0;
    for (std::size_t i = 0; i < wide_positions.size(); ++i) {
      const std::size_t position = wide_positions[i];
      writer.add({sums + done * columns_, (position - done) * columns_});
      writer.add_wide(ids[position], {wide_sums + i * columns_, columns_});
      done = position + 1;
    }
    writer.add({sums + done * columns_, (ids.size() - done) * columns_});
  }
  std::vector<FileEntry> finish() {
    while (entries_.size() < num_spans(nodes_)) advance();
    return std::move(entries_);
  }

 private:
  /// Closes the open partition, if any, and opens the next one, if any.
  void advance() {
    if (writer_) {
      entries_.push_back(writer_->finish());
      writer_.reset();
      if (entries_.size() == num_spans(nodes_)) return;
    }
    const NodeRange range = span_range(nodes_, entries_.size());
    std::vector<std::uint64_t> members;
    if (wanted_ != nullptr) {
      members.resize((std::size_t{range.size()} + 63) / 64);
      for (NodeId node = range.first; node < range.last; ++node)
        if (wanted_->contains(node))
          members[(node - range.first) / 64] |= std::uint64_t{1} << ((node - range.first) % 64);
    }
    writer_.emplace(store_, level_, range, columns_, members);
  }

  const std::filesystem::path& store_;
  std::uint32_t level_;
  std::uint32_t columns_;
  NodeId nodes_;
  const RowMask* wanted_;
  std::optional<StatePartitionWriter> writer_;
  std::vector<FileEntry> entries_;
};

/// Column tiles of one level, until all of them are there.
class TileSpool {
 public:
  TileSpool(const std::filesystem::path& store, std::uint32_t columns) : file_(store), columns_(columns) {}

  void add(TileColumns tile, const SumRows& rows) {
    if (tiles_.empty() || tiles_.back().columns.first != tile.first) tiles_.push_back({tile, file_.size()});
    file_.append({reinterpret_cast<const char*>(rows.sums), rows.nodes.size() * tile.count * sizeof(std::int32_t)});
    for (std::size_t i = 0; i < rows.wide_nodes.size(); ++i) {
      const std::int64_t* piece = rows.wide_sums + i * tile.count;
      wide_[rows.nodes[rows.wide_nodes[i]]][tile.first].assign(piece, piece + tile.count);
    }
  }

  /// Hands whole rows to the writer; `ids` are all rows of the level in order.
  void assemble(const std::vector<NodeId>& ids, NodeId nodes, LevelWriter& writer) const {
    const std::size_t chunk_rows = std::max<std::size_t>(1, kAssemblyBytes / (columns_ * sizeof(std::int32_t)));
    const NodeId span = span_nodes(nodes);
    std::vector<std::int32_t> rows, piece;
    for (std::size_t first = 0; first < ids.size();) {
      // A chunk stays inside one partition.
      const auto end = std::upper_bound(ids.begin() + static_cast<std::ptrdiff_t>(first), ids.end(),
                                        (std::uint64_t{ids[first]} / span + 1) * span - 1);
      const std::size_t last = std::min(first + chunk_rows, static_cast<std::size_t>(end - ids.begin()));
      rows.resize((last - first) * columns_);
      for (const Tile& tile : tiles_) {
        const std::size_t width = tile.columns.count;
        piece.resize((last - first) * width);
        file_.read(tile.offset + first * width * sizeof(std::int32_t),
                   {reinterpret_cast<char*>(piece.data()), piece.size() * sizeof(std::int32_t)});
        for (std::size_t r = 0; r < last - first; ++r)
          std::copy_n(&piece[r * width], width, &rows[r * columns_ + tile.columns.first]);
      }
      write_rows({&ids[first], last - first}, rows, writer);
      first = last;
    }
  }

 private:
  struct Tile {
    TileColumns columns;
    std::uint64_t offset = 0;
  };

  void write_rows(std::span<const NodeId> ids, const std::vector<std::int32_t>& rows, LevelWriter& writer) const {
    std::vector<std::uint32_t> positions;
    std::vector<std::int64_t> wide_rows;
    for (auto it = wide_.lower_bound(ids.front()); it != wide_.end() && it->first <= ids.back(); ++it) {
      const auto position = static_cast<std::size_t>(std::lower_bound(ids.begin(), ids.end(), it->first) - ids.begin());
      positions.push_back(static_cast<std::uint32_t>(position));
      const std::size_t at = wide_rows.size();
      wide_rows.insert(wide_rows.end(), rows.begin() + static_cast<std::ptrdiff_t>(position * columns_),
                       rows.begin() + static_cast<std::ptrdiff_t>((position + 1) * columns_));
      for (const auto& [column, sums] : it->second)
        std::copy(sums.begin(), sums.end(), wide_rows.begin() + static_cast<std::ptrdiff_t>(at + column));
    }
    writer.add(ids, rows.data(), positions, wide_rows.data());
  }

  SpoolFile file_;
  std::size_t columns_;
  std::vector<Tile> tiles_;
  std::map<NodeId, std::map<std::size_t, std::vector<std::int64_t>>> wide_;
};

std::vector<NodeId> rows_of(NodeId nodes, const RowMask* wanted) {
  std::vector<NodeId> ids;
  ids.reserve(wanted != nullptr ? wanted->size() : nodes);
  for (NodeId node = 0; node < nodes; ++node)
    if (wanted == nullptr || wanted->contains(node)) ids.push_back(node);
  return ids;
}

PropagationOptions options_of(const SweepJob& job, bool in_order) {
  PropagationOptions options;
  options.features = job.columns;
  options.hops = static_cast<int>(job.last_level - job.first_level + 1);
  options.scale_bits = static_cast<int>(job.scale_bits);
  options.wanted = job.wanted;
  options.sweep.in_order = in_order;
  return options;
}

/// Runs the sweep and times it without the filling of the first densities.
SweepResult run_sweep(const Contents& contents, const SweepJob& job, const PropagationOptions& options,
                      MemoryBudget& budget, const LevelSink& sink, const std::function<void()>& finish) {
  const Clock::time_point start = Clock::now();
  Stopwatch filling;
  const TileFill fill = [&](TileColumns columns, NodeRange rows, std::int32_t* out) {
    const Clock::time_point from = Clock::now();
    job.fill(columns, rows, out);
    filling.cover(from, Clock::now());
  };
  const BlockSource source = block_source(contents.graph());
  SweepResult result;
  result.tiles = plan_tiles(source, options, budget).tiles;
  std::atomic<std::uint64_t> rows_done = 0;
  propagation_sweep(source, options, budget, fill, [&](int level, TileColumns columns, const SumRows& rows) {
    if (level == 1) filling.close();
    sink(level, columns, rows);
    rows_done += rows.nodes.size();
    if (job.progress) job.progress(rows.nodes.size(), result.tiles);
  });
  filling.close();
  finish();
  result.rows = rows_done / std::max<std::uint64_t>(1, result.tiles);
  result.seconds = std::chrono::duration<double>(Clock::now() - start).count() - filling.seconds();
  return result;
}

}  // namespace

SweepResult build_state_in_memory(const Contents& contents, const SweepJob& job, std::span<ResidentRows* const> rows,
                                  MemoryBudget& budget) {
  const LevelSink sink = [&](int level, TileColumns columns, const SumRows& sums) {
    ResidentRows& out = *rows[static_cast<std::size_t>(level - 1)];
    std::size_t wide = 0;
    for (std::size_t i = 0; i < sums.nodes.size(); ++i) {
      if (wide < sums.wide_nodes.size() && sums.wide_nodes[wide] == i)
        out.put_wide(sums.nodes[i], columns.first, columns.count, sums.wide_sums + wide++ * columns.count);
      else
        out.put(sums.nodes[i], columns.first, columns.count, sums.sums + i * columns.count);
    }
  };
  PropagationOptions options = options_of(job, false);
  options.most_columns = kMostColumns;
  return run_sweep(contents, job, options, budget, sink, [&] {
    for (ResidentRows* one : rows) one->finish();
  });
}

SweepResult build_state(const std::filesystem::path& store, const Contents& contents, const SweepJob& job,
                        MemoryBudget& budget) {
  const NodeId nodes = contents.num_nodes();
  const PropagationOptions options = options_of(job, true);
  const std::size_t tiles = plan_tiles(block_source(contents.graph()), options, budget).tiles;
  const auto mask = [&](std::size_t index) { return job.wanted.empty() ? nullptr : &job.wanted[index]; };
  std::vector<LevelWriter> writers;
  std::vector<TileSpool> spools;
  for (std::uint32_t level = job.first_level; level <= job.last_level; ++level) {
    writers.emplace_back(store, level, job.columns, nodes, mask(level - job.first_level));
    if (tiles > 1) spools.emplace_back(store, job.columns);
  }
  const LevelSink sink = [&](int level, TileColumns columns, const SumRows& rows) {
    const auto index = static_cast<std::size_t>(level - 1);
    if (tiles > 1)
      spools[index].add(columns, rows);
    else
      writers[index].add(rows.nodes, rows.sums, rows.wide_nodes, rows.wide_sums);
  };
  std::vector<std::vector<FileEntry>> partitions;
  SweepResult result = run_sweep(contents, job, options, budget, sink, [&] {
    for (std::size_t index = 0; index < writers.size(); ++index) {
      if (tiles > 1) spools[index].assemble(rows_of(nodes, mask(index)), nodes, writers[index]);
      partitions.push_back(writers[index].finish());
    }
  });
  result.partitions = std::move(partitions);
  return result;
}

}  // namespace unweave
