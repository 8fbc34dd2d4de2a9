// tests/algorithms/solvers/hessian_free/sgd_statistics_test.cpp - schedules, vectors four ways,
// derivatives, and bounds against the truth.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "algorithms/privacy/accounting/hessian_free.h"
#include "support/dense_runs.h"
#include "support/temp_dir.h"

namespace unweave {
namespace {

using testing::dense_end;
using testing::dense_vector;
using testing::forward_records;
using testing::gathered;
using testing::run_world;
using testing::RunWorld;

constexpr Head kSgdHeads[] = {Head::kLogistic, Head::kSoftmax, Head::kLeastSquares};

double relative(const Vector& a, const Vector& b) {
  return (a - b).norm() / b.norm();
}

Vector row_of(const RecordBlock& records, std::uint64_t record) {
  return records.vectors.row(index_of(record)).transpose();
}

RecordBlock backward_records(const SgdRun& run, const std::filesystem::path& folder, std::size_t memory) {
  return gathered([&](const RecordSink& sink) {
    backward_statistics(run, {{run.schedule.constants().slots, 1}, RemovedCurvature::kAll, 24, memory}, folder, sink);
  });
}

TEST_SUITE("unit") {
  TEST_CASE("an epoch takes every place once, partition by partition, in an order of its own") {
    const SgdSchedule schedule({61, 24, 8, 3, 0.5, 0.9, 7});
    CHECK(schedule.steps() == 3 * (3 + 3 + 2));
    std::vector<std::vector<std::uint32_t>> orders;
    for (std::uint64_t epoch = 0; epoch < 3; ++epoch) {
      std::vector<std::uint32_t> places;
      for (std::uint64_t step = epoch * 8; step < (epoch + 1) * 8; ++step) {
        const auto batch = schedule.batch(step);
        CHECK(batch.size() == schedule.batch_size(step));
        for (const std::uint32_t place : batch) {
          CHECK(place / 24 == schedule.partition_of(step));
          CHECK(schedule.visit(place, epoch) == step);
          places.push_back(place);
        }
      }
      orders.push_back(places);
      std::sort(places.begin(), places.end());
      for (std::uint32_t place = 0; place < 61; ++place) CHECK(places[place] == place);
    }
    CHECK(orders[0] != orders[1]);
    CHECK(orders[1] != orders[2]);
    CHECK(schedule.step_size(10) == doctest::Approx(0.5 * std::pow(0.9, 10)));
    for (std::uint64_t slot = 0; slot < 61; ++slot) CHECK(schedule.slot_of(schedule.place_of(slot)) == slot);
  }

  TEST_CASE("a run without rows keeps divisors and steps, and is that of the dense reference") {
    for (const Head head : kSgdHeads) {
      const RunWorld world = run_world(head);
      CHECK(relative(end_of_run(world.run).weights, dense_end(world.run, {})) < 1e-12);
      std::vector<NodeId> slots(world.rows.nodes().begin(), world.rows.nodes().end());
      std::set<std::uint32_t> places;
      TrainingSet kept(7, 3);
      for (std::size_t i = 0; i < slots.size(); ++i)
        if (i % 7 == 2) {
          slots[i] = kNoNode;
          places.insert(static_cast<std::uint32_t>(world.schedule.place_of(i)));
        } else {
          kept.append(world.rows.nodes()[i], world.rows.row(i), world.rows.labels()[i]);
        }
      const SgdRun without(world.network, kept, world.schedule, slots, world.run.lambda);
      CHECK(relative(end_of_run(without).weights, dense_end(world.run, places)) < 1e-12);
    }
  }

  TEST_CASE("weights that were made again are those that were kept") {
    const RunWorld world = run_world(Head::kSoftmax);
    Trajectory all(world.run, std::size_t{1} << 30), some(world.run, 0);
    for (std::uint64_t step = world.schedule.steps() + 1; step-- > 0;) CHECK(all.at(step) == some.at(step));
    CHECK(all.at(world.schedule.steps()) == end_of_run(world.run).weights);
  }

  TEST_CASE("forward, backward, single chains and chains of groups give the same vectors") {
    const testing::TempDir folder;
    for (const Head head : kSgdHeads) {
      CAPTURE(static_cast<int>(head));
      const RunWorld world = run_world(head);
      const RecordBlock forward = forward_records(world.run, RemovedCurvature::kAll);
      const RecordBlock kept = forward_records(world.run, RemovedCurvature::kKept);
      REQUIRE(forward.vectors.rows() == 60);
      for (const std::size_t memory : {std::size_t{0}, std::size_t{1} << 30}) {
        const RecordBlock backward = backward_records(world.run, folder / "b", memory);
        CHECK((backward.vectors - forward.vectors).norm() < 1e-12 * forward.vectors.norm());
        CHECK((backward.visits - forward.visits).norm() < 1e-12 * forward.visits.norm());
      }
      for (const std::uint32_t place : {0U, 17U, 59U}) {
        CHECK(relative(row_of(forward, place), dense_vector(world.run, {place}, RemovedCurvature::kAll)) < 1e-11);
        CHECK(relative(row_of(kept, place), dense_vector(world.run, {place}, RemovedCurvature::kKept)) < 1e-11);
        CHECK(relative(row_of(kept, place), row_of(forward, place)) > 1e-6);
      }
      const RecordBlock groups = forward_records(world.run, RemovedCurvature::kAll, 7);
      const RecordBlock kept_groups = forward_records(world.run, RemovedCurvature::kKept, 7);
      REQUIRE(groups.vectors.rows() == 9);
      for (std::uint64_t group = 0; group < 9; ++group) {
        std::set<std::uint32_t> places;
        Vector sum = Vector::Zero(21);
        for (std::uint64_t slot = 7 * group; slot < std::min<std::uint64_t>(60, 7 * group + 7); ++slot) {
          places.insert(static_cast<std::uint32_t>(world.schedule.place_of(slot)));
          sum += row_of(forward, world.schedule.place_of(slot));
        }
        CHECK(relative(row_of(groups, group), sum) < 1e-11);
        CHECK(relative(row_of(kept_groups, group), dense_vector(world.run, places, RemovedCurvature::kKept)) < 1e-11);
      }
    }
  }

  TEST_CASE("where a step times lambda is 1, the old vector stays in the removed rows' share alone") {
    for (const Head head : kSgdHeads) {
      CAPTURE(static_cast<int>(head));
      const RunWorld world(testing::random_rows(60, 7, 3, 4), NetworkShape{head, 7, 3, {}, Activation::kTanh},
                           {60, 24, 8, 4, 0.5, 1, 1}, 2);
      for (const RemovedCurvature curvature : {RemovedCurvature::kAll, RemovedCurvature::kKept})
        for (const std::uint64_t group : {1, 7}) {
          const RecordBlock records = forward_records(world.run, curvature, group);
          for (const std::uint64_t record : {0U, 5U}) {
            std::set<std::uint32_t> places{static_cast<std::uint32_t>(record)};
            if (group > 1) places.clear();
            for (std::uint64_t slot = group * record; group > 1 && slot < group * (record + 1); ++slot)
              places.insert(static_cast<std::uint32_t>(world.schedule.place_of(slot)));
            CHECK(relative(row_of(records, record), dense_vector(world.run, places, curvature)) < 1e-11);
          }
        }
    }
  }

  TEST_CASE("vectors are derivatives of the end by a row's weight: what they miss falls with its square") {
    const RunWorld linear = run_world(Head::kSoftmax);
    const RecordBlock records = forward_records(linear.run, RemovedCurvature::kAll);
    const Vector end = end_of_run(linear.run).weights;
    for (const std::uint32_t place : {3U, 40U}) {
      double before = 0;
      for (const double share : {1.0, 0.1, 0.01}) {
        const Vector moved = dense_end(linear.run, {place}, share) - end;
        const double missed = (moved - share * row_of(records, place)).norm() / (share * share);
        CHECK(missed < 0.2 * moved.norm() / share);
        if (share < 1) CHECK(missed == doctest::Approx(before).epsilon(0.1));
        before = missed;
      }
    }
  }

  TEST_CASE(
      "vectors of a network are those of the recursion by dense Hessians, alone and in groups, behind a filter too") {
    const std::vector<NetworkShape> shapes = {{Head::kSoftmax, 6, 3, {5}, Activation::kTanh},
                                              {Head::kLogistic, 6, 3, {4, 3}, Activation::kSmelu},
                                              {Head::kSoftmax, 6, 3, {4}, Activation::kTanh, 2}};
    for (const NetworkShape& shape : shapes) {
      CAPTURE(shape.hidden.size());
      CAPTURE(shape.blocks);
      const RunWorld world(testing::random_rows(30, 6, 3, 4), shape, {30, 12, 8, 3, 0.9, 0.98, 1}, 0.02);
      for (const RemovedCurvature curvature : {RemovedCurvature::kAll, RemovedCurvature::kKept})
        for (const std::uint64_t group : {1, 7}) {
          const RecordBlock records = forward_records(world.run, curvature, group);
          for (const std::uint64_t record : {0U, 4U}) {
            std::set<std::uint32_t> places;
            for (std::uint64_t slot = 0; slot < 30; ++slot)
              if (RecordLayout{30, group}.record_of(world.schedule, slot) == record)
                places.insert(static_cast<std::uint32_t>(world.schedule.place_of(slot)));
            CHECK(relative(row_of(records, record), dense_vector(world.run, places, curvature)) < 1e-11);
          }
        }
    }
  }

  TEST_CASE("vectors of a network follow a run without the row, to second order, and have no bound") {
    const RunWorld world = run_world(Head::kSoftmax, 40, {5});
    const Vector end = end_of_run(world.run).weights;
    for (const RemovedCurvature curvature : {RemovedCurvature::kAll, RemovedCurvature::kKept}) {
      const RecordBlock records = forward_records(world.run, curvature);
      const RecordBlock group = forward_records(world.run, RemovedCurvature::kAll, 40);
      Vector sum = Vector::Zero(end.size());
      for (std::uint64_t place = 0; place < 40; ++place) {
        sum += row_of(records, place);
        CHECK(std::isinf(records.bounds[place]));
      }
      if (curvature == RemovedCurvature::kAll) CHECK(relative(row_of(group, 0), sum) < 1e-10);
      for (const std::size_t slot : {4UL, 23UL}) {
        std::vector<NodeId> slots(world.rows.nodes().begin(), world.rows.nodes().end());
        TrainingSet kept(7, 3);
        for (std::size_t i = 0; i < slots.size(); ++i)
          if (i != slot) kept.append(world.rows.nodes()[i], world.rows.row(i), world.rows.labels()[i]);
        slots[slot] = kNoNode;
        const Vector moved =
            end_of_run(SgdRun(world.network, kept, world.schedule, slots, world.run.lambda)).weights - end;
        CHECK((moved - row_of(records, world.schedule.place_of(slot))).norm() < 0.15 * moved.norm());
      }
    }
  }
}

TEST_SUITE("unit") {
  TEST_CASE("T3: every vector stands within its bound of the run without its rows, and the bound is near") {
    for (const Head head : kSgdHeads) {
      CAPTURE(static_cast<int>(head));
      const RunWorld world = run_world(head);
      const Vector end = end_of_run(world.run).weights;
      for (const RemovedCurvature curvature : {RemovedCurvature::kAll, RemovedCurvature::kKept})
        for (const std::uint64_t group : {1UL, 4UL}) {
          CAPTURE(group);
          const RecordBlock records = forward_records(world.run, curvature, group);
          double errors = 0, bounds = 0;
          for (std::uint64_t record = 0; record < size_of(records.vectors.rows()); record += 3) {
            std::set<std::uint32_t> places;
            for (std::uint64_t slot = record * group; slot < (record + 1) * group; ++slot)
              places.insert(static_cast<std::uint32_t>(group == 1 ? record : world.schedule.place_of(slot)));
            const Vector truth = dense_end(world.run, places);
            const double error = (end + row_of(records, record) - truth).norm();
            CHECK(error <= records.bounds[record]);
            // Without the remainder, as Theorem 4 has it, nothing of this would be left but
            // rounding.
            if (head != Head::kLeastSquares || curvature == RemovedCurvature::kAll) CHECK(error > 1e-7);
            errors += error;
            bounds += records.bounds[record];
          }
          if (head != Head::kLeastSquares || curvature == RemovedCurvature::kAll)
            CHECK(bounds < 4 * errors);
          else
            CHECK(bounds < 1e-9);
        }
    }
  }

  TEST_CASE("T3: the account covers sums of vectors of any rows") {
    for (const Head head : kSgdHeads) {
      CAPTURE(static_cast<int>(head));
      const RunWorld world = run_world(head, 400, {}, 0.3);
      const Vector end = end_of_run(world.run).weights;
      for (const RemovedCurvature curvature : {RemovedCurvature::kAll, RemovedCurvature::kKept}) {
        const RecordBlock records = forward_records(world.run, curvature);
        std::set<std::uint32_t> places;
        Vector sum = end;
        for (const std::uint32_t place : {5U, 6U, 77U, 140U, 399U}) {
          places.insert(place);
          sum += row_of(records, place);
          RunConstants constants = run_constants(head, 0.3, 1, 7, 3, 8);
          constants.weights = end_of_run(world.run).largest_norm;
          RemovalAccount account(constants);
          for (std::uint64_t step = 0; step < world.schedule.steps(); ++step) {
            std::uint64_t removed = 0;
            double injected = 0;
            for (const std::uint32_t at : world.schedule.batch(step))
              if (places.contains(at)) {
                ++removed;
                injected += records.visits(index_of(at), index_of(step / world.schedule.steps_of_epoch()));
              }
            const auto size = static_cast<double>(world.schedule.batch_size(step));
            account.advance(world.schedule.step_size(step) / size, world.schedule.batch_size(step), removed, injected);
          }
          const double error = (sum - dense_end(world.run, places)).norm();
          CHECK(error <= account.distance());
          CHECK((sum - end).norm() <= account.size());
          CHECK(account.distance() < account.size());  // says more than to do nothing
        }
      }
    }
  }
}

}  // namespace
}  // namespace unweave
