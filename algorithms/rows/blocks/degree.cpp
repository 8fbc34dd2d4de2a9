// algorithms/rows/blocks/degree.cpp - how many neighbours a node has, by powers of two.
#include <algorithm>
#include <bit>

#include "algorithms/rows/blocks/blocks.h"

namespace unweave {
namespace {

class DegreeBlock final : public RowBlock {
 public:
  explicit DegreeBlock(const RowSource& source) : source_(source) {}

  [[nodiscard]] std::size_t width() const override { return kDegreeWidth; }

  void write(NodeId node, float* out) const override {
    std::fill_n(out, kDegreeWidth, 0.0F);
    out[std::bit_width(source_.contents.graph().degree(node)) - 1] = 1;
  }

 private:
  RowSource source_;
};

}  // namespace

std::unique_ptr<RowBlock> make_degree_block(const RowSource& source) {
  return std::make_unique<DegreeBlock>(source);
}

}  // namespace unweave
