// engine/ingest/import_keeper.cpp - saves arcs, shards and records at their pace, and checks what another process has
// saved.
#include "engine/ingest/import_keeper.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "engine/resources/parallel.h"
#include "storage/io/checksum.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr double kMostLost = 1.0 / 12;  // share of the work, so that with a save that is under way it is a tenth
constexpr double kMostCost = 0.03;      // share of the work that saves may take while less is lost
constexpr const char* kChunksKind = "chunks";
constexpr const char* kChunksFolder = "chunks";

/// A sync has failed. The system may have dropped what it should have written, and reads of it then give older bytes.
struct LostWrites {
  std::exception_ptr error;
};

template <class Sync>
void sync_finally(const Sync& sync) {
  try {
    sync();
  } catch (const std::exception&) {
    throw LostWrites{std::current_exception()};
  }
}

/// A chunk as lists have it.
struct ListedChunk {
  std::uint64_t at, weight, sum;
  std::uint32_t arcs, first_source;
  std::uint8_t log2_width, low_bits, key_bytes, zeros[5];
};
static_assert(sizeof(ListedChunk) == 40);

ListedChunk listed(const ArcChunk& chunk) {
  return {chunk.at,         chunk.weight,   chunk.sum,       chunk.arcs, chunk.first_source,
          chunk.log2_width, chunk.low_bits, chunk.key_bytes, {}};
}

ArcChunk chunk_of(const ListedChunk& listed) {
  ArcChunk chunk;
  chunk.at = listed.at;
  chunk.weight = listed.weight;
  chunk.sum = listed.sum;
  chunk.arcs = listed.arcs;
  chunk.first_source = listed.first_source;
  chunk.log2_width = listed.log2_width;
  chunk.low_bits = listed.low_bits;
  chunk.key_bytes = listed.key_bytes;
  chunk.in_file = true;
  return chunk;
}

fs::path arcs_path(const fs::path& folder, const std::string& step) {
  return folder / (step + ".arcs");
}

/// The name of a step's list, of which there are so many before it.
std::string numbered(const std::string& step, std::size_t before) {
  const std::string number = std::to_string(before);
  return step + "-" + std::string(6 - std::min<std::size_t>(6, number.size()), '0') + number;
}

FileEntry write_chunks(const fs::path& folder, const std::string& step, std::span<const ArcChunk> chunks) {
  SealedWriter writer({folder, kChunksFolder, step, "chunks", kChunksKind});
  for (const ArcChunk& chunk : chunks) {
    const ListedChunk one = listed(chunk);
    writer.append(std::as_bytes(std::span(&one, 1)));
  }
  return writer.finish({chunks.size()});
}

std::vector<ArcChunk> read_chunks(const fs::path& folder, const std::vector<FileEntry>& lists) {
  std::vector<ArcChunk> chunks;
  for (const FileEntry& list : lists) {
    const SealedFile file(folder, list, kChunksKind);
    if (file.size() % sizeof(ListedChunk) != 0) file.fail(file.size(), "no whole number of chunks");
    for (std::uint64_t at = 0; at < file.size(); at += sizeof(ListedChunk)) {
      ListedChunk one{};
      std::memcpy(&one, file.bytes(at, sizeof one).data(), sizeof one);
      if (one.log2_width > 32 || one.low_bits > 64 || one.key_bytes < 1 || one.key_bytes > 8 || one.arcs == 0)
        file.fail(at, "no chunk of arcs");
      chunks.push_back(chunk_of(one));
    }
  }
  return chunks;
}

constexpr const char* kPiecesKind = "pieces";

fs::path rows_path(const fs::path& folder) {
  return folder / "rows";
}

std::vector<RowPiece> read_pieces(const fs::path& folder, const std::vector<FileEntry>& lists) {
  std::vector<RowPiece> pieces;
  for (const FileEntry& list : lists) {
    const SealedFile file(folder, list, kPiecesKind);
    const auto some = file.values<RowPiece>(0, file.size() / sizeof(RowPiece));
    pieces.insert(pieces.end(), some.begin(), some.end());
  }
  return pieces;
}

/// Throws DataError unless all rows are as they were written.
void require_whole_rows(const fs::path& folder, const WaitingRows& rows) {
  const std::vector<RowPiece> pieces = read_pieces(folder, rows.pieces);
  if (pieces.empty()) return;
  const SpoolFile spool = SpoolFile::named(rows_path(folder), rows.bytes);
  std::atomic<bool> whole = rows.bucket_keys > 0;
  parallel_ranges(0, pieces.size(), 16, [&](std::size_t first, std::size_t last) {
    std::vector<std::uint32_t> words;
    for (std::size_t i = first; i < last && whole; ++i) {
      const RowPiece& piece = pieces[i];
      const std::uint64_t most = rows.bytes / sizeof(std::uint32_t);
      const bool lies_within = piece.words <= most && piece.offset <= rows.bytes - piece.words * sizeof(std::uint32_t);
      if (lies_within) {
        words.resize(static_cast<std::size_t>(piece.words));
        spool.read(piece.offset, {reinterpret_cast<char*>(words.data()), words.size() * sizeof(std::uint32_t)});
      }
      if (!lies_within || checksum64(std::as_bytes(std::span(words))) != piece.sum) whole = false;
    }
  });
  if (!whole) throw DataError(rows_path(folder).string() + ": rows are damaged");
}

/// Throws DataError unless every byte of a sealed file is right.
void require_whole_file(const fs::path& folder, const FileEntry& entry, std::string_view kind) {
  SealedFile(folder, entry, kind).check_all();
}

/// The extension of a file of features is its kind.
std::string kind_of(const FileEntry& features) {
  const std::string extension = fs::path(features.path).extension().string();
  return extension.substr(std::min<std::size_t>(1, extension.size()));
}

/// Whether a check passes.
template <class Check>
bool is_right(const Check& check) {
  try {
    check();
    return true;
  } catch (const DataError&) {
    return false;
  }
}

/// Leaves the first items, up to one whose file is not as it was written.
template <class Item, class Kind>
void keep_whole(const fs::path& folder, std::vector<Item>& items, const Kind& kind,
                const std::function<void(const std::string&)>& damaged) {
  std::vector<char> right(items.size());
  parallel_ranges(0, items.size(), 1, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last; ++i)
      right[i] = is_right([&] { require_whole_file(folder, items[i].file, kind(items[i].file)); }) ? 1 : 0;
  });
  const auto whole = static_cast<std::size_t>(std::find(right.begin(), right.end(), 0) - right.begin());
  if (whole == items.size()) return;
  damaged((folder / items[whole].file.path).string());
  items.resize(whole);
}

/// Throws DataError unless all arcs are as they were written.
void require_whole_arcs(const fs::path& folder, const std::string& step, const KeptArcs& arcs) {
  const std::vector<ArcChunk> chunks = read_chunks(folder, arcs.chunks);
  const ChunkStore store(folder, ArcKeys(), 0, 1, 1, arcs.bytes > 0 ? arcs_path(folder, step) : fs::path(), arcs.bytes);
  std::atomic<bool> whole = true;
  parallel_ranges(0, chunks.size(), 64, [&](std::size_t first, std::size_t last) {
    for (std::size_t i = first; i < last && whole; ++i)
      if (!store.is_whole(chunks[i])) whole = false;
  });
  if (!whole) throw DataError(arcs_path(folder, step).string() + ": arcs are damaged");
}

}  // namespace

ImportKeeper::ImportKeeper(fs::path store, bool keeps, double pace_seconds, std::string by_ids, ImportRecord record,
                           bool written)
    : store_(std::move(store)),
      keeps_(keeps),
      pace_seconds_(pace_seconds),
      by_ids_(std::move(by_ids)),
      record_(std::move(record)),
      written_(written) {
  if (keeps_) make_folders(folder());
}

ImportKeeper::~ImportKeeper() {
  join();
}

fs::path ImportKeeper::folder() const {
  return store_ / kImportFolder;
}

bool ImportKeeper::is_due() const noexcept {
  if (!keeps_ || busy_) return false;
  const Clock::time_point now = Clock::now();
  const double since = std::chrono::duration<double>(now - last_.load()).count();
  if (pace_seconds_ == 0) return true;
  if (since < pace_seconds_) return false;
  const double all = std::chrono::duration<double>(now - begun_).count();
  return since >= std::min(cost_seconds_ / kMostCost, all * kMostLost);
}

void ImportKeeper::save(std::function<void(ImportRecord&)> change) {
  if (!keeps_) return;
  wait();
  busy_ = true;
  // The change holds what is to be saved: it must outlive a thread that cannot be had.
  const auto kept = std::make_shared<const std::function<void(ImportRecord&)>>(std::move(change));
  try {
    thread_ = std::thread([this, kept] {
      write(*kept);
      busy_ = false;
    });
  } catch (const std::system_error&) {
    write(*kept);
    busy_ = false;
  }
}

void ImportKeeper::join() noexcept {
  if (thread_.joinable()) thread_.join();
}

void ImportKeeper::wait() {
  join();
  if (lost_) std::rethrow_exception(lost_);
}

void ImportKeeper::settle(const std::function<void(ImportRecord&)>& change) {
  wait();
  if (keeps_ && (written_ || is_due())) {
    write(change);
    wait();
    return;
  }
  if (keeps_) change(record_);
}

void ImportKeeper::write(const std::function<void(ImportRecord&)>& change) noexcept {
  const Clock::time_point start = Clock::now();
  try {
    ImportRecord next = record_;
    change(next);
    std::vector<FileEntry> fresh;
    for (FileEntry& entry : files(next))
      if (!durable_.contains(entry.path)) fresh.push_back(std::move(entry));
    sync_finally([&] { sync_files(store_, fresh); });
    write_import_record(store_, next);
    for (const FileEntry& entry : fresh) durable_.insert(entry.path);
    record_ = std::move(next);
    written_ = true;
  } catch (const LostWrites& lost) {
    lost_ = lost.error;
    keeps_ = false;
  } catch (const std::exception& error) {
    trouble_ = message_of(error);
    keeps_ = false;
  }
  cost_seconds_ = seconds_since(start);
  last_ = Clock::now();
}

std::vector<FileEntry> ImportKeeper::files(const ImportRecord& record) const {
  std::vector<FileEntry> all;
  const auto add = [&](const std::string& folder, const FileEntry& entry) {
    all.push_back({(fs::path(folder) / entry.path).generic_string(), entry.bytes, entry.root});
  };
  if (record.names) {
    add("", record.names->entries.names);
    add("", record.names->entries.index);
  }
  for (const CountedShard& shard : record.given.shards) add(by_ids_, shard.file);
  for (const CountedShard& shard : record.ordered.shards) add("", shard.file);
  for (const KeptGraph* graph : {&record.given, &record.ordered})
    if (graph->arcs)
      for (const FileEntry& list : graph->arcs->chunks) add(kImportFolder, list);
  if (record.order) add("", *record.order);
  if (record.rows)
    for (const FileEntry& list : record.rows->pieces) add(kImportFolder, list);
  for (const KeptFeatures& one : record.features) add("", one.file);
  return all;
}

void ImportKeeper::require_room(std::uint64_t bytes, std::uint64_t later) const {
  require_disk_room(store_, bytes + later, "the arcs that are kept of an unfinished import",
                    "let this import come to its end: what it does from now on is not kept");
}

NamedArcs GraphKeeper::arcs() const {
  // What another process has kept was read, and must be taken even where nothing more can be kept.
  if (!keeper_.keeps() && !kept().arcs) return {};
  NamedArcs named;
  named.file = arcs_path(keeper_.folder(), step_);
  const auto& arcs = kept().arcs;
  if (!arcs) return named;
  named.bytes = arcs->bytes;
  named.chunks = read_chunks(keeper_.folder(), arcs->chunks);
  named.counts = counts_of(*arcs);
  return named;
}

void GraphKeeper::take_arcs(ArcSorter& sorter, const EdgePlace& place, bool whole, bool is_due) {
  if (!keeper_.keeps()) return;
  store_ = sorter.store();
  const std::vector<ArcChunk> fresh = sorter.close_chunks();
  unsaved_.insert(unsaved_.end(), fresh.begin(), fresh.end());
  counts_ = kept_counts(sorter.counts(), place);
  counts_.whole = whole;
  if (is_due) save({});
}

void GraphKeeper::keep_shards(std::span<const CountedShard> finished) {
  if (keeper_.is_due()) save({finished.begin(), finished.end()});
}

void GraphKeeper::save(std::vector<CountedShard> shards) {
  keeper_.save([&keeper = keeper_, graph = graph_, step = step_, store = store_, counts = counts_,
                unsaved = std::exchange(unsaved_, {}), shards = std::move(shards)](ImportRecord& record) {
    KeptGraph& kept = record.*graph;
    std::uint64_t end = kept.arcs ? kept.arcs->bytes : 0;
    std::uint64_t fresh = 0, all = end;
    for (const ArcChunk& chunk : unsaved) {
      all += chunk.bytes();
      if (!chunk.in_file) fresh += chunk.bytes();
    }
    // Shards are smaller than the arcs that they are made of, and under an order the graph comes twice.
    if (fresh > 0) keeper.require_room(fresh, 2 * all);
    std::vector<ArcChunk> chunks;
    chunks.reserve(unsaved.size());
    for (const ArcChunk& chunk : unsaved) {
      chunks.push_back(store->in_file(chunk));
      end = std::max(end, chunks.back().at + chunk.bytes());  // what others write meanwhile may not be there yet
    }
    if (store) sync_finally([&] { store->sync(); });
    std::vector<FileEntry> lists = kept.arcs ? kept.arcs->chunks : std::vector<FileEntry>();
    if (store || !kept.arcs) {
      kept.arcs = counts;
      kept.arcs->bytes = end;
    }
    kept.arcs->chunks = std::move(lists);
    if (!chunks.empty())
      kept.arcs->chunks.push_back(write_chunks(keeper.folder(), numbered(step, kept.arcs->chunks.size()), chunks));
    if (!shards.empty()) kept.shards = shards;
  });
}

void GraphKeeper::finish(std::vector<CountedShard> shards, NodeId nodes, const ArcCounts& counts) {
  if (!keeper_.keeps()) return;
  keeper_.wait();
  const EdgePlace place = counts_.whole ? counts_.place : kept().arcs ? kept().arcs->place : EdgePlace();
  store_.reset();
  unsaved_.clear();
  std::vector<FileEntry> lists;
  keeper_.settle([&](ImportRecord& record) {
    KeptGraph& kept = record.*graph_;
    if (kept.arcs) lists = kept.arcs->chunks;
    kept.arcs.reset();
    kept.shards = std::move(shards);
    kept.whole = true;
    kept.nodes = nodes;
    kept.counts = kept_counts(counts, place);
  });
  if (kept().arcs) return;  // the record could not be written, and still names them
  drop_entry(arcs_path(keeper_.folder(), step_));
  for (const FileEntry& list : lists) drop_entry(keeper_.folder() / list.path);
}

std::vector<KeptFeatures> FeatureKeeper::files() const {
  keeper_.wait();
  return keeper_.record().features;
}

std::optional<WaitingRows> FeatureKeeper::rows() const {
  keeper_.wait();
  return keeper_.record().rows;
}

NamedRows FeatureKeeper::named_rows() const {
  NamedRows named;
  const auto kept = rows();
  if (!keeper_.keeps() && !kept) return named;
  named.file = rows_path(keeper_.folder());
  if (!kept) return named;
  named.bytes = kept->bytes;
  named.bucket_keys = kept->bucket_keys;
  named.pieces = read_pieces(keeper_.folder(), kept->pieces);
  return named;
}

void FeatureKeeper::keep_files(std::span<const KeptFeatures> finished) {
  if (!keeper_.is_due()) return;
  keeper_.save(
      [files = std::vector(finished.begin(), finished.end())](ImportRecord& record) { record.features = files; });
}

void FeatureKeeper::keep_rows(RowSorter& sorter, WaitingRows counts) {
  std::vector<RowPiece> fresh = sorter.spill_all();
  counts.bucket_keys = sorter.bucket_keys();
  keeper_.save([&keeper = keeper_, spool = sorter.spool(), fresh = std::move(fresh), counts](ImportRecord& record) {
    WaitingRows kept = counts;
    if (record.rows) {
      kept.bytes = record.rows->bytes;
      kept.pieces = record.rows->pieces;
    }
    for (const RowPiece& piece : fresh)
      kept.bytes = std::max(kept.bytes, piece.offset + piece.words * sizeof(std::uint32_t));
    if (spool) sync_finally([&] { spool->sync(); });
    if (!fresh.empty()) {
      SealedWriter writer({keeper.folder(), "pieces", numbered("rows", kept.pieces.size()), "pieces", kPiecesKind});
      writer.append_values(std::span<const RowPiece>(fresh));
      kept.pieces.push_back(writer.finish({fresh.size()}));
    }
    record.rows = std::move(kept);
  });
}

KeptArcs kept_counts(const ArcCounts& counts, const EdgePlace& place) {
  KeptArcs kept;
  kept.place = place;
  kept.edges_read = counts.edges_read;
  kept.self_loops = counts.self_loops;
  kept.upward = counts.upward;
  kept.smallest_node = counts.smallest_node;
  kept.largest_node = counts.largest_node;
  kept.bytes = counts.spooled_bytes;
  return kept;
}

ArcCounts counts_of(const KeptArcs& kept) {
  ArcCounts counts;
  counts.edges_read = kept.edges_read;
  counts.self_loops = kept.self_loops;
  counts.upward = kept.upward;
  counts.smallest_node = kept.smallest_node;
  counts.largest_node = kept.largest_node;
  counts.spooled_bytes = kept.bytes;
  return counts;
}

ImportRecord checked_record(const fs::path& store, const std::string& by_ids, ImportRecord record,
                            const std::function<void(const std::string&)>& damaged) {
  const fs::path folder = store / kImportFolder;
  const auto tell = [&](const fs::path& file) { damaged(file.string()); };
  if (record.names) {
    const NameEntries& entries = record.names->entries;
    const bool right = is_right([&] {
      require_whole_file(store, entries.names, "names");
      require_whole_file(store, entries.index, "nameidx");
    });
    if (!right) {
      tell(store / entries.names.path);
      record.names.reset();
    }
  }
  const auto check_graph = [&](KeptGraph& graph, const fs::path& files, const std::string& step) {
    const std::size_t shards = graph.shards.size();
    keep_whole(
        files, graph.shards, [](const FileEntry&) { return std::string("shard"); }, damaged);
    if (graph.whole && graph.shards.size() < shards) {
      graph.whole = false;  // its arcs are gone, but the first shards stay
      graph.counts = {};
    }
    if (!graph.arcs || is_right([&] { require_whole_arcs(folder, step, *graph.arcs); })) return;
    tell(arcs_path(folder, step));
    graph.arcs.reset();
  };
  check_graph(record.given, store / by_ids, "given");
  check_graph(record.ordered, store, "ordered");
  if (record.order && !is_right([&] { require_whole_file(store, *record.order, "order"); })) {
    tell(store / record.order->path);
    record.order.reset();
  }
  // The graph by ids goes once that in the order is there; what both lack has to be read again.
  if (record.given.whole && record.given.shards.empty() && !(record.ordered.whole && record.order)) {
    record.given = {};
    record.ordered.whole = false;
  }
  if (record.rows && !is_right([&] { require_whole_rows(folder, *record.rows); })) {
    tell(rows_path(folder));
    record.rows.reset();
  }
  keep_whole(store, record.features, kind_of, damaged);
  return record;
}

}  // namespace unweave
