// tests/algorithms/evaluation/link_metrics_test.cpp - ranks with ties, as OGB's evaluator has them.
#include "algorithms/evaluation/link_metrics.h"

#include <doctest/doctest.h>

#include <vector>

namespace unweave {

TEST_SUITE("unit") {
  TEST_CASE("AUC with ties, Hits@K strictly above the K-th other pair, MRR by the mean of the best and worst rank") {
    std::vector<double> edges{3, 1, 2, 2}, others{0, 1, 2};
    CHECK(hits_at(1, edges, others) == .25);
    CHECK(hits_at(2, edges, others) == .75);
    CHECK(hits_at(4, edges, others) == 1);
    CHECK_FALSE(hits_at(1, {}, others).has_value());
    ReciprocalRanks ranks;
    CHECK_FALSE(ranks.mean().has_value());
    ranks.add(3, std::vector<double>{4, 3, 0});
    ranks.add(1, std::vector<double>{1, 1, 0});
    ranks.add(2, std::vector<double>{2, 5, 2});
    ranks.add(2, std::vector<double>{0, 0, 0});
    CHECK(ranks.mean().value() == doctest::Approx((1 / 2.5 + 1.0 / 2 + 1.0 / 3 + 1) / 4));
    double better = 0;
    for (const double edge : edges)
      for (const double other : others) better += edge > other ? 1 : edge == other ? .5 : 0;
    const LinkFigures figures = figures_of(edges, others, ranks.mean());
    CHECK(figures.auc == better / 12);
    CHECK(figures.accuracy == 5.0 / 7);  // all but 1 and 2 of the others
    CHECK(figures.recall == 1);
    CHECK(figures.precision == 4.0 / 6);
    CHECK(figures.f1 == 8.0 / 10);
    const LinkFigures none = figures_of(others = {}, edges = {}, std::nullopt);
    CHECK_FALSE(none.auc.has_value());
    CHECK_FALSE(none.f1.has_value());
  }
}

}  // namespace unweave
