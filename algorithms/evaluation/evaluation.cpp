// algorithms/evaluation/evaluation.cpp - reads rows in blocks, and computes margins, predictions
// and accuracies.
#include "algorithms/evaluation/evaluation.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "algorithms/learning/head.h"
#include "algorithms/learning/network_pass.h"
#include "engine/resources/memory_shares.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

constexpr std::size_t kMostRows = 128;  // rows of a block
constexpr std::size_t kLanes = 16;      // each has one buffer, used for all its blocks

std::size_t lane_of(std::size_t count) {
  return std::max(kMostRows, (count + kLanes - 1) / kLanes);
}

/// Calls use(i, margins of row i) for begin <= i < end; read(first, count, buffer) gives rows as
/// floats.
template <class Read, class Use>
void for_margins(std::size_t begin, std::size_t end, const Model& model, const EvaluationBlocks& blocks,
                 const Read& read, const Use& use) {
  const NetworkShape shape = shape_of(model);
  const std::size_t classes = shape.classes;
  const std::size_t most = std::min(blocks.rows, end - begin);
  std::vector<float> buffer(most * shape.features);
  std::vector<double> margins(most * classes);
  for (std::size_t first = begin; first < end; first += most) {
    const std::size_t rows = std::min(most, end - first);
    margins_of(model, read(first, rows, buffer.data()), rows, margins.data());
    for (std::size_t i = 0; i < rows; ++i) use(first + i, std::span(margins).subspan(i * classes, classes));
  }
}

/// Rows of consecutive ones of `keys`, for for_margins().
auto rows_of_keys(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys) {
  return [&units, &record, keys](std::size_t first, std::size_t count, float* out) {
    read_rows(units, record, keys.subspan(first, count), out);
    return out;
  };
}

/// Margins of all rows that `read` gives.
template <class Read>
void write_margins(const Model& model, std::size_t count, MemoryBudget& budget, const Read& read, double* margins) {
  const EvaluationBlocks blocks(model, budget);
  const std::size_t classes = shape_of(model).classes;
  parallel_ranges(0, count, lane_of(count), [&](std::size_t begin, std::size_t end) {
    for_margins(begin, end, model, blocks, read, [&](std::size_t i, std::span<const double> row) {
      std::copy(row.begin(), row.end(), margins + i * classes);
    });
  });
}

/// Share of right predictions over `count` rows, of which label(i) is the class. With `ranks` each
/// of them looks at `own`.
template <class Read, class Label>
std::optional<double> accuracy(std::size_t count, RankShare own, Ranks* ranks, const Model& model,
                               const EvaluationBlocks& blocks, const Read& read, const Label& label) {
  if (count == 0) return std::nullopt;
  const std::size_t here = own.end - own.begin;
  const auto right = ordered_sum<std::uint64_t>(here, lane_of(here), 0, [&](std::size_t begin, std::size_t end) {
    std::uint64_t hits = 0;
    for_margins(
        own.begin + begin, own.begin + end, model, blocks, read,
        [&](std::size_t i, std::span<const double> margins) { hits += largest_of(margins) == label(i) ? 1 : 0; });
    return hits;
  });
  double all = static_cast<double>(right);
  if (ranks != nullptr) {
    all = 0;
    ranks->sum_in_order({&all, 1}, [&] { all += static_cast<double>(right); });
  }
  return all / static_cast<double>(count);
}

}  // namespace

void read_rows(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys, float* out) {
  units.rows(keys, out);
  form_rows(out, keys.size(), shape_of(record.model).features, form_of(record));
}

EvaluationBlocks::EvaluationBlocks(const Model& model, MemoryBudget& budget) {
  const NetworkShape shape = shape_of(model);
  const std::size_t bytes =
      shape.features * sizeof(float) + 2 * shape.classes * sizeof(double) + pass_bytes(Network(shape), 0);
  const std::size_t fit =
      static_cast<std::size_t>(memory_shares::kEvaluatedRows.of(budget)) / (active_threads() * bytes);
  rows = std::clamp<std::size_t>(fit, 1, kMostRows);
  memory =
      budget.reserve(std::min<std::uint64_t>(active_threads() * rows * bytes, budget.available()), "rows to evaluate");
}

ScoredChunk::ScoredChunk(const Model& model, MemoryBudget& budget) {
  constexpr std::uint64_t kMostBytes = std::uint64_t{64} << 20, kMost = 8192;
  const std::uint64_t bytes = shape_of(model).classes * sizeof(double);
  rows = static_cast<std::size_t>(
      std::clamp<std::uint64_t>(std::min(memory_shares::kChunk.of(budget), kMostBytes) / bytes, 1, kMost));
  memory = budget.reserve(rows * bytes, "scores of rows");
}

std::size_t row_width(const ModelRecord& record) {
  return form_of(record).width(shape_of(record.model).features);
}

std::size_t largest_of(std::span<const double> margins) noexcept {
  return static_cast<std::size_t>(std::max_element(margins.begin(), margins.end()) - margins.begin());
}

void score_keys(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys, double* margins) {
  write_margins(record.model, keys.size(), units.store().budget(), rows_of_keys(units, record, keys), margins);
}

void score_rows(const ModelRecord& record, std::span<const float> rows, MemoryBudget& budget, double* margins) {
  const std::size_t width = row_width(record);
  const auto read = [&](std::size_t first, std::size_t count, float* out) {
    std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(first * width), count * width, out);
    form_rows(out, count, shape_of(record.model).features, form_of(record));
    return out;
  };
  write_margins(record.model, rows.size() / width, budget, read, margins);
}

std::optional<double> accuracy_on(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys,
                                  Ranks* ranks) {
  const EvaluationBlocks blocks(record.model, units.store().budget());
  const RankShare own =
      ranks == nullptr ? RankShare{0, keys.size()} : share_of(keys.size(), ranks->rank(), ranks->size());
  return accuracy(keys.size(), own, ranks, record.model, blocks, rows_of_keys(units, record, keys),
                  [&](std::size_t i) { return static_cast<std::size_t>(units.label(keys[i])); });
}

Accuracies evaluate_model(const LiveStore& store, const ModelRecord& record, const TrainingSet* held) {
  const std::unique_ptr<const RowUnits> units = row_units(store, record.rows);
  Ranks* const ranks = held == nullptr ? nullptr : held->ranks();
  const auto of_split = [&](SplitName split) { return accuracy_on(*units, record, units->labelled(split), ranks); };
  Accuracies result;
  if (held != nullptr) {
    const auto read = [&](std::size_t first, std::size_t, float*) { return held->row(first).data(); };
    const RankShare own = ranks == nullptr ? RankShare{0, held->size()} : held->own();
    result.train = accuracy(held->size(), own, ranks, record.model, EvaluationBlocks(record.model, store.budget()),
                            read, [&](std::size_t i) { return held->labels()[i]; });
  } else {
    result.train = of_split(SplitName::train);
  }
  result.valid = of_split(SplitName::valid);
  result.test = of_split(SplitName::test);
  return result;
}

Accuracies majority_accuracies(const RowUnits& units) {
  const auto of_split = [&](SplitName split) -> std::optional<double> {
    const std::vector<NodeId> keys = units.labelled(split);
    if (keys.empty()) return std::nullopt;
    std::vector<std::uint64_t> counts(units.store().manifest().classes);
    for (const NodeId key : keys) ++counts[static_cast<std::size_t>(units.label(key))];
    return static_cast<double>(*std::max_element(counts.begin(), counts.end())) / static_cast<double>(keys.size());
  };
  return {of_split(SplitName::train), of_split(SplitName::valid), of_split(SplitName::test)};
}

std::vector<Prediction> predict(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys) {
  const Model& model = record.model;
  const EvaluationBlocks blocks(model, units.store().budget());
  const auto read = rows_of_keys(units, record, keys);
  std::vector<Prediction> predictions(keys.size());
  parallel_ranges(0, keys.size(), lane_of(keys.size()), [&](std::size_t begin, std::size_t end) {
    for_margins(begin, end, model, blocks, read, [&](std::size_t i, std::span<double> margins) {
      predictions[i].predicted = static_cast<ClassId>(largest_of(margins));
      const std::int32_t label = units.label(keys[i]);
      if (label == kNoLabel) return;
      probabilities_in_place(model.head, margins.data(), margins.size());
      predictions[i].confidence = margins[static_cast<std::size_t>(label)];
    });
  });
  return predictions;
}

std::optional<double> accuracy_of(const RowUnits& units, std::span<const NodeId> keys,
                                  std::span<const Prediction> predictions) {
  if (keys.empty()) return std::nullopt;
  std::uint64_t right = 0;
  for (std::size_t i = 0; i < keys.size(); ++i)
    right += static_cast<std::int32_t>(predictions[i].predicted) == units.label(keys[i]) ? 1 : 0;
  return static_cast<double>(right) / static_cast<double>(keys.size());
}

}  // namespace unweave
