// algorithms/models/node_units.cpp - rows of nodes, each of its own.
#include <utility>

#include "algorithms/live/live_store.h"
#include "algorithms/models/row_units.h"
#include "algorithms/rows/row_maker.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class NodeUnits final : public RowUnits {
 public:
  NodeUnits(const LiveStore& store, RowProgram program)
      : RowUnits(store), contents_(store.contents()), maker_(row_source(store), std::move(program)) {}

  void require_training() const override {
    const Manifest& manifest = store().manifest();
    const std::string name = store().path().string();
    if (manifest.graphs && manifest.graphs->labels)
      throw DataError(name + ": has labels of whole graphs and none of nodes; give " + option("pool", "mean") +
                      ", which makes rows of graphs");
    if (!manifest.labels && manifest.pairs)
      throw DataError(name + ": has no labels; give " + option("pair", "hadamard,by=16") +
                      ", which makes rows of pairs of nodes");
    if (!manifest.labels)
      throw DataError(name + ": has no labels; run " + operation("import") + " with " + option("labels") +
                      " to build it again");
    if (!manifest.train)
      throw DataError(name + ": has no training split; run " + operation("import") + " with " +
                      option("split", "train=F") + " to build it again");
  }

  [[nodiscard]] std::vector<NodeId> labelled(SplitName split) const override {
    std::vector<NodeId> nodes = contents_.members(split);
    std::erase_if(nodes, [&](NodeId node) { return contents_.label(node) == kNoLabel; });
    return nodes;
  }
  [[nodiscard]] std::int32_t label(NodeId key) const override { return contents_.label(key); }
  [[nodiscard]] std::uint64_t declared() const override { return contents_.order().users(); }

  [[nodiscard]] std::size_t width() const override { return maker_.width(); }
  void rows(std::span<const NodeId> keys, float* out) const override { maker_.rows(keys, out); }
  [[nodiscard]] std::string text(NodeId key) const override { return contents_.order().text(key); }

  [[nodiscard]] bool begins_anew() const noexcept override { return false; }
  [[nodiscard]] std::optional<std::vector<NodeId>> changed(const UpdateReport& update,
                                                           std::span<const NodeId> touched) const override {
    return maker_.changed(update, touched);
  }

 private:
  const Contents& contents_;
  RowMaker maker_;
};

}  // namespace

std::unique_ptr<const RowUnits> node_units(const LiveStore& store, const RowProgram& program) {
  return std::make_unique<NodeUnits>(store, program);
}

}  // namespace unweave
