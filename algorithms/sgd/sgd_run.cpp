// algorithms/sgd/sgd_run.cpp - steps, and the weights that they went through.
#include "algorithms/sgd/sgd_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "algorithms/random/random_source.h"
#include "algorithms/sgd/descent.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr double kMostRunWeight = 256;  // see storage/formats/statistics_file.h
constexpr std::uint64_t kNoSegment = std::numeric_limits<std::uint64_t>::max();

void check(const Vector& weights) {
  if (!(weights.size() == 0 || weights.cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < kMostRunWeight))
    throw UsageError("the weights grew beyond all measure: the run diverged; make its steps smaller");
}

}  // namespace

SgdRun::SgdRun(const Network& of, const TrainingSet& set, const SgdSchedule& steps, std::span<const NodeId> slots,
               double regularisation)
    : network(of), rows(set), schedule(steps), row_of_place(slots.size(), kNoRow), lambda(regularisation) {
  const std::vector<std::size_t> filled = slots_of(slots, set.nodes());
  for (std::size_t i = 0; i < filled.size(); ++i)
    row_of_place[schedule.place_of(filled[i])] = static_cast<std::uint32_t>(i);
}

SgdBatch::SgdBatch(const SgdRun& run, std::uint64_t step)
    : share(run.schedule.step_size(step) / static_cast<double>(run.schedule.batch_size(step))) {
  for (const std::uint32_t place : run.schedule.batch(step))
    if (run.row_of_place[place] != kNoRow) {
      places.push_back(place);
      rows.push_back(run.row_of_place[place]);
    }
}

void sgd_steps(const SgdRun& run, std::uint64_t first, std::uint64_t last, Vector& weights,
               const std::function<void()>& finish) {
  std::vector<std::uint32_t> rows;
  descend(
      first, last, weights,
      [&](std::uint64_t step) -> DescentStep {
        SgdBatch batch(run, step);
        rows = std::move(batch.rows);
        return {rows, 1 - batch.share * run.lambda * static_cast<double>(rows.size()), batch.share};
      },
      [&](std::span<const std::uint32_t> some, const Vector& at) {
        return run.network.gradient({at.data(), size_of(at.size())}, {run.rows, some});
      },
      [&](const DescentStep&) {
        if (finish) finish();
      });
}

SgdEnd end_of_run(const SgdRun& run) {
  SgdEnd end{run.initial(), 0};
  end.largest_norm = end.weights.norm();
  const WatchedStep watched("training", run.schedule.steps(), "steps");
  sgd_steps(run, 0, run.schedule.steps(), end.weights, [&] {
    end.largest_norm = std::max(end.largest_norm, end.weights.norm());
    watched.advance(1);
  });
  check(end.weights);
  return end;
}

Trajectory::Trajectory(const SgdRun& run, std::size_t bytes) : run_(run), segment_at_(kNoSegment) {
  const std::uint64_t steps = run.schedule.steps();
  const bool all = bytes / sizeof(double) / std::max<std::size_t>(1, run.network.size()) > steps;
  stride_ = all ? 1 : static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>(steps))));
  Vector weights = run.initial();
  kept_.push_back(weights);
  std::uint64_t taken = 0;
  const WatchedStep watched("training again", steps, "steps");
  sgd_steps(run, 0, steps, weights, [&] {
    if (++taken % stride_ == 0) kept_.push_back(weights);
    watched.advance(1);
  });
  check(weights);
}

Trajectory::~Trajectory() {
  for (std::vector<Vector>* part : {&kept_, &segment_})
    for (Vector& weights : *part) wipe(weights.data(), size_of(weights.size()) * sizeof(double));
}

const Vector& Trajectory::at(std::uint64_t step) {
  const std::uint64_t segment = step / stride_;
  if (step % stride_ == 0) return kept_[segment];
  if (segment != segment_at_) {
    const std::uint64_t last = std::min(run_.schedule.steps(), (segment + 1) * stride_ - 1);
    Vector weights = kept_[segment];
    segment_ = {weights};
    segment_.reserve(stride_);
    sgd_steps(run_, segment * stride_, last, weights, [&] { segment_.push_back(weights); });
    segment_at_ = segment;
  }
  return segment_[step % stride_];
}

}  // namespace unweave
