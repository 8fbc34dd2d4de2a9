// storage/input/npy_edges.cpp - edges as an integer array, m x 2 or 2 x m.
//
// In the file, the ids of an edge lie side by side ("pairs": m x 2 in C order, 2 x m in Fortran order) or m ids apart
// ("rows": the other two). Rows need two streams at once: a second reader of the same file, or a spool of the first row.
#include <algorithm>
#include <string>
#include <vector>

#include "storage/input/edge_formats.h"
#include "storage/input/edge_weight.h"
#include "storage/input/node_id.h"
#include "storage/input/npy.h"
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

  void go_to(const EdgePlace& place) override { array_.skip(2 * place.edges); }

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

  void go_to(const EdgePlace& place) override {
    const std::uint64_t count = std::min(place.edges, left_);
    first_.skip(count);
    second_.skip(count);
    left_ -= count;
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
  WeightedEdges(std::unique_ptr<EdgeReader> edges, const InputFile& weights, std::uint32_t max_weight)
      : edges_(std::move(edges)), weights_(weights), max_weight_(max_weight) {
    const NpyHeader& header = weights_.header();
    if (!header.is_number() || header.shape.size() != 1 || header.elements != edges_->count())
      throw InputError(weights_.name(), ".npy header",
                       "shape " + header.shape_text() + " is not that of one weight for each of " +
                           std::to_string(*edges_->count()) + " edges",
                       "give an array of one number an edge");
  }

  [[nodiscard]] std::optional<std::uint64_t> count() const override { return edges_->count(); }

 private:
  std::size_t read_some(std::span<Edge> out, std::span<std::uint32_t> weights) override {
    const std::size_t count = edges_->read(out);
    values_.resize(count);
    for (std::size_t read = 0; read < count;) read += weights_.read(std::span(values_).subspan(read));
    for (std::size_t i = 0; i < count && !weights.empty(); ++i) {
      if (!is_weight(values_[i], max_weight_))
        throw_bad_weight(weights_.name(), "element " + weights_.index_text(weights_.position() - count + i), values_[i],
                         max_weight_);
      weights[i] = static_cast<std::uint32_t>(values_[i]);
    }
    return count;
  }

  void go_to(const EdgePlace& place) override {
    edges_->go_on(place);
    weights_.skip(place.edges);
  }

  std::unique_ptr<EdgeReader> edges_;
  NpyReader weights_;
  std::uint32_t max_weight_;
  std::vector<double> values_;
};

std::unique_ptr<EdgeReader> open_pairs(ByteSource source, const InputFile& file, const EdgeOptions& options) {
  const std::uint64_t limit = id_limit(options.num_nodes);
  NpyReader array(std::move(source));
  array.require_integers("node ids");
  const std::vector<std::uint64_t>& shape = array.header().shape;
  const bool tall = shape.size() == 2 && shape[1] == 2 && !options.two_rows;  // 2 x 2 is read as m x 2
  const bool wide = shape.size() == 2 && shape[0] == 2 && !tall;
  if (!tall && !wide) {
    throw InputError(array.name(), ".npy header", "shape " + array.header().shape_text() + " is not a list of edges",
                     options.two_rows ? "give an array of shape (2, m)" : "give an array of shape (m, 2) or (2, m)");
  }
  if (tall != array.header().fortran_order) return std::make_unique<PairEdges>(std::move(array), limit);
  if (array.reopenable()) return std::make_unique<TwoRowEdges>(std::move(array), file, limit);
  return std::make_unique<SpooledRowEdges>(std::move(array), limit, options.temp_dir);
}

}  // namespace

std::unique_ptr<EdgeReader> open_npy_edges(ByteSource source, const InputFile& file, const EdgeOptions& options) {
  auto edges = open_pairs(std::move(source), file, options);
  if (options.max_weight == 1) return edges;
  if (!options.weights)
    throw_no_weight(display_name(file), "whole file", "give one number an edge by " + option("edge-weights", "F.npy"));
  return std::make_unique<WeightedEdges>(std::move(edges), *options.weights, options.max_weight);
}

}  // namespace unweave
