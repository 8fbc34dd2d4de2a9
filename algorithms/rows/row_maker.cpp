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

/// Which blocks of levels the first copy has alone.
std::vector<bool> blocks_of_first_copy(const RowProgram& program, std::uint32_t levels) {
  std::vector<bool> flags(blocks_of(program.weights, levels));
  if (!program.level_0_once) return flags;
  for (std::size_t block = 0; block < flags.size(); ++block) {
    const auto first = program.weights.begin() + static_cast<std::ptrdiff_t>(block * (std::size_t{levels} + 1));
    flags[block] = *first != 0 && std::all_of(first + 1, first + 1 + levels, [](double weight) { return weight == 0; });
  }
  return flags;
}

/// Numbers that all copies but the first leave out.
std::size_t left_out(const RowProgram& program, std::uint32_t levels, std::size_t columns) {
  const std::vector<bool> flags = blocks_of_first_copy(program, levels);
  return columns * (program.copies - 1) * static_cast<std::size_t>(std::count(flags.begin(), flags.end(), true));
}

}  // namespace

void hold_level_0_once(RowProgram& program, std::uint32_t levels) {
  program.level_0_once = true;
  program.level_0_once = left_out(program, levels, 1) > 0;
}

RowMaker::RowMaker(const RowSource& source, RowProgram program, bool each_copy)
    : source_(source), program_(std::move(program)) {
  const std::uint32_t copies = each_copy ? 1 : source.contents.order().copies();
  if (program_.copies != copies)
    throw UsageError("rows of " + std::to_string(program_.copies) + " copies of a node, and the store has " +
                     std::to_string(copies) + "; train a model on this store");
  levels_width_ = plain_width_ = source.embedding.row_width(program_.weights);
  for (const std::string& name : program_.blocks) {
    blocks_.push_back(row_block(name).make(source));
    plain_width_ += blocks_.back()->width();
  }
  const std::uint32_t levels = source.embedding.levels();
  of_first_copy_ = blocks_of_first_copy(program_, levels);
  const std::size_t columns = of_first_copy_.empty() ? 0 : levels_width_ / of_first_copy_.size();
  plain_width_ = plain_width_ * program_.copies - left_out(program_, levels, columns);
  width_ = plain_width_;
  if (!program_.lift) return;
  lift_.emplace(plain_width_, *program_.lift);
  width_ += lift_->width();
}

void RowMaker::rows(std::span<const NodeId> nodes, float* out) const {
  const NodeOrder& order = source_.contents.order();
  if (program_.only_levels()) {
    source_.embedding.rows(nodes, program_.weights, out);
    return;
  }
  const std::size_t width = program_.copies * levels_width_;
  const std::size_t chunk = std::max<std::size_t>(64, kChunkBytes / (width * sizeof(float)));
  std::vector<float> levels(std::min(chunk, nodes.size()) * width);
  for (std::size_t first = 0; first < nodes.size(); first += chunk) {
    const std::span<const NodeId> some = nodes.subspan(first, std::min(chunk, nodes.size() - first));
    const std::vector<NodeId> all =
        program_.copies == 1 ? std::vector<NodeId>(some.begin(), some.end()) : order.with_copies(some);
    source_.embedding.rows(all, program_.weights, levels.data());
    parallel_ranges(0, some.size(), LiftTransform::kBatch, [&](std::size_t begin, std::size_t end) {
      finish(std::span(all).subspan(begin * program_.copies, (end - begin) * program_.copies),
             levels.data() + begin * width, out + (first + begin) * width_);
    });
  }
}

void RowMaker::finish(std::span<const NodeId> copies, const float* levels, float* out) const {
  const std::size_t nodes = copies.size() / program_.copies;
  const std::size_t columns = of_first_copy_.empty() ? 0 : levels_width_ / of_first_copy_.size();
  for (std::size_t i = 0; i < nodes; ++i) {
    float* const row = out + i * width_;
    float* at = row;
    for (std::size_t copy = i * program_.copies; copy < (i + 1) * program_.copies; ++copy) {
      const bool is_first = copy == i * program_.copies;
      for (std::size_t block = 0; block < of_first_copy_.size(); ++block)
        if (is_first || !of_first_copy_[block])
          at = std::copy_n(levels + copy * levels_width_ + block * columns, columns, at);
      for (const auto& block : blocks_) {
        block->write(copies[copy], at);
        at += block->width();
      }
    }
    if (program_.scale == RowScale::unit) to_unit({row, plain_width_});
  }
  if (lift_) lift_beside(*lift_, plain_width_, out, nodes);
}

void lift_beside(const LiftTransform& lift, std::size_t plain_width, float* rows, std::size_t count) {
  const std::size_t width = plain_width + lift.width();
  LiftTransform::Room room;
  for (std::size_t first = 0; first < count; first += LiftTransform::kBatch) {
    const std::size_t some = std::min(LiftTransform::kBatch, count - first);
    float* const batch = rows + first * width;
    for (std::size_t i = 0; i < some; ++i) clip_row({batch + i * width, plain_width}, 1);
    lift.lift(batch, some, width, batch + plain_width, room);
    for (std::size_t i = 0; i < some * width; ++i) batch[i] = static_cast<float>(batch[i] / std::sqrt(2.0));
  }
}

std::optional<std::vector<NodeId>> RowMaker::changed(const UpdateReport& update,
                                                     std::span<const NodeId> touched) const {
  if (update.all_rows) return std::nullopt;
  const NodeOrder& order = source_.contents.order();
  std::vector<NodeId> nodes = update.changed;
  if (blocks_.empty() && program_.copies == 1) return nodes;
  const bool labels =
      std::any_of(blocks_.begin(), blocks_.end(), [](const auto& block) { return block->reads_neighbours_labels(); });
  if (!blocks_.empty()) nodes.insert(nodes.end(), touched.begin(), touched.end());
  std::vector<NodeId> neighbours;
  // A split names the first copy alone, and the neighbours of all copies read it.
  const std::vector<NodeId> all = labels ? order.with_copies(touched) : std::vector<NodeId>();
  for (const NodeId node : all) {
    source_.contents.graph().neighbours(node, neighbours);
    nodes.insert(nodes.end(), neighbours.begin(), neighbours.end());
  }
  if (program_.copies > 1)
    for (NodeId& node : nodes) node = order.position(order.user(node));
  std::sort(nodes.begin(), nodes.end());
  nodes.erase(std::unique(nodes.begin(), nodes.end()), nodes.end());
  return nodes;
}

std::size_t width_of(const RowProgram& program, std::uint32_t levels, std::size_t columns, std::size_t classes) {
  std::size_t width = columns * blocks_of(program.weights, levels);
  for (const std::string& name : program.blocks) width += row_block(name).width(columns, classes);
  width = width * program.copies - left_out(program, levels, columns);
  if (program.lift && program.lift->of_nodes) width += lifted_width(width, *program.lift);
  if (program.pair && program.pair->how == PairForm::How::both) width *= 2;
  const std::optional<Lift> lift = program.lift_of_units();
  return lift ? width + lifted_width(width, *lift) : width;
}

}  // namespace unweave
