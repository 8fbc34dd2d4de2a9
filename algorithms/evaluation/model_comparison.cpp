// algorithms/evaluation/model_comparison.cpp - probabilities of two models row by row, ranks and
// correlations.
#include "algorithms/evaluation/model_comparison.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "algorithms/evaluation/evaluation.h"
#include "algorithms/learning/head.h"
#include "algorithms/live/live_store.h"
#include "engine/resources/parallel.h"

namespace unweave {
namespace {

/// Calls use(i, margins of row i under every model) on all threads; the rows are those of the first
/// one.
template <class Use>
void for_margins(const RowUnits& units, std::span<const ModelRecord* const> models, std::span<const NodeId> keys,
                 const Use& use) {
  const NetworkShape shape = shape_of(models[0]->model);
  const EvaluationBlocks blocks(models[0]->model, units.store().budget());
  parallel_ranges(0, keys.size(), blocks.rows, [&](std::size_t begin, std::size_t end) {
    const std::size_t count = end - begin;
    std::vector<float> rows(count * shape.features);
    read_rows(units, *models[0], keys.subspan(begin, count), rows.data());
    std::vector<std::vector<double>> margins(models.size(), std::vector<double>(count * shape.classes));
    for (std::size_t m = 0; m < models.size(); ++m) margins_of(models[m]->model, rows.data(), count, margins[m].data());
    std::vector<std::span<double>> own(models.size());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t m = 0; m < models.size(); ++m)
        own[m] = std::span(margins[m]).subspan(i * shape.classes, shape.classes);
      use(begin + i, own);
    }
  });
}

std::size_t largest(std::span<const double> margins) {
  return static_cast<std::size_t>(std::max_element(margins.begin(), margins.end()) - margins.begin());
}

double divergence_of(std::span<const double> f, std::span<const double> g) {
  double sum = 0;
  for (std::size_t c = 0; c < f.size(); ++c)
    if (std::isfinite(f[c])) sum += std::exp(f[c]) * (f[c] - g[c]);
  return std::max(0.0, sum);
}

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::vector<double> ranks(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<double> rank(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t last = first;
    while (last < order.size() && values[order[last]] == values[order[first]]) ++last;
    for (std::size_t i = first; i < last; ++i) rank[order[i]] = static_cast<double>(first + last - 1) / 2;
    first = last;
  }
  return rank;
}

}  // namespace

bool comparable(const Model& a, const Model& b) {
  const NetworkShape x = shape_of(a), y = shape_of(b);
  return a.head == b.head && x.features == y.features && x.classes == y.classes && x.hidden == y.hidden &&
         x.activation == y.activation && a.network.has_value() == b.network.has_value() && x.blocks == y.blocks;
}

std::optional<Likeness> likeness(const RowUnits& units, const ModelRecord& model, const ModelRecord& other,
                                 std::span<const NodeId> keys) {
  if (keys.empty()) return std::nullopt;
  const std::array models{&model, &other};
  const Reservation memory =
      units.store().budget().reserve(2 * sizeof(double) * keys.size(), "a comparison of predictions");
  std::vector<double> divergences(keys.size()), agreements(keys.size());
  for_margins(units, models, keys, [&](std::size_t i, std::span<const std::span<double>> margins) {
    agreements[i] = largest(margins[0]) == largest(margins[1]) ? 1 : 0;
    for (std::size_t m = 0; m < 2; ++m)
      log_probabilities_in_place(models[m]->model.head, margins[m].data(), margins[m].size());
    divergences[i] = divergence_of(margins[0], margins[1]);
  });
  return Likeness{mean(divergences), mean(agreements)};
}

std::vector<double> losses_of(const RowUnits& units, const ModelRecord& model, std::span<const NodeId> keys) {
  std::vector<double> losses(keys.size());
  for_margins(units, std::array{&model}, keys, [&](std::size_t i, std::span<const std::span<double>> margins) {
    losses[i] = row_loss(model.model.head, margins[0].data(), margins[0].size(),
                         static_cast<std::size_t>(units.label(keys[i])));
  });
  return losses;
}

std::optional<double> pearson(std::span<const double> x, std::span<const double> y) {
  if (x.size() < 2) return std::nullopt;
  const double x_mean = mean(x), y_mean = mean(y);
  double xx = 0, yy = 0, xy = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    xx += (x[i] - x_mean) * (x[i] - x_mean);
    yy += (y[i] - y_mean) * (y[i] - y_mean);
    xy += (x[i] - x_mean) * (y[i] - y_mean);
  }
  if (!(xx > 0) || !(yy > 0)) return std::nullopt;
  return std::clamp(xy / std::sqrt(xx) / std::sqrt(yy), -1.0, 1.0);
}

std::optional<double> spearman(std::span<const double> x, std::span<const double> y) {
  return pearson(ranks(x), ranks(y));
}

std::optional<double> cosine(const Matrix& a, const Matrix& b) {
  const double norms = a.norm() * b.norm();
  return norms > 0 ? std::optional(a.cwiseProduct(b).sum() / norms) : std::nullopt;
}

}  // namespace unweave
