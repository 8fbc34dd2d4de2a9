// algorithms/propagation/row_sink.cpp - puts values into images of files of rows.
#include "algorithms/propagation/row_sink.h"

#include <algorithm>
#include <sstream>
#include <string>

#include "engine/resources/parallel.h"
#include "storage/formats/rows_image.h"
#include "storage/formats/store_layout.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

std::string value_text(float value) {
  std::ostringstream text;
  text << value;
  return text.str();
}

}  // namespace

std::uint64_t RowQueue::bytes(const KeptForm& kept, std::uint64_t segments) {
  return segments == 0 ? 0 : HugeBuffer::charge(segments * RowsImage::segment_bytes(kept.type));
}

RowQueue::RowQueue(const KeptForm& kept, std::uint64_t segments, MemoryBudget& budget) {
  if (segments == 0) return;
  const std::size_t segment = RowsImage::segment_bytes(kept.type);
  memory_ = HugeBuffer(segments * segment, budget, "buffers of writes");
  queue_.emplace(std::span(memory_.data(), memory_.size()), segment);
}

std::span<const std::byte> KeptBits::of(std::uint32_t level, TileColumns some, std::span<const NodeId> nodes,
                                        std::span<const float> values) {
  if (kept_.type == FeatureType::f32) return std::as_bytes(values);
  halves_.resize(values.size());
  const std::size_t at = round_to_halves(values, kept_.exponent, halves_.data());
  if (at < values.size())
    throw DataError("level " + std::to_string(level) + ", " + contents_.order().text(nodes[at / some.count]) +
                    ", column " + std::to_string(some.first + at % some.count) + ": the value " +
                    value_text(values[at]) + " times 2^" + std::to_string(kept_.exponent) +
                    " is more than 16 bits hold, at most 65504; give a smaller " + option("keep-exponent") + ", or " +
                    option("keep-type", "f32"));
  return std::as_bytes(std::span<const Half>(halves_));
}

RowSink::RowSink(const std::filesystem::path& store, const Contents& contents, const PropagationSpec& spec,
                 const RowMask* targets, const StatePlan& plan, MemoryBudget& budget)
    : contents_(contents),
      first_level_(first_kept_level(spec)),
      converting_(budget.reserve(plan.row_bytes - RowQueue::bytes(spec.kept, plan.row_segments), "rows of values")),
      queue_(spec.kept, plan.row_segments, budget),
      converter_(
          store, contents, spec, targets, spec.levels > 0 ? plan.tiles.width : contents.features().columns(),
          plan.row_batch,
          [this, &spec](std::uint32_t level, TileColumns some, std::span<const NodeId> nodes, const float* values) {
            KeptBits bits(contents_, spec.kept);
            images_[level - first_level_]->put(nodes, static_cast<std::uint32_t>(some.first),
                                               static_cast<std::uint32_t>(some.count),
                                               bits.of(level, some, nodes, {values, nodes.size() * some.count}).data());
          }) {
  const auto width = static_cast<std::uint32_t>(blocks_of_rows(spec) * contents.features().columns());
  for (std::uint32_t level = first_level_; level <= spec.levels; ++level)
    images_.push_back(
        std::make_unique<RowsLevelImage>(store, level, width, contents.num_nodes(), spec.kept, targets, queue_.get()));
}

void RowSink::put(std::uint32_t level, TileColumns columns, const SumRows& rows) {
  converter_.put(level, columns, rows);
}

void RowSink::end(std::uint32_t level, TileColumns /*columns*/, const LevelProof& /*proof*/) {
  if (level >= first_level_) images_[level - first_level_]->rest();
}

LevelEntries RowSink::name_files() {
  queue_.drain();
  LevelEntries entries;
  for (const auto& image : images_) entries.push_back(image->publish());
  return entries;
}

void RowSink::put_features() {
  const NodeId nodes = contents_.num_nodes(), span = span_nodes(nodes);
  parallel_ranges(0, nodes, kMinSpanNodes / 16, [&](std::size_t begin, std::size_t end) {
    for (auto node = static_cast<NodeId>(begin); node < end;) {
      const auto last = static_cast<NodeId>(std::min<std::uint64_t>(end, (std::uint64_t{node} / span + 1) * span));
      converter_.put_features({node, last});
      node = last;
    }
  });
}

}  // namespace unweave
