// algorithms/solvers/hessian_free/backward_statistics.cpp - propagators from the last step to the
// first.
//
// A propagator is kept transposed, features x (columns classes): one column group a parameter of
// the end, which a step takes through (I - eta H) as it would a direction. X times it serves the
// step and the visits alike: entry k of P x (p - y)^T is a sum over the classes of an image times a
// slope.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "algorithms/numerics/blas.h"
#include "algorithms/sgd/linear_batch.h"
#include "algorithms/solvers/hessian_free/sgd_statistics.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/private_file.h"

namespace unweave {
namespace {

constexpr std::size_t kColumns = 256;  // columns in a part of softmax's propagator

/// The columns of the propagator that one thread takes through a step.
struct Part {
  std::size_t first_class = 0;
  std::size_t classes = 1;
  std::vector<std::size_t> parameters;  // parameters that the columns end at
  Matrix columns;                       // features x (parameters classes)
  std::vector<double> images;
};

std::vector<Part> identity_of(const Network& network) {
  const std::size_t features = network.shape().features, classes = network.shape().classes;
  std::vector<Part> parts;
  if (couples_classes(network.shape().head)) {
    for (std::size_t first = 0; first < network.size(); first += kColumns) {
      Part part;
      part.classes = classes;
      for (std::size_t k = first; k < std::min(network.size(), first + kColumns); ++k) part.parameters.push_back(k);
      part.columns = Matrix::Zero(index_of(features), index_of(part.parameters.size() * classes));
      for (std::size_t j = 0; j < part.parameters.size(); ++j)
        part.columns(index_of(part.parameters[j] / classes), index_of(j * classes + part.parameters[j] % classes)) = 1;
      parts.push_back(std::move(part));
    }
    return parts;
  }
  for (std::size_t c = 0; c < classes; ++c) {
    Part part;
    part.first_class = c;
    for (std::size_t f = 0; f < features; ++f) part.parameters.push_back(f * classes + c);
    part.columns = Matrix::Identity(index_of(features), index_of(features));
    parts.push_back(std::move(part));
  }
  return parts;
}

/// Vectors of all partitions: in memory where it holds them, else one partition at a time, the
/// others in a file that has no name.
class PartitionSums {
 public:
  PartitionSums(const SgdSchedule& schedule, std::size_t width, std::size_t memory, const std::filesystem::path& folder)
      : schedule_(schedule), width_(width), held_(schedule.partitions()) {
    const std::uint64_t bytes = schedule.constants().slots * width * sizeof(double);
    if (bytes <= memory) return;
    make_folders(folder);
    const std::filesystem::path path = folder / "vectors";
    remove_entry(path);
    file_ = create_private(path);
    remove_entry(path);
    file_.truncate(bytes);
  }

  /// The sums of a partition, places x width.
  Matrix& of(std::uint64_t partition) {
    Matrix& sums = held_[partition];
    if (sums.size() > 0) return sums;
    const bool spooled = file_.is_open();
    if (spooled && held_[last_].size() > 0) {
      file_.write_at(offset(last_), std::as_bytes(values(held_[last_])));
      sums = std::move(held_[last_]);
      held_[last_] = Matrix();
    }
    last_ = partition;
    sums.setZero(index_of(schedule_.places_of(partition)), index_of(width_));
    if (spooled) file_.read_at(offset(partition), std::as_writable_bytes(values(sums)));
    return sums;
  }

 private:
  static std::span<double> values(Matrix& sums) { return {sums.data(), size_of(sums.size())}; }
  [[nodiscard]] std::uint64_t offset(std::uint64_t partition) const {
    return schedule_.first_place(partition) * width_ * sizeof(double);
  }

  const SgdSchedule& schedule_;
  std::size_t width_;
  File file_;
  std::uint64_t last_ = 0;
  std::vector<Matrix> held_;
};

/// Takes a part through one step, and the batch's rows through the part.
void step_back(const SgdRun& run, const SgdBatch& batch, const LinearBatch& rows, const Vector& weights, Part& part,
               Matrix& sums, std::uint64_t first_place) {
  const std::size_t features = run.rows.features(), all = run.rows.classes(), count = part.parameters.size();
  const std::size_t width = count * part.classes;
  const bool coupled = couples_classes(run.network.shape().head);
  part.images.resize(rows.size() * width);
  multiply(rows.rows().data(), part.columns.data(), part.images.data(), rows.size(), features, width, false);

  std::vector<double> of_weights(count, 0.0);  // P w
  for (std::size_t f = 0; f < features; ++f) {
    const double* const row = part.columns.row(index_of(f)).data();
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t c = 0; c < part.classes; ++c)
        of_weights[k] += row[k * part.classes + c] * weights[index_of(f * all + part.first_class + c)];
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    double* const sum = sums.row(index_of(batch.places[i] - first_place)).data();
    for (std::size_t k = 0; k < count; ++k) {
      double* const image = part.images.data() + i * width + k * part.classes;
      double product = run.lambda * of_weights[k];
      for (std::size_t c = 0; c < part.classes; ++c)
        product += image[c] * rows.slopes()(index_of(i), index_of(part.first_class + c));
      sum[part.parameters[k]] += batch.share * product;
      if (coupled)
        rows.bend(i, image);
      else
        *image *= rows.curvature(i, part.first_class);
    }
  }
  part.columns *= 1 - batch.share * run.lambda * static_cast<double>(rows.size());
  for (double& x : part.images) x *= -batch.share;
  multiply_transposed(rows.rows().data(), part.images.data(), part.columns.data(), features, rows.size(), width, true);
}

}  // namespace

std::size_t backward_bytes(const Network& network) {
  const std::size_t features = network.shape().features, size = network.size();
  return sizeof(double) * size * (couples_classes(network.shape().head) ? size : features);
}

void backward_statistics(const SgdRun& run, const StatisticsPlan& plan, const std::filesystem::path& folder,
                         const RecordSink& sink) {
  if (!run.network.shape().hidden.empty() || plan.layout.rows != 1)
    throw UsageError("statistics are made backward for linear heads and single rows alone");
  const SgdSchedule& schedule = run.schedule;
  const std::uint64_t epochs = schedule.constants().epochs;
  Trajectory trajectory(run, plan.memory);
  std::vector<Part> parts = identity_of(run.network);
  PartitionSums sums(schedule, run.network.size(), plan.memory, folder);
  Matrix visits = Matrix::Constant(index_of(schedule.constants().slots), index_of(epochs), kNoVisit);
  const WatchedStep watched("statistics of rows", schedule.steps(), "steps");
  for (std::uint64_t step = schedule.steps(); step-- > 0;) {
    watched.advance(1);
    const Vector& weights = trajectory.at(step);
    const SgdBatch batch(run, step);
    if (batch.rows.empty()) continue;
    const LinearBatch rows(run, batch, weights);
    const double decay = run.lambda * weights.norm();
    for (std::size_t i = 0; i < rows.size(); ++i)
      visits(index_of(batch.places[i]), index_of(step / schedule.steps_of_epoch())) =
          (rows.row_norm(i) * rows.slopes().row(index_of(i)).norm() + decay) * (1 + 1e-9);
    const std::uint64_t partition = schedule.partition_of(step);
    Matrix& here = sums.of(partition);
    parallel_ranges(0, parts.size(), 1, [&](std::size_t first, std::size_t last) {
      for (std::size_t i = first; i < last; ++i)
        step_back(run, batch, rows, weights, parts[i], here, schedule.first_place(partition));
    });
  }
  for (std::uint64_t partition = 0; partition < schedule.partitions(); ++partition) {
    const std::uint64_t first = schedule.first_place(partition);
    Matrix& sum = sums.of(partition);
    const Eigen::Index count = sum.rows();
    sink({first, std::move(sum), std::vector<double>(size_of(count), std::numeric_limits<double>::infinity()),
          visits.middleRows(index_of(first), count)});
    sum = Matrix();
  }
}

}  // namespace unweave
