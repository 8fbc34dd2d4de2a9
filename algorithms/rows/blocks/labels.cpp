// algorithms/rows/blocks/labels.cpp - which labels the neighbours of a node have.
#include <algorithm>
#include <string>
#include <vector>

#include "algorithms/rows/blocks/blocks.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class LabelBlock final : public RowBlock {
 public:
  explicit LabelBlock(const RowSource& source) : source_(source) {}

  [[nodiscard]] std::size_t width() const override { return source_.classes; }

  void write(NodeId node, float* out) const override {
    const Contents& contents = source_.contents;
    NeighbourList neighbours;
    contents.graph().neighbours(node, neighbours);
    std::vector<std::uint64_t> counts(source_.classes);
    for_neighbours(neighbours.view(), [&](NodeId neighbour, std::uint32_t weight) {
      if (const std::int32_t label = contents.label(neighbour);
          label != kNoLabel && split_of(neighbour) == SplitName::train)
        counts[static_cast<std::size_t>(label)] += weight;
    });
    const auto all = static_cast<double>(contents.graph().list_weight(node));
    std::transform(counts.begin(), counts.end(), out, [&](std::uint64_t count) {
      return count == 0 ? 0.0F : static_cast<float>(static_cast<double>(count) / all);
    });
  }

  [[nodiscard]] bool reads_neighbours_labels() const noexcept override { return true; }

 private:
  /// The splits list the first copies of nodes.
  [[nodiscard]] SplitName split_of(NodeId node) const {
    const NodeOrder& order = source_.contents.order();
    return source_.contents.split(order.copies() == 1 ? node : order.position(order.user(node)));
  }
  RowSource source_;
};

}  // namespace

std::unique_ptr<RowBlock> make_label_block(const RowSource& source) {
  if (!source.contents.has_labels() || source.classes == 0)
    throw UsageError(option("rows-of", "labels") + ": the store has no labels; run " + operation("import") + " with " +
                     option("labels") + " to build it again");
  return std::make_unique<LabelBlock>(source);
}

}  // namespace unweave
