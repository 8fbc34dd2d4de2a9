// algorithms/rows/blocks/open.cpp - the mean over a node's neighbours without the node itself.
#include <string>
#include <vector>

#include "algorithms/propagation/embedding.h"
#include "algorithms/propagation/row_values.h"
#include "algorithms/rows/blocks/blocks.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

class OpenBlock final : public RowBlock {
 public:
  explicit OpenBlock(const RowSource& source) : source_(source), unit_(unit_of(source.embedding.spec().scale_bits)) {}

  [[nodiscard]] std::size_t width() const override { return source_.embedding.columns(); }

  void write(NodeId node, float* out) const override {
    const std::size_t columns = width();
    std::vector<std::int32_t> own(columns);
    std::vector<std::int64_t> sums(columns);
    const Graph& graph = source_.contents.graph();
    const std::uint32_t others = graph.list_weight(node);
    const std::int64_t self = graph.self_weight();
    if (others > 0) {
      source_.embedding.normalised_sums(0, node, own.data());
      source_.embedding.level(1).load(node, sums.data());
    }
    for (std::size_t c = 0; c < columns; ++c)
      out[c] =
          others == 0
              ? 0.0F
              : static_cast<float>(static_cast<double>(sums[c] - self * own[c]) / static_cast<double>(others) * unit_);
  }

 private:
  RowSource source_;
  double unit_;
};

}  // namespace

std::unique_ptr<RowBlock> make_open_block(const RowSource& source) {
  source.embedding.require_sums();
  const PropagationSpec& spec = source.embedding.spec();
  if (spec.rho != 1 || spec.levels == 0)
    throw UsageError(option("rows-of", "open") + ": it needs a level 1 that is a mean; run " + operation("propagate") +
                     " with " + option("rho", "1") + " first");
  return std::make_unique<OpenBlock>(source);
}

}  // namespace unweave
