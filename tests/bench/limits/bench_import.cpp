// tests/bench/limits/bench_import.cpp - times an import, and the moves of as many bytes.
#include "bench/limits/bench_import.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "algorithms/synthetic/rmat.h"
#include "engine/ingest/store_import.h"
#include "engine/resources/clock.h"
#include "engine/resources/memory.h"
#include "engine/resources/parallel.h"
#include "engine/resources/pipeline.h"
#include "engine/resources/work_meter.h"
#include "storage/formats/manifest.h"
#include "storage/input/bytes/byte_source.h"
#include "storage/io/entry.h"
#include "storage/io/file.h"
#include "storage/io/spool_file.h"
#include "storage/io/stream_writer.h"
#include "storage/npy/npy_writer.h"

namespace unweave {
namespace {

constexpr std::uint64_t kEdgesAtOnce = std::uint64_t{1} << 16;
constexpr std::uint64_t kPieceBytes = std::uint64_t{1} << 19;  // as many edges as `import` reads at a time
constexpr std::uint64_t kChunkBytes = std::uint64_t{1} << 16;  // as `import` spools arcs, at most
constexpr std::uint64_t kReadAhead = std::uint64_t{1} << 26;   // bytes of the spool, as `import` asks for it

struct EdgePiece {
  std::uint64_t first = 0, last = 0;
  std::vector<std::int32_t> ids;
};

void write_edges(const std::filesystem::path& file, const ImportBenchOptions& options, WorkMeter& meter) {
  const std::uint64_t edges = options.edge_factor << options.scale;
  const std::uint64_t shape[] = {edges, 2};
  NpyWriter writer(file, "<i4", sizeof(std::int32_t), shape);
  meter.start("edges to import", edges, "edges");
  std::uint64_t next = 0;
  run_pipeline<EdgePiece>(
      [&](EdgePiece& piece) {
        piece.first = next;
        piece.last = next = std::min(next + kEdgesAtOnce, edges);
        return piece.first < piece.last;
      },
      [&](EdgePiece& piece) {
        piece.ids.clear();
        for (std::uint64_t i = piece.first; i < piece.last; ++i) {
          const Edge edge = rmat_edge(options.seed, i, options.scale);
          piece.ids.push_back(static_cast<std::int32_t>(edge.u));
          piece.ids.push_back(static_cast<std::int32_t>(edge.v));
        }
      },
      [&](const EdgePiece& piece) {
        writer.append(std::span<const std::int32_t>(piece.ids));
        meter.advance(piece.last - piece.first);
      });
  writer.finish();
}

/// What an import moves.
struct Traffic {
  std::filesystem::path input;
  std::uint64_t input_bytes = 0, spooled_bytes = 0;
  std::vector<std::uint64_t> shards;  ///< bytes of each

  [[nodiscard]] std::uint64_t shard_bytes() const {
    return std::accumulate(shards.begin(), shards.end(), std::uint64_t{0});
  }
};

struct TrafficPiece {
  std::vector<char> bytes;
  std::uint64_t from = 0, to = 0;  ///< part of the spool
  std::uint64_t read_back = 0;     ///< bytes of it
  std::uint64_t output = 0;        ///< bytes for the shards
};

/// Part `done` of `all` of `total`, so that parts add up to it.
std::uint64_t share(std::uint64_t total, std::uint64_t done, std::uint64_t all) {
  return all == 0 ? total : static_cast<std::uint64_t>(UInt128{total} * done / all);
}

/// The first half of an import: one thread reads, all spool. Returns the bytes that were read.
std::uint64_t read_and_spool(const Traffic& traffic, SpoolFile& spool) {
  ByteSource source({traffic.input, {}});
  std::uint64_t read = 0;
  run_pipeline<TrafficPiece>(
      [&](TrafficPiece& piece) {
        piece.bytes.resize(kPieceBytes);
        const std::uint64_t before = read;
        read += source.read(piece.bytes);
        piece.from = share(traffic.spooled_bytes, before, traffic.input_bytes);
        piece.to = share(traffic.spooled_bytes, read, traffic.input_bytes);
        return read > before;
      },
      [&](TrafficPiece& piece) {
        for (std::uint64_t at = piece.from; at < piece.to; at += kChunkBytes)
          spool.append(std::span<const char>(piece.bytes).first(std::min(kChunkBytes, piece.to - at)));
      },
      [](const TrafficPiece&) {});
  return read;
}

/// The second half: all threads read the spool, one writes shards, which are durable in the end.
/// Returns the bytes that were read and written.
std::uint64_t read_back_and_write(const Traffic& traffic, const SpoolFile& spool, const std::filesystem::path& folder) {
  const std::uint64_t output = traffic.shard_bytes();
  const std::uint64_t pieces = (std::max(spool.size(), output) + kPieceBytes - 1) / kPieceBytes;
  std::uint64_t next = 0, asked = 0, moved = 0;
  std::vector<File> files;
  std::optional<StreamWriter> writer;
  std::uint64_t room = 0;  // room in the file that is being written
  run_pipeline<TrafficPiece>(
      [&](TrafficPiece& piece) {
        if (next == pieces) return false;
        piece.bytes.resize(kPieceBytes);
        piece.from = share(spool.size(), next, pieces);
        piece.to = share(spool.size(), next + 1, pieces);
        piece.output = share(output, next + 1, pieces) - share(output, next, pieces);
        ++next;
        for (; asked < std::min(spool.size(), piece.to + kReadAhead); asked += kChunkBytes)
          spool.will_need(asked, kChunkBytes);
        return true;
      },
      [&](TrafficPiece& piece) {
        piece.read_back = 0;
        for (std::uint64_t at = piece.from; at < piece.to; at += kChunkBytes) {
          const auto chunk = std::span(piece.bytes).first(std::min(kChunkBytes, piece.to - at));
          spool.read(at, chunk);
          piece.read_back += chunk.size();
        }
      },
      [&](const TrafficPiece& piece) {
        moved += piece.read_back;
        for (std::uint64_t left = piece.output; left > 0;) {
          if (!writer) {
            room = traffic.shards[files.size()];
            writer.emplace(File::create(folder / ("shard-" + std::to_string(files.size()))));
          }
          const std::uint64_t part = std::min(left, room);
          writer->append(std::as_bytes(std::span(piece.bytes)).first(part));
          left -= part;
          room -= part;
          if (room > 0) continue;
          files.push_back(writer->finish());
          writer.reset();
        }
      });
  for (const File& file : files) {
    file.sync();
    moved += file.size();
  }
  sync_directory(folder);
  return moved;
}

/// Fills in the limit.
void move_only(const Traffic& traffic, const std::filesystem::path& folder, MemoryBudget& budget, ImportBench& result) {
  const Reservation memory = budget.reserve(kPieceBytes * pipeline_items(), "pieces of the benchmark");
  make_folder(folder);
  const Clock::time_point start = Clock::now();
  SpoolFile spool(folder);
  const std::uint64_t read = read_and_spool(traffic, spool);
  const double read_seconds = seconds_since(start);
  result.moved_bytes = read + spool.size() + read_back_and_write(traffic, spool, folder);
  if (const double seconds = seconds_since(start); seconds < result.limit_seconds) {
    result.limit_seconds = seconds;
    result.limit_read_seconds = read_seconds;
  }
  remove_tree(folder);
}

}  // namespace

ImportBench run_bench_import(const std::filesystem::path& folder, const ImportBenchOptions& options,
                             MemoryBudget& budget, WorkMeter& meter) {
  Traffic traffic;
  traffic.input = folder / "edges.npy";
  write_edges(traffic.input, options, meter);
  traffic.input_bytes = status_of(traffic.input).bytes;

  ImportBench result;
  result.threads = active_threads();
  result.input_bytes = traffic.input_bytes;
  result.seconds = result.limit_seconds = std::numeric_limits<double>::max();
  ImportOptions import;
  import.edges = InputFile{traffic.input, {}};
  import.nodes = std::uint64_t{1} << options.scale;
  const std::filesystem::path store = folder / "store";
  for (int run = 0; run < options.repeats; ++run) {
    const Clock::time_point start = Clock::now();
    const ImportReport report = import_store(store, import, budget, meter);
    result.seconds = std::min(result.seconds, seconds_since(start));
    result.nodes = report.nodes;
    result.edges_read = report.edges_read;
    result.arcs = 2 * report.edges;
    result.spooled_bytes = traffic.spooled_bytes = report.spooled_bytes;
    traffic.shards.clear();
    for (const FileEntry& shard : read_manifest(store).shards) traffic.shards.push_back(shard.bytes);
    result.shard_bytes = traffic.shard_bytes();
    remove_tree(store);
    move_only(traffic, folder / "moved", budget, result);
  }
  return result;
}

Figures figures_of(const ImportBench& result) {
  Figures figures{{{"bench", "import"}}, Table({"import", ""})};
  figures.count("nodes", "nodes", result.nodes);
  figures.count("edges_read", "edges read", result.edges_read);
  figures.count("arcs", "arcs of the store", result.arcs);
  figures.count("threads", "threads", result.threads);
  figures.bytes("input_bytes", "input", result.input_bytes);
  figures.bytes("spooled_bytes", "arcs spooled and read back", result.spooled_bytes);
  figures.bytes("shard_bytes", "shards", result.shard_bytes);
  figures.seconds("seconds", "import", result.seconds);
  figures.number("arcs_per_second", "arcs a second", result.arcs_per_second());
  figures.seconds("limit_seconds", "limit: the same bytes only moved, through the same calls", result.limit_seconds);
  figures.bytes("moved_bytes", "read and written at the limit", result.moved_bytes);
  figures.number("limit_arcs_per_second", "arcs a second at the limit", result.limit_per_second());
  figures.number("ratio", "ratio", result.ratio());
  return figures;
}

}  // namespace unweave
