// algorithms/evaluation/link_metrics.cpp - ranks of scores among others.
#include "algorithms/evaluation/link_metrics.h"

#include <algorithm>

#include "algorithms/evaluation/membership.h"

namespace unweave {
namespace {

std::optional<double> ratio(double part, double whole) noexcept {
  if (whole == 0) return std::nullopt;
  return part / whole;
}

}  // namespace

std::optional<double> hits_at(std::size_t k, std::span<const double> edges, std::span<const double> others) {
  if (edges.empty()) return std::nullopt;
  if (others.size() < k) return 1;
  const double limit = others[others.size() - k];
  const auto hits = std::count_if(edges.begin(), edges.end(), [&](double score) { return score > limit; });
  return static_cast<double>(hits) / static_cast<double>(edges.size());
}

void ReciprocalRanks::add(double edge, std::span<const double> others) {
  std::size_t above = 0, not_below = 0;
  for (const double score : others) {
    above += score > edge ? 1 : 0;
    not_below += score >= edge ? 1 : 0;
  }
  sum_ += 1 / (0.5 * static_cast<double>(above + not_below) + 1);
  ++count_;
}

std::optional<double> ReciprocalRanks::mean() const noexcept {
  return ratio(sum_, static_cast<double>(count_));
}

std::optional<double> LinkCounts::accuracy() const noexcept {
  return ratio(static_cast<double>(right_edges + others - wrong_others), static_cast<double>(edges + others));
}
std::optional<double> LinkCounts::precision() const noexcept {
  return ratio(static_cast<double>(right_edges), static_cast<double>(right_edges + wrong_others));
}
std::optional<double> LinkCounts::recall() const noexcept {
  return ratio(static_cast<double>(right_edges), static_cast<double>(edges));
}
std::optional<double> LinkCounts::f1() const noexcept {
  return ratio(2 * static_cast<double>(right_edges), static_cast<double>(edges + right_edges + wrong_others));
}

LinkFigures figures_of(std::vector<double>& edges, std::vector<double>& others, std::optional<double> reciprocal_rank) {
  const auto is_said = [](double score) { return score > 0; };
  LinkCounts counts{edges.size(), others.size(), 0, 0};
  counts.right_edges = static_cast<std::size_t>(std::count_if(edges.begin(), edges.end(), is_said));
  counts.wrong_others = static_cast<std::size_t>(std::count_if(others.begin(), others.end(), is_said));
  std::sort(others.begin(), others.end());
  LinkFigures figures;
  figures.edges = edges.size();
  figures.others = others.size();
  figures.auc = area_under_curve(edges, others);
  for (std::size_t i = 0; i < figures.hits.size(); ++i) figures.hits[i] = hits_at(LinkFigures::kHits[i], edges, others);
  figures.reciprocal_rank = reciprocal_rank;
  figures.accuracy = counts.accuracy();
  figures.precision = counts.precision();
  figures.recall = counts.recall();
  figures.f1 = counts.f1();
  return figures;
}

}  // namespace unweave
