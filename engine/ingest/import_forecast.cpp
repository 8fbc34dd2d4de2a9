// engine/ingest/import_forecast.cpp - counts what headers say, samples lines, and adds up what
// steps take.
#include "engine/ingest/import_forecast.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <fstream>
#include <sstream>

#include "engine/graph/node_count.h"
#include "engine/ingest/arc_sort.h"
#include "engine/ingest/graph_order.h"
#include "engine/ingest/import_context.h"
#include "engine/ingest/import_identity.h"
#include "engine/resources/cost.h"
#include "engine/resources/machine_profile.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"
#include "engine/resources/residency.h"
#include "storage/input/bytes/npy.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/input/features/feature_reader.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/types/import_report.h"

namespace unweave {
namespace {

constexpr double kAssumedRatio = 4;             // compressed files that do not say
constexpr double kAboveRandomBits = 1.5;        // bits of an arc beyond log2(nodes / degree), where ends lie anywhere
constexpr double kBitsAround = 3;               // by which graphs differ from that
constexpr std::uint64_t kSampleWindow = 65536;  // bytes
constexpr std::uint64_t kSampleWindows = 16;
constexpr std::size_t kSampleEdges = std::size_t{1} << 14;

std::uint64_t size_of(const InputFile& file) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(file.path, error);
  return error ? 0 : static_cast<std::uint64_t>(bytes);
}

/// A little-endian number at a place of a file; 0 where it ends before.
std::uint64_t number_at(std::ifstream& in, std::uint64_t at, std::size_t bytes) {
  std::array<unsigned char, 8> raw{};
  in.clear();
  in.seekg(static_cast<std::streamoff>(at));
  in.read(reinterpret_cast<char*>(raw.data()), static_cast<std::streamsize>(bytes));
  std::uint64_t number = 0;
  for (std::size_t i = bytes; i-- > 0;) number = number << 8U | raw[i];
  return number;
}

struct PlainSize {
  double bytes = 0;
  bool compressed = false, is_told = true;
};

/// How long a file is once it is decompressed. gzip says it modulo 2^32 at the end, zstd mostly in
/// the first frame.
PlainSize plain_size(const InputFile& file) {
  const std::uint64_t bytes = size_of(file);
  std::ifstream in(file.path, std::ios::binary);
  const std::uint64_t magic = number_at(in, 0, 4);
  if ((magic & 0xFFFF) == 0x8B1F) {
    const std::uint64_t told = bytes < 4 ? 0 : number_at(in, bytes - 4, 4);
    const bool is_told = told > bytes / 2 && bytes < std::uint64_t{1} << 29;
    return {is_told ? static_cast<double>(told) : kAssumedRatio * static_cast<double>(bytes), true, is_told};
  }
  if (magic == 0xFD2FB528) {
    const auto descriptor = static_cast<unsigned>(number_at(in, 4, 1));
    const bool is_single = (descriptor >> 5U & 1U) != 0;
    constexpr std::array<std::size_t, 4> kIdBytes{0, 1, 2, 4};
    const std::uint64_t at = 5U + (is_single ? 0U : 1U) + kIdBytes[descriptor & 3U];
    const std::array<std::size_t, 4> size_bytes{is_single ? 1U : 0U, 2, 4, 8};
    const std::size_t of_size = size_bytes[descriptor >> 6U];
    if (of_size > 0) return {static_cast<double>(number_at(in, at, of_size) + (of_size == 2 ? 256 : 0)), true, true};
    return {kAssumedRatio * static_cast<double>(bytes), true, false};
  }
  return {static_cast<double>(bytes), false, true};
}

/// Bytes of a line that is neither empty nor a comment, comments among them in their share, with
/// all its columns.
double line_bytes(InputFile file, bool compressed) {
  file.columns.clear();
  std::uint64_t bytes = 0, lines = 0;
  const auto count = [&](std::string_view text, bool whole) {
    if (!whole) {  // windows begin and end within a line
      const std::size_t first = text.find('\n'), last = text.rfind('\n');
      if (first == std::string_view::npos || first == last) return;
      text = text.substr(first + 1, last - first);
    }
    bytes += text.size();
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      if (end > at && text[at] != '#' && text[at] != '%') ++lines;
      at = end + 1;
    }
  };
  const std::uint64_t size = size_of(file);
  if (compressed || size <= kSampleWindow * kSampleWindows) {
    ByteSource source(file);
    count(source.peek(ByteSource::kBufferBytes), !compressed && size <= ByteSource::kBufferBytes);
  } else {
    std::ifstream in(file.path, std::ios::binary);
    std::string window(kSampleWindow, '\0');
    for (std::uint64_t i = 0; i < kSampleWindows; ++i) {
      in.clear();
      in.seekg(static_cast<std::streamoff>(i * (size - kSampleWindow) / (kSampleWindows - 1)));
      in.read(window.data(), static_cast<std::streamsize>(window.size()));
      count(std::string_view(window).substr(0, static_cast<std::size_t>(in.gcount())), false);
    }
  }
  return lines == 0 ? 0 : static_cast<double>(bytes) / static_cast<double>(lines);
}

/// Throws InputError where an array that is not compressed ends before its last element: whoever
/// reads its header alone would not notice.
void require_whole(const InputFile& file) {
  if (is_zip(file.path) || plain_size(file).compressed) return;
  ByteSource source(file);
  if (!is_npy(file, source)) return;
  NpyReader array(std::move(source));
  std::ifstream in(file.path, std::ios::binary);
  const std::uint64_t data_at = number_at(in, 6, 1) == 1 ? 10 + number_at(in, 8, 2) : 12 + number_at(in, 8, 4);
  const std::uint64_t size = size_of(file), items = size < data_at ? 0 : (size - data_at) / array.header().item_bytes;
  if (items >= array.header().elements) return;
  array.skip(items);
  static_cast<void>(array.read_items(1));  // it says which one is missing
}

std::string decimal(double number) {
  std::ostringstream text;
  text.precision(3);
  text << number;
  return text.str();
}

class Survey {
 public:
  Survey(const std::filesystem::path& store, const ImportOptions& options, MemoryBudget& budget)
      : options_(with_charges(options, budget, [](const std::string&) {})),  // what is skipped is told by the import
        budget_(budget),
        folder_(present_folder(store)) {}

  ImportForecast make(const MachineProfile* machine) {
    forecast_.memory_available_bytes = budget_.available();
    forecast_.disk_free_bytes = free_disk_bytes(folder_).value_or(0);
    std::vector<std::filesystem::path> paths;
    for (const InputFile* const file : files_of(options_)) {
      paths.push_back(resolved(file->path));
      forecast_.input_bytes += size_of(*file);
    }
    forecast_.input_resident = resident_share(paths);
    look_at_nodes();
    look_at_edges();
    if (nodes_ == 0 && largest_) {
      nodes_ = std::uint64_t{*largest_} + 1;
      forecast_.nodes_exact = false;
      assume("nodes: the largest id among the first " + std::to_string(sampled_) + " edges is the largest of all");
    }
    if (nodes_ == 0 && (options_.edges || !options_.relations.empty()))
      throw_no_edge(options_.edges ? *options_.edges : options_.relations.front().file);
    forecast_.nodes = nodes_;
    nodes_ *= options_.layers.copies();  // each copy has a list and a label
    size_graph();
    size_others();
    if (machine != nullptr) forecast_.seconds = time_with(*machine);
    return std::move(forecast_);
  }

 private:
  void assume(std::string sentence) {
    if (std::find(forecast_.assumed.begin(), forecast_.assumed.end(), sentence) == forecast_.assumed.end())
      forecast_.assumed.push_back(std::move(sentence));
  }

  void look_at_nodes() {
    if (options_.nodes) nodes_ = *options_.nodes;
    if (options_.stated_nodes) nodes_ = options_.stated_nodes->count;
    if (options_.ids && nodes_ == 0) {
      const PlainSize size = plain_size(*options_.ids);
      const double line = line_bytes(*options_.ids, size.compressed);
      nodes_ = line == 0 ? 0 : static_cast<std::uint64_t>(size.bytes / line);
      forecast_.nodes_exact = false;
      assume("nodes: names have " + decimal(line) + " bytes a line, as in a sample");
    }
    if (options_.features) {
      const auto reader = open_features(*options_.features, nodes_ == 0 ? std::nullopt : std::optional(nodes_));
      nodes_ = reader->rows();
      forecast_.nodes_exact = true;
      forecast_.columns = reader->columns();
      forecast_.sparse = reader->sparse() && !options_.standardize;
      if (!std::holds_alternative<CsrInput>(*options_.features))
        for (const InputFile* const file : feature_files(*options_.features)) require_whole(*file);
    }
    if (nodes_ == 0 && options_.labels) {
      const auto reader = open_labels(*options_.labels, options_.classes, options_.empty_label, options_.class_names);
      if (const auto count = reader->count()) nodes_ = *count;
    }
    if (nodes_ == 0 && options_.graphs)
      if (const auto count = open_labels(*options_.graphs)->count()) nodes_ = *count;
  }

  void look_at_edges() {
    if (options_.edges) look_at_edges(*options_.edges, options_.edge_weights, 1);
    for (std::size_t r = 0; r < options_.relations.size(); ++r)
      look_at_edges(options_.relations[r].file, options_.relations[r].weights,
                    options_.layers.layers_with(static_cast<std::uint32_t>(r)).size());
  }

  /// `layers`: how many of them an edge of the file is in.
  void look_at_edges(const InputFile& file, const std::optional<InputFile>& weights_beside, std::size_t layers) {
    // An import sorts while it reads: a window that has no room beside that is refused here, too.
    const Reservation sorting = budget_.reserve(memory_shares::kEdgeSort.of(budget_), "sorting of edges");
    const PlainSize size = plain_size(file);
    std::uint64_t edges = 0;
    bool is_text = true;
    if (!options_.ids) {
      const auto reader =
          open_edges(file, {nodes_ == 0 ? std::nullopt : std::optional(nodes_), folder_, options_.two_row_edges,
                            options_.ignore_weights, options_.max_weight, weights_beside, options_.ids_are,
                            options_.ids_from_one, options_.weight_unit});
      if (const auto declared = reader->declared_nodes(); declared && nodes_ == 0) nodes_ = *declared;
      std::vector<Edge> some(kSampleEdges);
      std::vector<std::uint32_t> weights(options_.max_weight > 1 ? kSampleEdges : 0);
      some.resize(reader->read(some, weights));
      sampled_ += some.size();
      for (const Edge& edge : some) largest_ = std::max({largest_.value_or(0), edge.u, edge.v});
      if (const auto count = reader->count()) {
        edges = *count;
        is_text = false;
      }
    }
    if (options_.stated_edges) edges = options_.stated_edges->count;
    if (edges == 0) {
      const double line = line_bytes(file, size.compressed);
      edges = line == 0 ? 0 : static_cast<std::uint64_t>(std::llround(size.bytes / line));
      forecast_.edges_exact = false;
      assume("edges: " + decimal(line) + " bytes a line, as in a sample");
      if (!size.is_told)
        assume("edges: the file is " + decimal(kAssumedRatio) + " times as long when it is decompressed");
    }
    forecast_.edges += edges;
    arcs_ += 2 * static_cast<double>(edges) * static_cast<double>(layers);
    unpacked_bytes_ += size.compressed ? size.bytes : 0;
    text_bytes_ += is_text ? size.bytes : 0;
    edge_bytes_ += static_cast<double>(size_of(file));
  }

  void size_graph() {
    if (forecast_.edges == 0) return;
    assume("graph: no edge is repeated, in either direction, and none is a self loop");
    const double nodes = std::max(2.0, static_cast<double>(nodes_));
    const double random = std::max(1.0, std::log2(nodes * nodes / std::max(nodes, arcs_)) + kAboveRandomBits);
    forecast_.bits_per_arc = random;
    const auto bytes_of_bits = [&](double bits) {
      return static_cast<std::uint64_t>(arcs_ * std::max(1.0, bits) / 8 + nodes * 1.5);
    };
    forecast_.graph_bytes = bytes_of_bits(random);
    forecast_.least_graph_bytes = bytes_of_bits(random / 3);
    forecast_.most_graph_bytes = bytes_of_bits(random + kBitsAround);
    assume("graph: " + decimal(random) + " bits an arc, as where edges end anywhere; from " +
           decimal(std::max(1.0, random / 3)) + ", where near ids are neighbours, to " + decimal(random + kBitsAround));
    const ArcSorter::Room room = ArcSorter::expected_room(
        static_cast<std::size_t>(memory_shares::kEdgeSort.of(budget_)), nodes_, arcs_, options_.max_weight);
    waiting_ = room.memory_bytes;
    spooled_ = room.file_bytes;
    if (spooled_ > 0) ++forecast_.passes;
  }

  /// Rows of a node: its copies share one unless they lie in an order.
  [[nodiscard]] std::uint64_t rows_of_node() const { return options_.order == "none" ? 1 : options_.layers.copies(); }
  /// Rows of all nodes, but for those of types without features, which dense files leave out.
  [[nodiscard]] std::uint64_t rows_of_features() const {
    const auto* const typed = options_.features ? std::get_if<TypedFeatures>(&*options_.features) : nullptr;
    if (typed == nullptr || options_.standardize) return nodes_ / options_.layers.copies() * rows_of_node();
    std::uint64_t rows = 0;
    for (std::size_t type = 0; type < typed->files.size(); ++type) rows += typed->files[type] ? typed->nodes[type] : 0;
    return rows * rows_of_node();
  }

  void size_others() {
    const std::uint64_t value = options_.feature_type == FeatureType::f16 ? 2 : 4;
    if (forecast_.sparse) {
      // As many values as the files have: ids of 4 bytes at least.
      std::uint64_t bytes = 0;
      for (const InputFile* const file : files_of(options_))
        if (options_.features && !is_of_edges(file)) bytes += static_cast<std::uint64_t>(plain_size(*file).bytes);
      forecast_.feature_bytes = rows_of_node() * (bytes / 8) * (4 + value) + 8 * rows_of_features();
      assume("features: a value of a sparse matrix and its column take 8 bytes in the files");
    } else {
      forecast_.feature_bytes = rows_of_features() * forecast_.columns * value * 513 / 512;
    }
    std::uint64_t memory = kLeastImport;
    if (options_.labels) {
      forecast_.other_bytes += 4 * nodes_;
      memory += 8 * nodes_;
    }
    if (options_.graphs) {
      forecast_.other_bytes += 4 * nodes_;
      memory += 8 * nodes_;
    }
    if (options_.ids) forecast_.other_bytes += 3 * size_of(*options_.ids) + 16 * nodes_;
    double temporary = spooled_;
    if (options_.order != "none") {
      forecast_.other_bytes += 8 * nodes_;
      memory += 8 * nodes_ + order_bytes(options_.order, nodes_, static_cast<std::uint64_t>(arcs_));
      // Arcs are sorted once more beside the graph by ids, with less memory.
      const std::uint64_t left = budget_.available() - std::min(budget_.available(), memory);
      temporary =
          static_cast<double>(forecast_.most_graph_bytes) + room_of(memory_shares::kEdgeSort.of(left)).file_bytes;
      ++forecast_.passes;
    }
    forecast_.memory_bytes = memory;
    forecast_.temporary_bytes = static_cast<std::uint64_t>(temporary);
    // The temporary edges are gone before the features are written.
    forecast_.disk_bytes = forecast_.other_bytes + forecast_.most_graph_bytes +
                           std::max(forecast_.feature_bytes, forecast_.temporary_bytes);
  }

  [[nodiscard]] bool is_of_edges(const InputFile* file) const {
    const auto& relations = options_.relations;
    return (options_.edges && file == &*options_.edges) ||
           std::any_of(relations.begin(), relations.end(), [&](const RelationEdges& one) { return file == &one.file; });
  }
  [[nodiscard]] ArcSorter::Room room_of(std::uint64_t sort_bytes) const {
    return ArcSorter::expected_room(static_cast<std::size_t>(sort_bytes), nodes_, arcs_, options_.max_weight);
  }

  [[nodiscard]] ImportSeconds time_with(const MachineProfile& machine) const {
    ImportSeconds seconds;
    const auto threads = static_cast<double>(active_threads());
    const DiskProfile& disk = machine.disk;
    const double resident = forecast_.input_resident;
    const double edge_bytes = edge_bytes_;
    const double feature_input = std::max(0.0, static_cast<double>(forecast_.input_bytes) - edge_bytes);
    double reading = unpacked_bytes_ * cost::kUnpackedByte;
    reading += text_bytes_ * (cost::kTextByte + (options_.ids ? cost::kNameByte : 0));
    // One thread reads while others distribute.
    seconds.edges = std::max({machine.read_seconds(edge_bytes, resident), reading,
                              (reading + arcs_ * cost::kDistributedArc) / threads}) +
                    spooled_ / disk.write_bytes_per_second + waiting_ * machine.commit_byte_seconds;
    const double times = options_.order == "none" ? 1 : 2;
    seconds.graph = times * arcs_ * cost::kEncodedArc / threads + machine.read_seconds(spooled_);
    if (times > 1) seconds.graph += arcs_ * (cost::kOrderedArc + cost::kDistributedArc) / threads;
    const double values = forecast_.sparse ? static_cast<double>(forecast_.feature_bytes) / 8
                                           : static_cast<double>(nodes_ * forecast_.columns);
    seconds.features = std::max(machine.read_seconds(feature_input, resident),
                                values * cost::kFeatureValue * (options_.standardize ? 2 : 1) / threads) +
                       static_cast<double>(forecast_.feature_bytes) * cost::kCopiedByte;
    seconds.write = static_cast<double>(forecast_.store_bytes()) / disk.write_bytes_per_second + 4 * disk.sync_seconds;
    return seconds;
  }

  static constexpr std::uint64_t kLeastImport = std::uint64_t{2} << 20;
  ImportOptions options_;
  MemoryBudget& budget_;
  std::filesystem::path folder_;
  ImportForecast forecast_;
  std::uint64_t nodes_ = 0;
  std::optional<NodeId> largest_;
  std::size_t sampled_ = 0;
  double arcs_ = 0, waiting_ = 0, spooled_ = 0, text_bytes_ = 0, unpacked_bytes_ = 0, edge_bytes_ = 0;
};

}  // namespace

std::filesystem::path present_folder(std::filesystem::path store) {
  std::error_code error;
  store = std::filesystem::absolute(store, error);
  while (!is_folder(store) && store.has_relative_path()) store = store.parent_path();
  return store;
}

std::optional<ImportForecast> forecast_import(const std::filesystem::path& store, const ImportOptions& options,
                                              MemoryBudget& budget, const MachineProfile* machine) {
  if (reads_a_pipe(options)) return std::nullopt;
  return Survey(store, options, budget).make(machine);
}

}  // namespace unweave
