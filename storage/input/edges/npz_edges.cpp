// storage/input/edges/npz_edges.cpp - edges in an .npz archive: the non-zeros of a sparse matrix,
// or an array of edges.
//
// A matrix in CSC has the arcs of its CSR turned round, and edges have no direction here: both are
// read alike.
#include <algorithm>
#include <string>
#include <vector>

#include "storage/input/bytes/csr_archive.h"
#include "storage/input/bytes/npy.h"
#include "storage/input/bytes/only_members.h"
#include "storage/input/edges/edge_formats.h"
#include "storage/input/edges/edge_weight.h"
#include "storage/input/foreign_format.h"
#include "storage/input/words/node_id.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkEntries = std::size_t{1} << 15;
NpyReader open_ids(const std::filesystem::path& archive, const std::string& member) {
  NpyReader reader(InputFile{archive, member});
  reader.require_integers("indices of a matrix");
  if (reader.header().shape.size() != 1)
    throw InputError(reader.name(), ".npy header",
                     "shape " + reader.header().shape_text() + " is not that of a list of indices", kSaveAgain);
  return reader;
}

/// The non-zeros of a square matrix: columns from one array, rows by what a subclass knows, values
/// beside.
class MatrixEdges : public EdgeReader {
 public:
  MatrixEdges(const std::filesystem::path& archive, const std::string& columns, const std::string& values,
              std::uint64_t nodes, const EdgeOptions& options)
      : columns_(open_ids(archive, columns)),
        values_(InputFile{archive, values}),
        nodes_(nodes),
        limit_(std::min(nodes, id_limit(options.num_nodes))),
        rule_(options.weight_rule()) {
    const NpyHeader& header = values_.header();
    if (!header.is_number() || header.shape.size() != 1 || header.elements != columns_.header().elements)
      throw InputError(
          values_.name(), ".npy header",
          "shape " + header.shape_text() + " is not that of " + std::to_string(columns_.header().elements) + " values",
          kSaveAgain);
  }

  [[nodiscard]] std::optional<std::uint64_t> count() const final { return columns_.header().elements; }
  [[nodiscard]] std::optional<std::uint64_t> declared_nodes() const final { return nodes_; }
  [[nodiscard]] LeftOutWeights left_out() const final { return left_out_; }

 protected:
  /// The row of an entry; entries come one after another.
  virtual NodeId row_of(std::uint64_t entry) = 0;
  virtual void require_rows_end() {}

  void require_id(const NpyReader& array, std::uint64_t place, std::int64_t id) const {
    if (static_cast<std::uint64_t>(id) >= limit_)
      throw_bad_id(array.name(), "element " + array.index_text(place), std::to_string(id), limit_);
  }
  [[nodiscard]] std::uint64_t nodes() const noexcept { return nodes_; }
  [[nodiscard]] std::uint64_t entries() const noexcept { return columns_.header().elements; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) final {
    while (columns_.remaining() > 0)
      if (const std::size_t edges = read_chunk(out, weights); edges > 0) return edges;
    require_rows_end();
    return 0;
  }

  /// 0 where all values of a chunk are.
  std::size_t read_chunk(std::span<Edge> out, std::span<std::uint32_t> weights) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>({out.size(), kChunkEntries, columns_.remaining()}));
    ids_.resize(count);
    values_read_.resize(count);
    columns_.read(ids_);
    values_.read(std::span(values_read_));
    const std::uint64_t first = columns_.position() - count;
    std::size_t edges = 0;
    for (std::size_t i = 0; i < count; ++i) {
      require_id(columns_, first + i, ids_[i]);
      const NodeId row = row_of(first + i);
      const std::uint32_t weight = rule_.take(values_read_[i], left_out_, values_.name(),
                                              [&] { return "element " + values_.index_text(first + i); });
      if (weight == 0) continue;
      if (!weights.empty()) weights[edges] = weight;
      out[edges++] = {row, static_cast<NodeId>(ids_[i])};
    }
    return edges;
  }

  NpyReader columns_, values_;
  std::uint64_t nodes_, limit_;
  WeightRule rule_;
  LeftOutWeights left_out_;
  std::vector<std::int64_t> ids_;
  std::vector<double> values_read_;
};

class CsrEdges final : public MatrixEdges {
 public:
  CsrEdges(const std::filesystem::path& archive, const CsrMembers& names, std::uint64_t nodes,
           const EdgeOptions& options)
      : MatrixEdges(archive, names.indices, names.data, nodes, options), offsets_(open_ids(archive, names.indptr)) {
    if (offsets_.header().elements != nodes + 1)
      throw InputError(
          offsets_.name(), ".npy header",
          std::to_string(offsets_.header().elements) + " row offsets of a matrix of " + std::to_string(nodes) + " rows",
          kSaveAgain);
    if (next_offset() != 0)
      throw InputError(offsets_.name(), "element [0]", "the first row offset is not 0", kSaveAgain);
  }

 private:
  NodeId row_of(std::uint64_t entry) override {
    while (entry >= row_end_) {
      if (rows_begun_ == nodes())
        throw InputError(offsets_.name(), "element " + offsets_.index_text(nodes()),
                         "the last row offset is " + std::to_string(row_end_) + " but there are " +
                             std::to_string(entries()) + " column indices",
                         kSaveAgain);
      begin_row();
    }
    return static_cast<NodeId>(rows_begun_ - 1);
  }

  void require_rows_end() override {
    while (rows_begun_ < nodes()) begin_row();
  }

  void begin_row() {
    const std::uint64_t end = next_offset();
    ++rows_begun_;
    if (end < row_end_ || end > entries())
      throw InputError(offsets_.name(), "element " + offsets_.index_text(rows_begun_),
                       "row offset " + std::to_string(static_cast<std::int64_t>(end)) +
                           (end <= entries() || static_cast<std::int64_t>(end) < 0 ? " runs backwards"
                                                                                   : " is past the last column index"),
                       kSaveAgain);
    row_end_ = end;
  }

  std::uint64_t next_offset() {
    if (at_ == read_.size()) {
      read_.resize(kChunkEntries);
      read_.resize(offsets_.read(read_));
      at_ = 0;
    }
    return static_cast<std::uint64_t>(read_[at_++]);
  }

  NpyReader offsets_;
  std::vector<std::int64_t> read_;  // a piece of the offsets, from at_ not yet used
  std::size_t at_ = 0;
  std::uint64_t rows_begun_ = 0;
  std::uint64_t row_end_ = 0;  // first entry after the row
};

class CooEdges final : public MatrixEdges {
 public:
  CooEdges(const std::filesystem::path& archive, std::uint64_t nodes, const EdgeOptions& options)
      : MatrixEdges(archive, "col", "data", nodes, options), rows_(open_ids(archive, "row")) {
    if (rows_.header().elements != entries())
      throw InputError(rows_.name(), ".npy header",
                       std::to_string(rows_.header().elements) + " rows of " + std::to_string(entries()) + " columns",
                       kSaveAgain);
  }

 private:
  NodeId row_of(std::uint64_t entry) override {
    if (at_ == read_.size()) {
      read_.resize(kChunkEntries);
      read_.resize(rows_.read(read_));
      at_ = 0;
    }
    require_id(rows_, entry, read_[at_]);
    return static_cast<NodeId>(read_[at_++]);
  }

  NpyReader rows_;
  std::vector<std::int64_t> read_;
  std::size_t at_ = 0;
};

std::uint64_t square(const std::filesystem::path& archive, const std::string& member) {
  const auto [rows, columns] = matrix_shape(archive, member);
  constexpr std::uint64_t kMostNodes = std::uint64_t{kMaxNodeId} + 1;
  if (rows != columns || rows > kMostNodes)
    throw InputError(display_name(InputFile{archive, member}), "elements [0] and [1]",
                     "a matrix of " + std::to_string(rows) + " x " + std::to_string(columns) + " is not of a graph",
                     "give a square matrix of at most " + std::to_string(kMostNodes) + " rows");
  return rows;
}

/// The array of edges among the members of an archive; none where these are a sparse matrix. Throws
/// InputError where there is neither.
std::string edge_array_of(const InputFile& file, const std::vector<std::string>& members) {
  const auto has = [&](std::string_view name) {
    return std::find(members.begin(), members.end(), name) != members.end();
  };
  require_matrix_format(file.path, members, {"csr", "csc", "coo"});
  for (const std::string_view prefix : {"", "adj_"})
    if (find_csr(members, prefix)) return {};
  if (has("row") && has("col") && has("data") && has("shape")) return {};
  if (file.path.extension() != ".npz") {  // an archive of a text
    ByteSource source(file);
    refuse_foreign_format(source, file, InputKind::kEdges);
  }
  std::string array = has("edge_index") ? "edge_index" : members.size() == 1 ? members[0] : "";
  if (array.empty()) {
    ByteSource source(file);
    refuse_foreign_format(source, file, InputKind::kEdges);
  }
  return array;
}

}  // namespace

std::optional<NpzEdgeArray> npz_edge_array(const InputFile& file, const EdgeOptions& options) {
  if (!file.columns.empty())
    throw UsageError(display_name(file).string() + ": columns of a table are chosen so, and an archive is none");
  const std::vector<std::string> members = npz_members(file.path);
  const auto has = [&](std::string_view name) {
    return std::find(members.begin(), members.end(), name) != members.end();
  };
  const std::string array = file.member.empty() ? edge_array_of(file, members) : file.member;
  if (array.empty()) return std::nullopt;
  NpzEdgeArray found;
  found.file.path = file.path;
  found.file.member = array;
  found.options = options;
  found.options.two_rows |=
      file.member.empty() && array == "edge_index";  // an array that is named may have edges in rows
  for (const char* const kinds : {"edge_type", "edge_types", "node_type", "node_types"})
    if (has(kinds))
      throw InputError(
          display_name(InputFile{file.path, kinds}), "whole file",
          "edges or nodes of several kinds, which no store tells apart",
          "write the archive without it where they are all the same, else the edges of the kinds that are meant");
  for (const char* const weights : {"edge_weight", "edge_weights", "weight", "weights", "w", "edge_attr"}) {
    if (!has(weights)) continue;
    const InputFile own{file.path, weights};
    // Attributes of several columns are none.
    if (std::string_view(weights) == "edge_attr" && NpyReader(ByteSource(own)).header().shape.size() != 1) continue;
    if (found.options.weights && !options.weights && !options.ignore_weights)
      throw InputError(
          display_name(own), "whole file",
          "it may have the weights of the edges, and so may " + display_name(*found.options.weights).string(),
          "say which by " + options.naming_weights(shell_word(display_name(own).string())));
    if (!found.options.weights) found.options.weights = own;
    if (options.max_weight == 1 && !options.ignore_weights)
      throw InputError(
          display_name(own), "whole file", "the edges of " + display_name(found.file).string() + " have weights",
          options.weight_rule().how_to_declare() + ", or take the edges without them by " + option("ignore-weights"));
  }
  return found;
}

std::unique_ptr<EdgeReader> open_npz_edges(const InputFile& file, const EdgeOptions& options) {
  if (const auto array = npz_edge_array(file, options))
    return open_npy_edges(ByteSource(array->file), array->file, array->options);
  if (options.weights)
    throw UsageError(options.naming_weights(display_name(*options.weights).string()) +
                     ": the values of a matrix are its weights, and it takes no others");
  const std::vector<std::string> members = npz_members(file.path);
  for (const std::string_view prefix : {"", "adj_"})
    if (const auto names = find_csr(members, prefix)) {
      if (prefix.empty()) require_only(file.path, members, names->saved_by_scipy());
      return std::make_unique<CsrEdges>(file.path, *names, square(file.path, names->shape), options);
    }
  require_only(file.path, members, {"row", "col", "data", "shape", "format", "_is_array"});
  return std::make_unique<CooEdges>(file.path, square(file.path, "shape"), options);
}

}  // namespace unweave
