// tests/fuzz/inputs.cpp - readers of users' files: edges, features, labels, ids, requests, OGB
// folders, their containers.
#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "fuzz/target.h"
#include "storage/input/bytes/byte_source.h"
#include "storage/input/edges/edge_reader.h"
#include "storage/input/features/feature_reader.h"
#include "storage/input/linear_model.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/input/nodes/name_reader.h"
#include "storage/input/ogb_folder.h"
#include "storage/input/request_reader.h"
#include "storage/input/tu_folder.h"
#include "storage/input/typed_folder.h"

namespace unweave::fuzz {
namespace {

constexpr std::size_t kMostValues = std::size_t{1} << 22;  // a bomb is read no further

void read_edges(EdgeReader& reader, const EdgeOptions& options = {}) {
  std::array<Edge, 256> edges;
  std::vector<std::uint32_t> weights(options.max_weight > 1 ? edges.size() : 0);
  for (std::size_t read = 0, count = 1; count > 0 && read < kMostValues; read += count)
    count = reader.read(edges, weights);
}

void read_features(FeatureReader& reader) {
  FeatureBatch batch;
  for (std::size_t read = 0; read < kMostValues && reader.next(batch, 1024); read += batch.values.size() + batch.rows) {
  }
}

void read_labels(LabelReader& reader) {
  std::array<std::int32_t, 256> labels;
  for (std::size_t read = 0, count = 1; count > 0 && read < kMostValues; read += count) count = reader.read(labels);
}

void edges(std::string_view bytes) {
  const InputFile file{put_file("edges", bytes), {}};
  EdgeOptions options;
  options.temp_dir = scratch();
  if (bytes.size() % 2 == 0) options.num_nodes = 100;
  if (bytes.size() % 3 == 0) options.max_weight = 7;
  read_edges(*open_edges(file, options), options);
}

void features(std::string_view bytes) {
  const InputFile file{put_file("features", bytes), {}};
  if (bytes.size() % 2 == 0)
    read_features(*open_features(file, 3));
  else
    read_features(*open_features(file));
}

/// Three arrays one after the other, told apart by their magic.
void csr(std::string_view bytes) {
  std::array<std::string_view, 3> parts;
  std::size_t at = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::size_t next = i + 1 < parts.size() ? bytes.find("\x93NUMPY", at + 1) : std::string_view::npos;
    parts[i] = bytes.substr(at, next == std::string_view::npos ? next : next - at);
    if (next == std::string_view::npos) break;
    at = next;
  }
  CsrFiles files{{put_file("indptr", parts[0]), {}}, {put_file("indices", parts[1]), {}}, {}};
  if (!parts[2].empty()) files.values = InputFile{put_file("values", parts[2]), {}};
  read_features(*open_csr_features(files, 5));
}

void labels(std::string_view bytes) {
  const InputFile file{put_file("labels", bytes), {}};
  const auto empty = bytes.size() % 2 == 0 ? EmptyLine::kMistake : EmptyLine::kUnlabelled;
  if (bytes.size() % 5 == 0) return read_labels(*open_labels(file, 3, empty, {"a", "b c", "d,e"}));
  read_labels(*open_labels(file, bytes.size() % 3 == 0 ? std::optional<std::uint64_t>(7) : std::nullopt, empty));
}

void ids(std::string_view bytes) {
  static_cast<void>(read_node_ids({put_file("ids", bytes), {}}, 50));
}

/// Names, and edges between the first of them.
void names(std::string_view bytes) {
  const auto reader = open_names({put_file("names", bytes), {}});
  std::size_t read = 0;
  for (std::string_view name; read < kMostValues && reader->next(name);) ++read;
}

void named_edges(std::string_view bytes) {
  EdgeOptions options;
  options.temp_dir = scratch();
  options.num_nodes = 100;
  options.ignore_weights = bytes.size() % 2 == 0;
  if (bytes.size() % 3 == 0) options.max_weight = 7;
  const auto find = [](std::span<const std::string_view> words, NodeId* nodes) {
    for (const std::string_view word : words) *nodes++ = word.size() < 4 ? static_cast<NodeId>(word.size()) : kNoNode;
  };
  const OpenedEdges opened = open_named_edges({put_file("named", bytes), {}}, options, find, "names");
  if (opened.numbers) return read_edges(*opened.numbers, options);
  std::size_t read = 0;
  for (NamedEdgeChunk chunk; read < kMostValues && opened.names->next(chunk); read += chunk.edges.size() + 1)
    opened.names->resolve(chunk);
}

void requests(std::string_view bytes) {
  RequestReader reader(put_file("requests", bytes));
  for (Request request; reader.next(request);) {
  }
}

void compressed(std::string_view bytes) {
  ByteSource source({put_file("compressed", bytes), {}});
  std::vector<char> out(1 << 16);
  for (std::size_t read = 0, count = 1; count > 0 && read < kMostValues; read += count) count = source.read(out);
}

void archive(std::string_view bytes) {
  const std::filesystem::path file = put_file("archive", bytes);
  for (const std::string& member : npz_members(file)) {
    if (member.empty()) continue;
    ByteSource source({file, member});
    std::vector<char> out(1 << 16);
    for (std::size_t read = 0, count = 1; count > 0 && read < kMostValues; read += count) count = source.read(out);
  }
}

std::string gzipped(std::string_view bytes) {
  std::string out(bytes.size() + bytes.size() / 100 + 100, '\0');
  z_stream stream{};
  constexpr int kGzip = 16;  // added to the window's bits
  if (deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) std::abort();
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) std::abort();
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

/// An archive of arrays, or the texts of the folder's files with a byte 0 between them.
void ogb(std::string_view bytes) {
  namespace fs = std::filesystem;
  const fs::path folder = scratch() / "ogb";
  fs::remove_all(folder);
  fs::create_directories(folder / "raw");
  fs::create_directories(folder / "split" / "time");
  if (bytes.starts_with("PK")) {
    put_file("ogb/raw/data.npz", bytes);
  } else {
    for (const char* name : {"raw/edge", "raw/node-feat", "raw/num-node-list", "raw/num-edge-list", "raw/node-label",
                             "split/time/train", "split/time/valid", "split/time/test"}) {
      const std::size_t end = std::min(bytes.find('\0'), bytes.size());
      put_file("ogb/" + std::string(name) + ".csv.gz", gzipped(bytes.substr(0, end)));
      bytes.remove_prefix(std::min(end + 1, bytes.size()));
    }
  }
  const OgbFolder found = open_ogb_folder(folder);
  EdgeOptions options;
  options.two_rows = true;
  read_edges(*open_edges(found.edges, options));
  read_features(*open_features(found.features, std::min<std::uint64_t>(found.num_nodes.count, kMostValues)));
  if (found.labels) read_labels(*open_labels(*found.labels, {}, EmptyLine::kUnlabelled));
  for (const auto& split : {found.train, found.valid, found.test})
    if (split) static_cast<void>(read_node_ids(*split));
}

/// The parts of a folder of two kinds of nodes, in this order, one after each zero byte.
void typed(std::string_view bytes) {
  namespace fs = std::filesystem;
  const fs::path folder = scratch() / "typed";
  fs::remove_all(folder);
  for (const char* name : {"raw/num-node-dict", "raw/triplet-type-list", "raw/relations/a___r___b/edge",
                           "raw/relations/a___r___b/num-edge-list", "raw/node-feat/a/node-feat",
                           "raw/node-label/b/node-label", "split/time/b/train"}) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    fs::create_directories((folder / name).parent_path());
    put_file("typed/" + std::string(name) + ".csv.gz", gzipped(bytes.substr(0, end)));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  TypedFolder found = open_typed_folder(folder);
  for (TypedFolder::Relation& relation : found.relations) {
    relation.edges.header = Header::no;
    read_edges(*open_edges(relation.edges, {}));
  }
  TypedFeatures features;
  for (const NodeType& type : found.types) features.nodes.push_back(std::min<std::uint64_t>(type.nodes, 1000));
  features.files = found.features;
  const auto has_file = [](const auto& file) { return file.has_value(); };
  if (std::any_of(features.files.begin(), features.files.end(), has_file)) read_features(*open_features(features));
}

/// The files of a data set of TUDataset with a byte 0 between them.
void tu(std::string_view bytes) {
  namespace fs = std::filesystem;
  fs::remove_all(scratch() / "tu");
  fs::create_directories(scratch() / "tu");
  for (const char* name : {"A", "graph_indicator", "graph_labels", "node_labels", "node_attributes"}) {
    const std::size_t end = std::min(bytes.find('\0'), bytes.size());
    if (end > 0) put_file("tu/D_" + std::string(name) + ".txt", bytes.substr(0, end));
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  ImportOptions options;
  const bool has_attributes = fs::exists(scratch() / "tu" / "D_node_attributes.txt");
  static_cast<void>(use_tu_folder(scratch() / "tu" / "D", has_attributes ? std::optional(4.0) : std::nullopt, options));
  EdgeOptions edges;
  edges.num_nodes = options.nodes;
  edges.ids_from_one = true;
  read_edges(*open_edges(*options.edges, edges));
  read_labels(*open_labels(*options.graphs));
  if (options.graph_labels) read_labels(*open_labels(*options.graph_labels));
  read_features(*open_tu_features(std::get<TuInput>(*options.features)));
}

/// Weights of three classes and four numbers, or of two and four, in the form that the first bytes
/// begin.
void linear(std::string_view bytes) {
  const char* const name = bytes.starts_with("PK") ? "W.npz" : bytes.starts_with("\x93") ? "W.npy" : "W.safetensors";
  static_cast<void>(read_linear_model(put_file(name, bytes), {2 + bytes.size() % 2, 4}));
}

constexpr Target kTargets[] = {{"edges", edges},     {"features", features},
                               {"csr", csr},         {"labels", labels},
                               {"ids", ids},         {"requests", requests},
                               {"archive", archive}, {"compressed", compressed},
                               {"ogb", ogb},         {"linear", linear},
                               {"names", names},     {"named-edges", named_edges},
                               {"typed", typed},     {"tu", tu}};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

}  // namespace unweave::fuzz
