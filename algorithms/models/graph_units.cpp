// algorithms/models/graph_units.cpp - rows of whole graphs: sums of the rows of their nodes.
//
// Rows of nodes are read some MiB at a time, in the order of the graphs that are asked for, and
// become whole numbers in the sums of their graph; sums of one graph a thread are held, and of the
// one whose nodes go on behind the rows at hand.
#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>

#include "algorithms/learning/training_set.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/row_units.h"
#include "algorithms/rows/pool.h"
#include "algorithms/rows/row_maker.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"
#include "storage/io/shell_word.h"

namespace unweave {
namespace {

constexpr std::size_t kNodeRowBytes = std::size_t{4} << 20;

class GraphUnits final : public RowUnits {
 public:
  GraphUnits(const LiveStore& store, const RowProgram& program)
      : RowUnits(store),
        graphs_(store.contents().graphs()),
        pool_(program.pool.value()),
        maker_(row_source(store), program.of_nodes()) {
    if (!graphs_.any())
      throw UsageError(store.path().string() + ": has no whole graphs, whose rows " + option("pool") + " makes; run " +
                       operation("import") + " with " + option("graphs") + " to build it again");
    if (const auto lift = program.lift_of_units()) lift_.emplace(maker_.width(), *lift);
  }

  void require_training() const override {
    const Manifest& manifest = store().manifest();
    const std::string name = store().path().string();
    if (!manifest.graphs->labels)
      throw DataError(name + ": has no labels of graphs; run " + operation("import") + " with " +
                      option("graph-labels") + " to build it again");
    if (!manifest.graphs->train)
      throw DataError(name + ": has no training split of graphs; run " + operation("import") + " with " +
                      option("graph-split", "train=F") + " to build it again");
  }

  [[nodiscard]] std::vector<NodeId> labelled(SplitName split) const override {
    std::vector<NodeId> graphs = graphs_.members(split);
    std::erase_if(graphs, [&](NodeId graph) { return graphs_.label(graph) == kNoLabel || graphs_.size(graph) == 0; });
    return graphs;
  }
  [[nodiscard]] std::int32_t label(NodeId key) const override { return graphs_.label(key); }
  [[nodiscard]] std::uint64_t declared() const override { return graphs_.count(); }
  [[nodiscard]] std::size_t width() const override { return maker_.width() + (lift_ ? lift_->width() : 0); }
  [[nodiscard]] std::string text(NodeId key) const override { return "graph " + std::to_string(key); }

  /// Graphs of the nodes whose rows may have moved. Whoever holds rows knows which graphs have
  /// another number of nodes.
  [[nodiscard]] std::optional<std::vector<NodeId>> changed(const UpdateReport& update,
                                                           std::span<const NodeId> touched) const override {
    std::optional<std::vector<NodeId>> nodes = maker_.changed(update, touched);
    if (!nodes) return std::nullopt;
    std::vector<NodeId> graphs;
    for (const std::span<const NodeId> some : {std::span<const NodeId>(*nodes), touched})
      for (const NodeId node : some)
        if (graphs_.of(node) != kNoGraph) graphs.push_back(static_cast<NodeId>(graphs_.of(node)));
    std::sort(graphs.begin(), graphs.end());
    graphs.erase(std::unique(graphs.begin(), graphs.end()), graphs.end());
    return graphs;
  }

  void rows(std::span<const NodeId> keys, float* out) const override {
    Pooling pooling(*this, out);
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (keys[i] >= graphs_.count() || graphs_.size(keys[i]) == 0)
        throw UsageError(text(keys[i]) + " has no nodes and no row; take it out of the list");
      pooling.add(i, graphs_.nodes(keys[i]));
    }
    pooling.finish();
    if (!lift_) return;
    parallel_ranges(0, keys.size(), LiftTransform::kBatch, [&](std::size_t begin, std::size_t end) {
      lift_beside(*lift_, maker_.width(), out + begin * width(), end - begin);
    });
  }

 private:
  /// Consecutive nodes of one graph among those whose rows are at hand.
  struct Part {
    std::size_t key;
    std::size_t begin, end;
    bool begins = true, ends = true;  ///< with its first node, with its last
    std::uint64_t nodes = 0;          ///< that the whole graph has
  };

  /// Takes the nodes of one graph after the other.
  class Pooling {
   public:
    Pooling(const GraphUnits& units, float* out)
        : units_(units),
          out_(out),
          width_(units.maker_.width()),
          most_(std::max<std::size_t>(64, kNodeRowBytes / (width_ * sizeof(float)))),
          begun_(width_) {}

    void add(std::size_t key, std::span<const NodeId> nodes) {
      for (std::size_t first = 0; first < nodes.size();) {
        const std::size_t count = std::min(nodes.size() - first, most_ - nodes_.size());
        parts_.push_back(
            {key, nodes_.size(), nodes_.size() + count, first == 0, first + count == nodes.size(), nodes.size()});
        nodes_.insert(nodes_.end(), nodes.begin() + static_cast<std::ptrdiff_t>(first),
                      nodes.begin() + static_cast<std::ptrdiff_t>(first + count));
        first += count;
        if (nodes_.size() == most_) finish();
      }
    }

    void finish() {
      rows_.resize(nodes_.size() * width_);
      units_.maker_.rows(nodes_, rows_.data());
      std::size_t whole = 0;
      if (!parts_.empty() && !parts_.front().begins) go_on(parts_[whole++]);
      const std::size_t last = parts_.size() - (parts_.size() > whole && !parts_.back().ends ? 1 : 0);
      parallel_ranges(whole, last, 1, [&](std::size_t begin, std::size_t end) {
        std::vector<std::int64_t> sums(width_);
        for (std::size_t i = begin; i < end; ++i) {
          std::fill(sums.begin(), sums.end(), 0);
          add_rows(parts_[i], sums);
          divide(parts_[i], sums);
        }
      });
      if (last < parts_.size()) go_on(parts_[last]);
      nodes_.clear();
      parts_.clear();
    }

   private:
    /// A part of a graph that begins or ends elsewhere.
    void go_on(const Part& part) {
      if (part.begins) std::fill(begun_.begin(), begun_.end(), 0);
      add_rows(part, begun_);
      if (part.ends) divide(part, begun_);
    }
    void add_rows(const Part& part, std::span<std::int64_t> sums) {
      for (std::size_t i = part.begin; i < part.end; ++i) {
        const std::span<float> row(rows_.data() + i * width_, width_);
        if (!std::all_of(row.begin(), row.end(), [](float x) { return std::isfinite(x); })) refuse(nodes_[i]);
        clip_row(row, 1);
        add_to_pool(row, sums);
      }
    }
    void divide(const Part& part, std::span<const std::int64_t> sums) const {
      divide_pool(sums, part.nodes, units_.pool_, out_ + part.key * units_.width());
    }
    [[noreturn]] void refuse(NodeId node) const {
      const LiveStore& store = units_.store();
      throw DataError(store.path().string() + ": the embedding of " + store.contents().order().text(node) +
                      " holds a value that is not finite; run " +
                      operation("verify " + shell_word(store.path().string())));
    }

    const GraphUnits& units_;
    float* out_;
    std::size_t width_, most_;
    std::vector<NodeId> nodes_;  // those at hand, and their rows
    std::vector<float> rows_;
    std::vector<Part> parts_;
    std::vector<std::int64_t> begun_;  // sums of a graph that goes on
  };

  const WholeGraphs& graphs_;
  Pool pool_;
  RowMaker maker_;
  std::optional<LiftTransform> lift_;
};

}  // namespace

std::unique_ptr<const RowUnits> graph_units(const LiveStore& store, const RowProgram& program) {
  return std::make_unique<GraphUnits>(store, program);
}

}  // namespace unweave
