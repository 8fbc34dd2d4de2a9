// tests/fuzz/files.cpp - readers of a store's own files. Checksums are set right, so that they
// protect nobody.
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "fuzz/target.h"
#include "storage/codec/gap_block.h"
#include "storage/formats/feature_file.h"
#include "storage/formats/journal.h"
#include "storage/formats/manifest.h"
#include "storage/formats/model_file.h"
#include "storage/formats/name_file.h"
#include "storage/formats/node_file.h"
#include "storage/formats/order_file.h"
#include "storage/formats/recorded_file.h"
#include "storage/formats/rows_file.h"
#include "storage/formats/run_file.h"
#include "storage/formats/shard.h"
#include "storage/formats/state_file.h"
#include "storage/formats/statistics_file.h"
#include "storage/formats/tile_file.h"
#include "storage/formats/whole_graph_file.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/hex.h"
#include "storage/io/line_log.h"
#include "storage/types/list_view.h"
#include "support/each_target.h"

namespace unweave::fuzz {
namespace {

namespace fs = std::filesystem;

std::span<const std::byte> raw(std::string_view bytes) {
  return std::as_bytes(std::span(bytes));
}

template <class T>
void put(std::string& bytes, std::size_t at, const T& value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

/// Lists of a block and what it should hold.
void block(std::string_view bytes) {
  Taker taker(bytes);
  std::vector<std::uint32_t> counts(1 + taker.take<std::uint8_t>() % kBlockNodes);
  std::uint64_t arcs = 0;
  for (std::uint32_t& count : counts) arcs += count = taker.take<std::uint8_t>() % 200U;
  const NodeId nodes = 2 + taker.take<std::uint32_t>() % 100000;
  const auto content = raw(taker.rest());
  // Decodes all lists, or one alone; returns nothing where the block is refused.
  const auto decoded = [&](std::uint64_t size, const auto& decode) -> std::optional<std::vector<NodeId>> {
    std::vector<NodeId> targets(size + kDecodeSlack);
    try {
      decode(targets.data());
    } catch (const BlockError&) {
      return std::nullopt;
    }
    targets.resize(size);
    return targets;
  };
  std::vector<std::optional<std::vector<NodeId>>> first;
  testing::on_each_target([&](const char*) {
    std::vector<std::optional<std::vector<NodeId>>> found;
    found.push_back(decoded(arcs, [&](NodeId* to) { decode_block(content, counts, nodes, to); }));
    for (std::size_t i = 0; i < counts.size(); ++i)
      found.push_back(decoded(counts[i], [&](NodeId* to) { decode_list(content, counts, i, nodes, to); }));
    if (first.empty()) first = found;
    if (found != first) std::abort();  // every vector extension finds what the others find
  });
}

/// A whole file, and the manifest's entry that fits it best.
void sealed(std::string_view bytes) {
  std::string file(bytes);
  if (file.size() >= kSealedHeaderBytes) {
    put(file, 120, checksum64(raw(file).first(120)));
    file.resize(std::max(file.size(), kSealedHeaderBytes));
  }
  put_file("sealed", file);
  const std::string_view kind = std::string_view(file).substr(std::min<std::size_t>(8, file.size()), 8);
  FileEntry entry{"sealed", file.size(), {}};
  if (file.size() >= kSealedHeaderBytes) entry.root = to_hex(raw(file).subspan(104, 16));
  const SealedFile one(scratch(), entry, kind);
  one.check_all();
}

/// A payload of any kind under its seal: kind, nodes, columns, six parameters, then the payload.
void payload(std::string_view bytes) {
  constexpr NodeId kMostNodes = 200;
  Taker taker(bytes);
  const auto which = taker.take<std::uint8_t>() % 21;
  const NodeId nodes = 1 + taker.take<std::uint8_t>() % kMostNodes;
  const std::uint32_t columns = 1 + taker.take<std::uint8_t>() % 40;
  SealedParameters p{};
  for (std::uint64_t& one : p) one = taker.take<std::uint64_t>();
  const NodeRange range{0, nodes};
  static constexpr const char* kKinds[] = {"shard",   "lists",   "dense",  "sparse", "dense16", "sparse16", "labels",
                                           "ids",     "changes", "run",    "stale",  "order",   "state",    "names",
                                           "nameidx", "rows",    "rows16", "graphs", "tile",    "packed",   "packed16"};
  const std::string kind = kKinds[which];
  const std::uint32_t max_weight = p[2] % 2 == 0 ? 1 : 3;
  const ListForm form(max_weight, p[0] % 2 == 1);
  const std::uint64_t weights = form.multiplied   ? (std::uint64_t{1} << 32) + max_weight
                                : max_weight == 1 ? 0
                                                  : max_weight;
  if (which <= 1) p[0] = 0, p[1] = nodes, p[3] = nodes, p[5] = weights;
  const bool is_packed = which >= 19;
  if ((which >= 2 && which <= 5) || is_packed) p[0] = 0, p[1] = nodes, p[2] = columns;
  if (is_packed) p[3] %= nodes + 1;
  if (which == 6) p[1] %= 64;  // bytes of names
  if (which == 9 || which == 10) p[0] = 1, p[1] = columns;
  if (which == 11) p[0] = nodes;
  if (which == 12) p[0] = 1, p[1] = 0, p[2] = nodes, p[4] = columns;
  if (which == 13 || which == 14) p[0] = nodes;
  const KeptForm kept{Keep::hops, which == 16 ? FeatureType::f16 : FeatureType::f32, which == 16 ? -2 : 0};
  if (which == 15 || which == 16)
    p[0] = 1, p[1] = 0, p[2] = nodes, p[4] = columns, p[5] = static_cast<std::uint64_t>(std::int64_t{kept.exponent});
  if (which == 14) p[1] = std::min<std::uint64_t>(p[1], nodes);
  if (which == 18)  // level and version, first column and columns; others as they come, within bounds
    p[0] = 1 | std::uint64_t{1} << 32, p[1] = std::uint64_t{columns} << 32, p[2] %= nodes + 1;
  fs::remove_all(scratch() / "payload");
  SealedWriter writer({scratch(), "payload", "file", kind, kind});
  writer.append(raw(taker.rest()));
  const FileEntry entry = writer.finish(p);

  if (which <= 1) {
    const Shard shard(scratch(), entry, range, nodes, form, which == 0 ? ShardOf::nodes : ShardOf::targets);
    NeighbourList list;
    for (NodeId node = 0; node < nodes; ++node) {
      const std::uint32_t ids = shard.id_counts()[node];
      list.ids.resize(ids + kDecodeSlack);
      list.weights.resize(ids);
      if (ids > 0) shard.decode_node(node, list.ids.data(), list.weights.data());
    }
    shard.verify();
  } else if (which <= 5 || is_packed) {
    const FeatureFile file(
        scratch(), entry, range, columns,
        {which % 2 == 1 && !is_packed, (which >= 4 && !is_packed) || which == 19 ? FeatureType::f16 : FeatureType::f32,
         is_packed});
    std::vector<float> rows(std::size_t{nodes} * columns);
    file.read(range, columns / 3, columns - columns / 3, rows.data());
    file.verify();
  } else if (which == 6) {
    static_cast<void>(read_labels(scratch(), entry, nodes, 5));
  } else if (which == 7) {
    static_cast<void>(read_ids(scratch(), entry, nodes));
  } else if (which == 8) {
    static_cast<void>(read_changes(scratch(), entry,
                                   {nodes, columns, 5, max_weight, p[1] % 2 == 1,
                                    p[1] % 4 < 2 ? std::nullopt : std::optional<std::uint32_t>(6), form.multiplied}));
  } else if (which == 9) {
    const StoredRun run = read_run(scratch(), entry, 1, columns, nodes);
    run.check_values(run.narrow_rows);
  } else if (which == 10) {
    std::vector<SealedFile> holder;
    static_cast<void>(read_stale(scratch(), entry, 1, columns, nodes, holder));
  } else if (which == 11) {
    OrderFile(scratch(), entry, nodes).verify();
  } else if (which == 13) {
    const NameList names(scratch(), entry, nodes);
    for (NodeId node = 0; node < nodes; ++node) static_cast<void>(names.name(node));
    names.verify();
  } else if (which == 14) {
    NameWriter list(scratch());
    for (NodeId node = 0; node < nodes; ++node) list.add(node < p[1] ? std::to_string(node) : std::string());
    const NameList names(scratch(), list.finish(), nodes);
    const NameIndex index(scratch(), entry, names);
    for (NodeId node = 0; node < nodes; ++node) static_cast<void>(index.find(std::to_string(node)));
    index.verify();
  } else if (which == 17) {
    static_cast<void>(read_graphs_of_nodes(scratch(), entry, nodes, 6));
  } else if (which == 18) {
    const TileFile tile(scratch() / entry.path, nodes);
    for (std::uint32_t block = 0; block < tile.shape().blocks; ++block)
      static_cast<void>(tile.rows(block, 0, tile.shape().rows));
    for (std::size_t i = 0; i < tile.wide_nodes().size(); ++i) static_cast<void>(tile.wide_row(i));
    static_cast<void>(tile.norms());
    static_cast<void>(tile.proof());
    tile.verify();
  } else if (which >= 15) {
    const RowsFile rows(scratch(), entry, 1, range, columns, kept);
    std::vector<float> row(columns);
    for (NodeId node = 0; node < nodes; ++node) static_cast<void>(rows.read(node, row.data()));
    rows.verify();
  } else {
    const StatePartition partition(scratch(), entry, 1, range, columns);
    for (NodeId node = 0; node < nodes; ++node) static_cast<void>(partition.row(node));
    partition.verify();
  }
}

/// Contents as text, under the right checksum, in JSON laid out as `other` is; anything else as it
/// is.
std::string under_checksum(std::string_view bytes, const std::string& other) {
  using Json = nlohmann::ordered_json;
  const int deepest = 64;  // the text alone is tried where it nests deeper
  int depth = 0, most = 0;
  for (const char c : bytes) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    most = std::max(most, depth);
  }
  const Json contents = most < deepest ? Json::parse(bytes, nullptr, false) : Json(Json::value_t::discarded);
  if (contents.is_discarded()) return std::string(bytes);
  const std::string body = contents.dump(-1, ' ', false, Json::error_handler_t::replace);
  Json whole = Json::parse(other);
  whole["checksum"] = to_hex(checksum128(raw(body), {}));
  whole["contents"] = contents;
  return whole.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

void manifest(std::string_view bytes) {
  const std::string text = under_checksum(bytes, manifest_text({}));
  put_file(std::string(kManifestName), text);
  const Manifest found = read_manifest(scratch());
  if (manifest_text(found) != text) std::abort();  // nothing is without meaning
}

void journal(std::string_view bytes) {
  constexpr std::size_t kHeader = 40, kRecord = 24;
  std::string file(bytes);
  const std::string name = "log";
  std::uint64_t sequence = 0;
  if (file.size() >= kHeader) {
    std::memcpy(&sequence, file.data() + 24, sizeof sequence);
    put(file, 32, checksum64(raw(file.substr(0, 32) + name)));
  }
  for (std::size_t at = kHeader; at + kRecord <= file.size();) {
    std::uint64_t length = 0;
    std::memcpy(&length, file.data() + at, sizeof length);
    if (length > file.size() - at - kRecord) break;
    const Checksum128 sum = checksum128(raw(file).subspan(at, 16), raw(file).subspan(at + kRecord, length));
    if (length % 5 != 4) std::memcpy(file.data() + at + 16, sum.data(), 8);  // some records stay damaged
    at += kRecord + length;
  }
  fs::create_directories(scratch() / "journal");
  put_file("journal/" + name, file);
  const FileEntry entry = record_file(scratch(), "journal/" + name, std::min(file.size(), kHeader));
  static_cast<void>(read_journal(scratch(), entry, sequence, [](const JournalBatch&) {}));
  static_cast<void>(Journal::open(scratch(), entry, sequence));
}

void model(std::string_view bytes) {
  std::string file(bytes);
  if (file.size() >= 48) {
    put(file, 24, std::uint64_t{file.size()});
    put(file, 32, checksum128(raw(file).first(32), raw(file).subspan(48)));
  }
  static_cast<void>(read_model_file(put_file("model", file)));
}

void statistics(std::string_view bytes) {
  constexpr std::size_t kHeader = 64;
  std::string file(bytes);
  file.resize(std::max(file.size(), kHeader));
  Taker taker(file);
  static_cast<void>(taker.take<std::uint64_t>());
  static_cast<void>(taker.take<std::uint32_t>());
  StatisticsShape shape;
  shape.bits = 8U << taker.take<std::uint32_t>() % 3;
  shape.run = taker.take<std::uint64_t>();
  shape.partition = taker.take<std::uint64_t>();
  shape.records = taker.take<std::uint64_t>() % 40;
  shape.values = taker.take<std::uint64_t>() % 40;
  shape.visits = taker.take<std::uint64_t>() % 20;
  const std::uint64_t each = (statistics_file_bytes(shape) - kHeader) / std::max<std::uint64_t>(1, shape.records);
  put(file, 12, shape.bits);
  put(file, 32, shape.records);
  put(file, 40, shape.values);
  put(file, 48, shape.visits);
  put(file, 56, checksum64(raw(file).first(56)));
  for (std::size_t at = kHeader; shape.records > 0 && at + each <= file.size(); at += each) {
    const std::string_view record = std::string_view(file).substr(at, each);
    const bool erased = record.find_first_not_of('\0') == std::string_view::npos;
    if (!erased) put(file, at, checksum64(raw(record.substr(8))));
  }
  const StatisticsFile statistics(put_file("statistics", file), shape, false);
  for (std::uint64_t record = 0; record < shape.records; ++record) static_cast<void>(statistics.read(record));
}

void lines(std::string_view bytes) {
  const fs::path path = put_file("lines", bytes);
  static_cast<void>(read_lines(path, [](std::string_view, std::uint64_t) {}));
  AppendedLine(path, "last", Readers::all);
}

constexpr Target kTargets[] = {{"block", block},       {"sealed", sealed},        {"payload", payload},
                               {"manifest", manifest}, {"journal", journal},      {"model", model},
                               {"lines", lines},       {"statistics", statistics}};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

}  // namespace unweave::fuzz
