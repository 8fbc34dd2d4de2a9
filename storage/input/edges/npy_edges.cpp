// storage/input/edges/npy_edges.cpp - edges as an integer array, m x 2 or 2 x m.
//
// In the file, the ids of an edge lie side by side ("pairs": m x 2 in C order, 2 x m in Fortran
// order) or m ids apart ("rows": the other two). Rows need two streams at once: a second reader of
// the same file, or a spool of the first row.
#include <algorithm>
#include <string>
#include <vector>

#include "storage/input/bytes/npy.h"
#include "storage/input/edges/edge_formats.h"
#include "storage/input/edges/edge_weight.h"
#include "storage/input/words/node_id.h"
#include "storage/io/error.h"
#include "storage/io/spool_file.h"

namespace unweave {

namespace {

constexpr std::size_t kChunkIds = std::size_t{1} << 15;

/// Reads ids of [0, limit) into `out`, as far as the array goes.
std::size_t read_ids(NpyReader& array, std::uint64_t limit, std::span<std::int64_t> out) {
  const std::uint64_t first = array.position();
  const std::size_t count = array.read(out);
  for (std::size_t i = 0; i < count; ++i) {
    if (static_cast<std::uint64_t>(out[i]) >= limit) {
      throw_bad_id(array.name(), "element " + array.index_text(first + i), std::to_string(out[i]), limit);
    }
  }
  return count;
}

class PairEdges final : public EdgeReader {
 public:
  PairEdges(NpyReader array, std::uint64_t limit) : array_(std::move(array)), limit_(limit) {}

  [[nodiscard]] std::optional<std::uint64_t> count() const override { return array_.header().elements / 2; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> /*weights*/) override {
    ids_.resize(2 * std::min(out.size(), kChunkIds));
    const std::size_t count = read_ids(array_, limit_, ids_) / 2;
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = {static_cast<NodeId>(ids_[2 * i]), static_cast<NodeId>(ids_[2 * i + 1])};
    }
    return count;
  }

  NpyReader array_;
  std::uint64_t limit_;
  std::vector<std::int64_t> ids_;
};

/// Two readers of one file, a row each.
class TwoRowEdges final : public EdgeReader {
 public:
  TwoRowEdges(NpyReader first, const InputFile& file, std::uint64_t limit)
      : first_(std::move(first)), second_(file), left_(first_.header().elements / 2), limit_(limit) {
    if (second_.header().shape != first_.header().shape) {
      throw DataError(first_.name().string() + ": the file changed while it was read; run the command again");
    }
    second_.skip(left_);
  }

  [[nodiscard]] std::optional<std::uint64_t> count() const override { return first_.header().elements / 2; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> /*weights*/) override {
    const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>({out.size(), kChunkIds, left_}));
    ids_.resize(2 * count);
    const std::span<std::int64_t> ids(ids_);
    read_ids(first_, limit_, ids.first(count));
    read_ids(second_, limit_, ids.last(count));
    left_ -= count;
    for (std::size_t i = 0; i < count; ++i) {
      out[i] = {static_cast<NodeId>(ids_[i]), static_cast<NodeId>(ids_[count + i])};
    }
    return count;
  }

  NpyReader first_;
  NpyReader second_;
  std::uint64_t left_;  // edges
  std::uint64_t limit_;
  std::vector<std::int64_t> ids_;
};

/// A pipe: the first row waits in a spool file while the second one arrives.
class SpooledRowEdges final : public EdgeReader {
 public:
  SpooledRowEdges(NpyReader array, std::uint64_t limit, const std::filesystem::path& temp_dir)
      : array_(std::move(array)), spool_(temp_dir), limit_(limit), ids_(kChunkIds), nodes_(kChunkIds) {
    for (std::uint64_t left = array_.header().elements / 2; left > 0;) {
      const std::size_t count = static_cast<std::size_t>(std::min<std::uint64_t>(left, kChunkIds));
      read_ids(array_, limit_, std::span(ids_).first(count));
      for (std::size_t i = 0; i < count; ++i) nodes_[i] = static_cast<NodeId>(ids_[i]);
      spool_.append({reinterpret_cast<const char*>(nodes_.data()), count * sizeof(NodeId)});
      left -= count;
    }
  }

  [[nodiscard]] std::optional<std::uint64_t> count() const override { return array_.header().elements / 2; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> /*weights*/) override {
    const std::size_t wanted = std::min(out.size(), kChunkIds);
    const std::size_t count = read_ids(array_, limit_, std::span(ids_).first(wanted));
    spool_.read(spooled_read_, {reinterpret_cast<char*>(nodes_.data()), count * sizeof(NodeId)});
    spooled_read_ += count * sizeof(NodeId);
    for (std::size_t i = 0; i < count; ++i) out[i] = {nodes_[i], static_cast<NodeId>(ids_[i])};
    return count;
  }

  NpyReader array_;
  SpoolFile spool_;
  std::uint64_t spooled_read_ = 0;  // bytes
  std::uint64_t limit_;
  std::vector<std::int64_t> ids_;
  std::vector<NodeId> nodes_;
};

/// Edges of an array, their weights from another one.
class WeightedEdges final : public EdgeReader {
 public:
  WeightedEdges(std::unique_ptr<EdgeReader> edges, const InputFile& weights, WeightRule rule)
      : edges_(std::move(edges)), weights_(weights), rule_(std::move(rule)) {
    require_one_weight_an_edge(weights_, *edges_->count());
  }

  [[nodiscard]] std::optional<std::uint64_t> count() const override { return edges_->count(); }
  [[nodiscard]] LeftOutWeights left_out() const override { return left_out_; }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) override {
    while (const std::size_t count = edges_->read(out)) {
      values_.resize(count);
      for (std::size_t read = 0; read < count;) read += weights_.read(std::span(values_).subspan(read));
      std::size_t edges = 0;
      for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t weight = rule_.take(values_[i], left_out_, weights_.name(), [&] {
          return "element " + weights_.index_text(weights_.position() - count + i);
        });
        if (weight == 0) continue;
        if (!weights.empty()) weights[edges] = weight;
        out[edges++] = out[i];
      }
      if (edges > 0) return edges;
    }
    return 0;
  }

  std::unique_ptr<EdgeReader> edges_;
  NpyReader weights_;
  WeightRule rule_;
  LeftOutWeights left_out_;
  std::vector<double> values_;
};

std::unique_ptr<EdgeReader> open_pairs(ByteSource source, const InputFile& file, const EdgeOptions& options) {
  const std::uint64_t limit = id_limit(options.num_nodes);
  NpyReader array(std::move(source), true);
  if (edge_layout(array, file, options) == EdgeLayout::pairs)
    return std::make_unique<PairEdges>(std::move(array), limit);
  if (array.reopenable()) return std::make_unique<TwoRowEdges>(std::move(array), file, limit);
  return std::make_unique<SpooledRowEdges>(std::move(array), limit, options.temp_dir);
}

}  // namespace

EdgeLayout edge_layout(const NpyReader& array, const InputFile& file, const EdgeOptions& options) {
  array.require_integers("node ids");
  if (array.header().kind == 'b')
    throw InputError(array.name(), ".npy header", "booleans, where the ids of nodes are wanted",
                     "give the edges of an adjacency matrix by numpy.argwhere(a)");
  const std::vector<std::uint64_t>& shape = array.header().shape;
  const bool by_columns = array.columns() == "0,1";  // its columns are the ends
  if (!array.columns().empty() && (!by_columns || shape.size() != 2 || shape[1] != 2 || options.two_rows))
    throw InputError(array.name(), ".npy header", "columns [" + array.columns() + "] of an array are asked for",
                     "edges are all columns of an array of shape (m, 2), [0,1]; save the columns that are meant");
  const bool is_square = shape == std::vector<std::uint64_t>{2, 2};
  const bool is_named_so = file.member == "edge_index" || file.member == "edge_index.npy";
  const bool two_rows = options.two_rows || (is_square && is_named_so);
  if (is_square && !two_rows && !by_columns)
    throw InputError(array.name(), ".npy header", "an array of shape (2, 2) may have its edges in rows or in columns",
                     "name the ends, '" + array.name().string() +
                         "[0,1]', where each row is an edge, or save columns by "
                         "numpy.savez('edges.npz', edge_index=a)");
  const bool tall = shape.size() == 2 && shape[1] == 2 && !two_rows;
  const bool wide = shape.size() == 2 && shape[0] == 2 && !tall;
  if (!tall && !wide) {
    throw InputError(array.name(), ".npy header", "shape " + array.header().shape_text() + " is not a list of edges",
                     two_rows ? "give an array of shape (2, m)" : "give an array of shape (m, 2) or (2, m)");
  }
  return tall != array.header().fortran_order ? EdgeLayout::pairs : EdgeLayout::rows;
}

void require_one_weight_an_edge(const NpyReader& weights, std::uint64_t edges) {
  const NpyHeader& header = weights.header();
  if (header.is_number() && header.shape.size() == 1 && header.elements == edges) return;
  throw InputError(
      weights.name(), ".npy header",
      "shape " + header.shape_text() + " is not that of one weight for each of " + std::to_string(edges) + " edges",
      "give an array of one number an edge");
}

std::unique_ptr<EdgeReader> open_npy_edges(ByteSource source, const InputFile& file, const EdgeOptions& options) {
  auto edges = open_pairs(std::move(source), file, options);
  const WeightRule rule = options.weight_rule();
  if (!options.weights && rule.reads_weights())
    throw_no_weight(display_name(file), "whole file", "give one number an edge by " + options.naming_weights("F.npy"));
  if (!options.weights) return edges;
  return std::make_unique<WeightedEdges>(std::move(edges), *options.weights, rule);
}

}  // namespace unweave
