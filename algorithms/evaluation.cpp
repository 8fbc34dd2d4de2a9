// algorithms/evaluation.cpp - scores by blocks of rows.
#include "algorithms/evaluation.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/parallel.h"

namespace unweave {
namespace {

constexpr std::size_t kBlockRows = 128;
constexpr std::size_t kLanes = 16;  // each has one buffer, used for all its blocks

/// Right predictions over `count` rows; read(first, count, buffer) gives rows as floats, label(i) their classes.
template <class Read, class Label>
std::optional<double> accuracy(std::size_t count, const Model& model, const Read& read, const Label& label) {
  if (count == 0) return std::nullopt;
  const NetworkShape shape = shape_of(model);
  const std::size_t features = shape.features, classes = shape.classes;
  const auto hits_of_lane = [&](std::size_t begin, std::size_t end) {
    const std::size_t most = std::min(kBlockRows, end - begin);
    std::vector<float> buffer(most * features);
    std::vector<double> scores(most * classes);
    std::uint64_t hits = 0;
    for (std::size_t first = begin; first < end; first += most) {
      const std::size_t rows = std::min(most, end - first);
      margins_of(model, read(first, rows, buffer.data()), rows, scores.data());
      for (std::size_t i = 0; i < rows; ++i) {
        const double* row = &scores[i * classes];
        hits += static_cast<std::size_t>(std::max_element(row, row + classes) - row) == label(first + i) ? 1 : 0;
      }
    }
    return hits;
  };
  const std::size_t lane = std::max(kBlockRows, (count + kLanes - 1) / kLanes);
  const auto right = ordered_sum<std::uint64_t>(count, lane, 0, hits_of_lane);
  return static_cast<double>(right) / static_cast<double>(count);
}

}  // namespace

Accuracies evaluate_model(const LiveStore& store, const ModelRecord& record, const TrainingSet* held) {
  const Contents& contents = store.contents();
  const auto of_split = [&](const std::vector<NodeId>& split) {
    std::vector<NodeId> nodes;
    for (const NodeId node : split)
      if (contents.label(node) != kNoLabel) nodes.push_back(node);
    const auto read = [&](std::size_t first, std::size_t count, float* out) {
      store.embedding().rows(std::span(nodes).subspan(first, count), record.weights, out);
      const std::size_t features = store.manifest().features;
      for (std::size_t i = 0; i < count; ++i) clip_row({out + i * features, features}, record.clip);
      return out;
    };
    return accuracy(nodes.size(), record.model, read,
                    [&](std::size_t i) { return static_cast<std::size_t>(contents.label(nodes[i])); });
  };
  Accuracies result;
  if (held != nullptr) {
    const auto read = [&](std::size_t first, std::size_t, float*) { return held->row(first).data(); };
    result.train = accuracy(held->size(), record.model, read, [&](std::size_t i) { return held->labels()[i]; });
  } else {
    result.train = of_split(contents.train());
  }
  result.valid = of_split(contents.valid());
  result.test = of_split(contents.test());
  return result;
}

}  // namespace unweave
