// algorithms/sgd/sgd_run.cpp - steps, and the weights that they went through.
#include "algorithms/sgd/sgd_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/random/random_source.h"
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

void sgd_step(const SgdRun& run, const SgdBatch& batch, Vector& weights) {
  if (batch.rows.empty()) return;
  const Vector gradient = run.network.gradient({weights.data(), size_of(weights.size())}, {run.rows, batch.rows});
  weights = (1 - batch.share * run.lambda * static_cast<double>(batch.rows.size())) * weights - batch.share * gradient;
}

SgdEnd end_of_run(const SgdRun& run) {
  SgdEnd end{run.initial(), 0};
  end.largest_norm = end.weights.norm();
  const WatchedStep watched("training", run.schedule.steps(), "steps");
  for (std::uint64_t step = 0; step < run.schedule.steps(); ++step) {
    sgd_step(run, SgdBatch(run, step), end.weights);
    end.largest_norm = std::max(end.largest_norm, end.weights.norm());
    watched.advance(1);
  }
  check(end.weights);
  return end;
}

Trajectory::Trajectory(const SgdRun& run, std::size_t bytes) : run_(run), segment_at_(kNoSegment) {
  const std::uint64_t steps = run.schedule.steps();
  const bool all = bytes / sizeof(double) / std::max<std::size_t>(1, run.network.size()) > steps;
  stride_ = all ? 1 : static_cast<std::uint64_t>(std::ceil(std::sqrt(static_cast<double>(steps))));
  Vector weights = run.initial();
  const WatchedStep watched("training again", steps, "steps");
  for (std::uint64_t step = 0; step <= steps; ++step) {
    if (step % stride_ == 0) kept_.push_back(weights);
    if (step < steps) sgd_step(run, SgdBatch(run, step), weights);
    watched.advance(1);
  }
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
    segment_ = {kept_[segment]};
    segment_.reserve(stride_);
    const std::uint64_t last = std::min(run_.schedule.steps(), (segment + 1) * stride_ - 1);
    for (std::uint64_t at = segment * stride_; at < last; ++at) {
      segment_.push_back(segment_.back());
      sgd_step(run_, SgdBatch(run_, at), segment_.back());
    }
    segment_at_ = segment;
  }
  return segment_[step % stride_];
}

}  // namespace unweave
