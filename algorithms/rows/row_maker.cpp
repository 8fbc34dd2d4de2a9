// algorithms/rows/row_maker.cpp - blocks side by side, scaled, lifted.
#include "algorithms/rows/row_maker.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "algorithms/learning/training_set.h"
#include "algorithms/propagation/embedding.h"
#include "algorithms/propagation/schemes.h"
#include "engine/resources/parallel.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kChunkBytes = std::size_t{4} << 20;

/// Divides a row by its norm, a float64 sum in order of the columns.
void to_unit(std::span<float> row) {
  double sum = 0;
  for (const float x : row) sum += static_cast<double>(x) * static_cast<double>(x);
  if (sum == 0) return;
  const double norm = std::sqrt(sum);
  for (float& x : row) x = static_cast<float>(static_cast<double>(x) / norm);
}

}  // namespace

RowMaker::RowMaker(const RowSource& source, RowProgram program) : source_(source), program_(std::move(program)) {
  levels_width_ = plain_width_ = source.embedding.row_width(program_.weights);
  for (const std::string& name : program_.blocks) {
    blocks_.push_back(row_block(name).make(source));
    plain_width_ += blocks_.back()->width();
  }
  width_ = plain_width_;
  if (!program_.lift) return;
  lift_.emplace(plain_width_, *program_.lift);
  width_ += lift_->width();
}

void RowMaker::rows(std::span<const NodeId> nodes, float* out) const {
  if (program_.only_levels()) {
    source_.embedding.rows(nodes, program_.weights, out);
    return;
  }
  const std::size_t chunk = std::max<std::size_t>(64, kChunkBytes / (levels_width_ * sizeof(float)));
  std::vector<float> levels(std::min(chunk, nodes.size()) * levels_width_);
  for (std::size_t first = 0; first < nodes.size(); first += chunk) {
    const std::span<const NodeId> some = nodes.subspan(first, std::min(chunk, nodes.size() - first));
    source_.embedding.rows(some, program_.weights, levels.data());
    parallel_ranges(0, some.size(), LiftTransform::kBatch, [&](std::size_t begin, std::size_t end) {
      finish(some.subspan(begin, end - begin), levels.data() + begin * levels_width_, out + (first + begin) * width_);
    });
  }
}

void RowMaker::finish(std::span<const NodeId> nodes, const float* levels, float* out) const {
  LiftTransform::Room room;
  for (std::size_t first = 0; first < nodes.size(); first += LiftTransform::kBatch) {
    const std::size_t count = std::min(LiftTransform::kBatch, nodes.size() - first);
    for (std::size_t i = first; i < first + count; ++i) {
      float* const row = out + i * width_;
      float* at = std::copy_n(levels + i * levels_width_, levels_width_, row);
      for (const auto& block : blocks_) {
        block->write(nodes[i], at);
        at += block->width();
      }
      const std::span<float> plain(row, plain_width_);
      if (program_.scale == RowScale::unit) to_unit(plain);
      if (lift_) clip_row(plain, 1);
    }
    if (!lift_) continue;
    float* const rows = out + first * width_;
    lift_->lift(rows, count, width_, rows + plain_width_, room);
    for (std::size_t i = 0; i < count * width_; ++i) rows[i] = static_cast<float>(rows[i] / std::sqrt(2.0));
  }
}

std::optional<std::vector<NodeId>> RowMaker::changed(const UpdateReport& update,
                                                     std::span<const NodeId> touched) const {
  if (update.all_rows) return std::nullopt;
  std::vector<NodeId> nodes = update.changed;
  if (blocks_.empty()) return nodes;
  nodes.insert(nodes.end(), touched.begin(), touched.end());
  const bool labels =
      std::any_of(blocks_.begin(), blocks_.end(), [](const auto& block) { return block->reads_neighbours_labels(); });
  std::vector<NodeId> neighbours;
  for (std::size_t i = 0; labels && i < touched.size(); ++i) {
    source_.contents.graph().neighbours(touched[i], neighbours);
    nodes.insert(nodes.end(), neighbours.begin(), neighbours.end());
  }
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::size_t width_of(const RowProgram& program, std::uint32_t levels, std::size_t columns, std::size_t classes) {
  std::size_t width = columns * blocks_of(program.weights, levels);
  for (const std::string& name : program.blocks) width += row_block(name).width(columns, classes);
  return program.lift ? width + lifted_width(width, *program.lift) : width;
}

}  // namespace unweave
