// storage/input/npz_edges.cpp - edges in an .npz archive: the non-zeros of a sparse matrix, or an array of edges.
//
// A matrix in CSC has the arcs of its CSR turned round, and edges have no direction here: both are read alike.
#include <algorithm>
#include <string>
#include <vector>

#include "storage/input/csr_archive.h"
#include "storage/input/edge_formats.h"
#include "storage/input/edge_weight.h"
#include "storage/input/foreign_format.h"
#include "storage/input/node_id.h"
#include "storage/input/npy.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkEntries = std::size_t{1} << 15;
constexpr std::string_view kSaveAgain = "save the matrix again, for example with scipy.sparse.save_npz";

NpyReader open_ids(const std::filesystem::path& archive, const std::string& member) {
  NpyReader reader(InputFile{archive, member});
  reader.require_integers("indices of a matrix");
  if (reader.header().shape.size() != 1)
    throw InputError(reader.name(), ".npy header",
                     "shape " + reader.header().shape_text() + " is not that of a list of indices", kSaveAgain);
  return reader;
}

/// The non-zeros of a square matrix: columns from one array, rows by what a subclass knows, values beside.
class MatrixEdges : public EdgeReader {
 public:
  MatrixEdges(const std::filesystem::path& archive, const std::string& columns, const std::string& values,
              std::uint64_t nodes, const EdgeOptions& options)
      : columns_(open_ids(archive, columns)),
        values_(InputFile{archive, values}),
        nodes_(nodes),
        limit_(std::min(nodes, id_limit(options.num_nodes))),
        ignore_weights_(options.ignore_weights),
        max_weight_(options.max_weight) {
    const NpyHeader& header = values_.header();
    if (!header.is_number() || header.shape.size() != 1 || header.elements != columns_.header().elements)
      throw InputError(
          values_.name(), ".npy header",
          "shape " + header.shape_text() + " is not that of " + std::to_string(columns_.header().elements) + " values",
          kSaveAgain);
  }

  [[nodiscard]] std::optional<std::uint64_t> count() const final { return columns_.header().elements; }
  [[nodiscard]] std::optional<std::uint64_t> declared_nodes() const final { return nodes_; }
  [[nodiscard]] std::uint64_t ignored_weights() const final { return ignored_weights_; }

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
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>({out.size(), kChunkEntries, columns_.remaining()}));
    if (count == 0) {
      require_rows_end();
      return 0;
    }
    ids_.resize(count);
    values_read_.resize(count);
    columns_.read(ids_);
    values_.read(std::span(values_read_));
    const std::uint64_t first = columns_.position() - count;
    for (std::size_t i = 0; i < count; ++i) {
      require_id(columns_, first + i, ids_[i]);
      const double value = values_read_[i];
      if (!weights.empty()) {
        if (!is_weight(value, max_weight_))
          throw_bad_weight(values_.name(), "element " + values_.index_text(first + i), value, max_weight_);
        weights[i] = static_cast<std::uint32_t>(value);
      } else if (value != 1 && !ignore_weights_) {
        throw InputError(values_.name(), "element " + values_.index_text(first + i),
                         "a value other than 1, as of a weight",
                         "declare the largest weight by " + option("max-weight", "W") +
                             ", or take the edges without them by " + option("ignore-weights"));
      } else if (value != 1) {
        ++ignored_weights_;
      }
      out[i] = {row_of(first + i), static_cast<NodeId>(ids_[i])};
    }
    return count;
  }

  [[nodiscard]] bool has_weights() const final { return max_weight_ > 1; }

  NpyReader columns_, values_;
  std::uint64_t nodes_, limit_;
  bool ignore_weights_;
  std::uint32_t max_weight_;
  std::uint64_t ignored_weights_ = 0;
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

}  // namespace

std::unique_ptr<EdgeReader> open_npz_edges(const InputFile& file, const EdgeOptions& options) {
  const std::vector<std::string> members = npz_members(file.path);
  const auto has = [&](std::string_view name) {
    return std::find(members.begin(), members.end(), name) != members.end();
  };
  const auto refuse_weights_beside = [&] {
    if (options.weights)
      throw UsageError(option("edge-weights", display_name(*options.weights).string()) +
                       ": the values of a matrix are its weights, and it takes no others");
  };
  for (const std::string_view prefix : {"", "adj_"})
    if (const auto names = find_csr(members, prefix)) {
      refuse_weights_beside();
      return std::make_unique<CsrEdges>(file.path, *names, square(file.path, names->shape), options);
    }
  if (has("row") && has("col") && has("data") && has("shape")) {
    refuse_weights_beside();
    return std::make_unique<CooEdges>(file.path, square(file.path, "shape"), options);
  }
  const std::string array = has("edge_index") ? "edge_index" : members.size() == 1 ? members[0] : "";
  if (array.empty()) {
    ByteSource source(file);
    refuse_foreign_format(source, file, InputKind::kEdges);
  }
  const InputFile member{file.path, array};
  EdgeOptions how = options;
  how.two_rows |= array == "edge_index";
  if (array == "edge_index" && has("edge_weight")) {
    const InputFile own{file.path, "edge_weight"};
    if (options.max_weight > 1 && !how.weights) how.weights = own;
    if (options.max_weight == 1 && !options.ignore_weights)
      throw InputError(display_name(own), "whole file",
                       "the edges of " + display_name(member).string() + " have weights",
                       "declare the largest one by " + option("max-weight", "W") +
                           ", or take the edges without them by " + option("ignore-weights"));
  }
  return open_npy_edges(ByteSource(member), member, how);
}

}  // namespace unweave
