// algorithms/evaluation/metrics.cpp - counts of right and wrong predictions, and pairs of rows in
// the right order.
#include "algorithms/evaluation/metrics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/learning/head.h"
#include "algorithms/live/live_store.h"
#include "algorithms/models/model_record.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

std::optional<double> share(std::uint64_t part, std::uint64_t whole) noexcept {
  if (whole == 0) return std::nullopt;
  return static_cast<double>(part) / static_cast<double>(whole);
}

template <class Value>
std::optional<double> mean_of(const std::vector<ClassMetrics>& classes, const Value& value) noexcept {
  double sum = 0;
  std::size_t count = 0;
  for (const ClassMetrics& one : classes) {
    const std::optional<double> x = value(one);
    if (!x) continue;
    sum += *x;
    ++count;
  }
  if (count == 0) return std::nullopt;
  return sum / static_cast<double>(count);
}

/// Calls use(first, predictions, scores) for consecutive keys. Scores are margins, of heads that
/// couple the classes probabilities; what is no number, under weights beyond all measure, comes
/// last.
template <class Use>
void for_scores(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys, const Use& use) {
  const ScoredChunk chunk(record.model, units.store().budget());
  const std::size_t classes = shape_of(record.model).classes;
  std::vector<double> scores;
  std::vector<ClassId> predictions;
  for (std::size_t first = 0; first < keys.size(); first += chunk.rows) {
    const std::size_t count = std::min(chunk.rows, keys.size() - first);
    scores.resize(count * classes);
    score_keys(units, record, keys.subspan(first, count), scores.data());
    predictions.resize(count);
    for (std::size_t i = 0; i < count; ++i) {
      const std::span<double> row(&scores[i * classes], classes);
      predictions[i] = static_cast<ClassId>(largest_of(row));
      if (couples_classes(record.model.head)) probabilities_in_place(record.model.head, row.data(), classes);
      std::replace_if(
          row.begin(), row.end(), [](double x) { return std::isnan(x); }, -std::numeric_limits<double>::infinity());
    }
    use(first, std::span<const ClassId>(predictions), std::span<const double>(scores));
  }
}

/// The scores of the rows of each class for their own class, ascending, class after class.
struct OwnScores {
  std::vector<std::uint64_t> begins;  ///< classes + 1
  std::vector<double> values;

  [[nodiscard]] std::span<const double> of(std::size_t c) const {
    return std::span(values).subspan(begins[c], begins[c + 1] - begins[c]);
  }
};

/// Every row of another class is looked for among the scores of the class: twice the positives
/// above it, once those like it.
std::vector<std::uint64_t> twice_right_pairs(const RowUnits& units, const ModelRecord& record,
                                             std::span<const NodeId> keys, const OwnScores& own) {
  const std::size_t classes = own.begins.size() - 1;
  std::vector<std::uint64_t> twice(classes);
  for_scores(
      units, record, keys, [&](std::size_t first, std::span<const ClassId> said, std::span<const double> scores) {
        parallel_ranges(0, classes, 1, [&](std::size_t begin, std::size_t end) {
          for (std::size_t c = begin; c < end; ++c) {
            const std::span<const double> positives = own.of(c);
            if (positives.empty()) continue;
            for (std::size_t i = 0; i < said.size(); ++i) {
              if (static_cast<std::size_t>(units.label(keys[first + i])) == c) continue;
              const auto [low, high] = std::equal_range(positives.begin(), positives.end(), scores[i * classes + c]);
              twice[c] +=
                  2 * static_cast<std::uint64_t>(positives.end() - high) + static_cast<std::uint64_t>(high - low);
            }
          }
        });
      });
  return twice;
}

}  // namespace

std::optional<double> ClassMetrics::precision() const noexcept {
  return share(right, predicted);
}
std::optional<double> ClassMetrics::recall() const noexcept {
  return share(right, support);
}
std::optional<double> ClassMetrics::f1() const noexcept {
  return share(2 * right, predicted + support);
}

std::optional<double> Metrics::accuracy() const noexcept {
  std::uint64_t right = 0;
  for (const ClassMetrics& one : classes) right += one.right;
  return share(right, rows);
}

std::optional<double> Metrics::majority() const noexcept {
  std::uint64_t most = 0;
  for (const ClassMetrics& one : classes) most = std::max(most, one.support);
  return share(most, rows);
}

std::optional<double> Metrics::macro_f1() const noexcept {
  return mean_of(classes, [](const ClassMetrics& one) { return one.f1(); });
}

std::optional<double> Metrics::macro_auc() const noexcept {
  return mean_of(classes, [](const ClassMetrics& one) { return one.auc; });
}

std::size_t Metrics::classes_without_auc() const noexcept {
  return static_cast<std::size_t>(
      std::count_if(classes.begin(), classes.end(), [](const ClassMetrics& one) { return !one.auc; }));
}

Metrics metrics_of(const RowUnits& units, const ModelRecord& record, std::span<const NodeId> keys, bool confusion) {
  const std::size_t classes = shape_of(record.model).classes;
  const Reservation memory = units.store().budget().reserve(
      keys.size() * (sizeof(double) + sizeof(ClassId)) +
          classes * (sizeof(ClassMetrics) + 2 * sizeof(std::uint64_t) + (confusion ? 8 * classes : 0)),
      "counts of right and wrong predictions");
  const auto label = [&](std::size_t i) { return static_cast<std::size_t>(units.label(keys[i])); };
  Metrics metrics;
  metrics.rows = keys.size();
  metrics.classes.resize(classes);
  if (confusion) metrics.confusion.resize(classes * classes);
  for (std::size_t i = 0; i < keys.size(); ++i) ++metrics.classes[label(i)].support;

  OwnScores own{std::vector<std::uint64_t>(classes + 1), std::vector<double>(keys.size())};
  for (std::size_t c = 0; c < classes; ++c) own.begins[c + 1] = own.begins[c] + metrics.classes[c].support;
  std::vector<std::uint64_t> next(own.begins.begin(), own.begins.end() - 1);
  for_scores(units, record, keys,
             [&](std::size_t first, std::span<const ClassId> said, std::span<const double> scores) {
               for (std::size_t i = 0; i < said.size(); ++i) {
                 const std::size_t truth = label(first + i);
                 own.values[next[truth]++] = scores[i * classes + truth];
                 ++metrics.classes[said[i]].predicted;
                 if (said[i] == truth) ++metrics.classes[truth].right;
                 if (confusion) ++metrics.confusion[truth * classes + said[i]];
               }
             });
  parallel_ranges(0, classes, 1, [&](std::size_t begin, std::size_t end) {
    for (std::size_t c = begin; c < end; ++c)
      std::sort(own.values.begin() + static_cast<std::ptrdiff_t>(own.begins[c]),
                own.values.begin() + static_cast<std::ptrdiff_t>(own.begins[c + 1]));
  });
  const std::vector<std::uint64_t> twice = twice_right_pairs(units, record, keys, own);
  for (std::size_t c = 0; c < classes; ++c) {
    const std::uint64_t support = metrics.classes[c].support, others = metrics.rows - support;
    if (support == 0 || others == 0) continue;
    metrics.classes[c].auc =
        static_cast<double>(twice[c]) / (2 * static_cast<double>(support) * static_cast<double>(others));
  }
  return metrics;
}

}  // namespace unweave
