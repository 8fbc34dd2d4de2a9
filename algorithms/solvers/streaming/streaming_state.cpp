// algorithms/solvers/streaming/streaming_state.cpp - preparing, storing and following; gradients of
// the shift.
#include "algorithms/solvers/streaming/streaming_state.h"

#include <Eigen/Cholesky>
#include <cmath>

#include "algorithms/numerics/matrix.h"
#include "algorithms/numerics/row_sweep.h"
#include "algorithms/random/counter_random.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::uint64_t kAxesKey = 5;  // public
constexpr double kRidge = 1e-9;

std::span<const double> span_of(const Vector& values) {
  return {values.data(), size_of(values.size())};
}

std::vector<double> values_of(const auto& dense) {
  return {dense.data(), dense.data() + dense.size()};
}

struct MomentsOfClasses {
  std::vector<Moments> classes;

  template <class See>
  void see_members(const See& see) {
    for (Moments& moments : classes) {
      see(moments.count);
      see(moments.mean);
      see(moments.scatter);
    }
  }
  MomentsOfClasses& operator+=(const MomentsOfClasses& other) {
    for (std::size_t c = 0; c < classes.size(); ++c) classes[c] += other.classes[c];
    return *this;
  }
};

/// The moments of V^T x over all rows, class by class.
std::vector<Moments> raw_moments(const RowProjection& projection, const TrainingSet& set) {
  const MomentsOfClasses zero{std::vector<Moments>(set.classes(), Moments(projection.dimensions()))};
  return sweep_rows<float>(set.rows(), zero,
                           [&](const float* block, std::size_t first, std::size_t count, MomentsOfClasses& part) {
                             for (std::size_t i = 0; i < count; ++i)
                               part.classes[set.labels()[first + i]].add(
                                   projection.raw({block + i * set.features(), set.features()}));
                           })
      .classes;
}

[[noreturn]] void refuse() {
  throw UsageError("the model holds no statistics of its training rows; train it again");
}

const std::vector<double>& array_of(const SolverState& stored, const char* name, std::size_t size) {
  const auto found = stored.arrays.find(name);
  if (found == stored.arrays.end() || found->second.size() != size) refuse();
  return found->second;
}

double number_of(const SolverState& stored, const char* name) {
  const auto found = stored.numbers.find(name);
  if (found == stored.numbers.end() || !(found->second >= 0 && found->second <= 0x1p52)) refuse();
  return std::floor(found->second);
}

std::size_t projection_of(const SolverState& stored) {
  const double k = number_of(stored, "projection");
  if (!(k >= 1 && k <= kMostProjected)) refuse();
  return static_cast<std::size_t>(k);
}

/// Rows of `features` and a label below `classes` each.
std::vector<double> rows_of(const SolverState& stored, std::size_t features, std::size_t classes) {
  const auto found = stored.arrays.find("forgotten");
  if (found == stored.arrays.end()) return {};
  const std::vector<double>& values = found->second;
  if (values.size() % (features + 1) != 0) refuse();
  for (std::size_t at = features; at < values.size(); at += features + 1)
    if (!(values[at] >= 0 && values[at] < static_cast<double>(classes))) refuse();
  return values;
}

Vector vector_of(const std::vector<double>& values) {
  return Eigen::Map<const Vector>(values.data(), index_of(values.size()));
}

std::size_t moments_size(std::size_t k) {
  return 1 + k + k * k;
}

void append(const Moments& moments, std::vector<double>& out) {
  out.push_back(moments.count);
  out.insert(out.end(), moments.mean.data(), moments.mean.data() + moments.mean.size());
  out.insert(out.end(), moments.scatter.data(), moments.scatter.data() + moments.scatter.size());
}

Moments moments_at(const double* values, std::size_t k) {
  Moments moments(k);
  moments.count = values[0];
  moments.mean = Eigen::Map<const Vector>(values + 1, index_of(k));
  moments.scatter = Eigen::Map<const Eigen::MatrixXd>(values + 1 + k, index_of(k), index_of(k));
  return moments;
}

}  // namespace

RowProjection::RowProjection(std::size_t features, std::size_t dimensions)
    : axes_(index_of(features), index_of(dimensions)),
      center_(Vector::Zero(index_of(dimensions))),
      whitening_(Eigen::MatrixXd::Identity(index_of(dimensions), index_of(dimensions))) {
  for (std::size_t f = 0; f < features; ++f)
    for (std::size_t j = 0; j < dimensions; ++j)
      axes_(index_of(f), index_of(j)) = bits_to_deviate(random_bits(random_key(kAxesKey, j), f));
}

void RowProjection::set_map(Vector center, Eigen::MatrixXd whitening) {
  center_ = std::move(center);
  whitening_ = std::move(whitening);
}

Vector RowProjection::raw(std::span<const float> row) const {
  Vector out = Vector::Zero(axes_.cols());
  for (std::size_t f = 0; f < row.size(); ++f)
    if (row[f] != 0) out += static_cast<double>(row[f]) * axes_.row(index_of(f)).transpose();
  return out;
}

Vector RowProjection::point(std::span<const float> row) const {
  return whitening_ * (raw(row) - center_);
}

StreamingState::StreamingState(const Network& network, const TrainingSet& set, Vector at, std::size_t dimensions)
    : projection(set.features(), dimensions),
      start(std::move(at)),
      gradient(network.gradient(span_of(start), ChosenRows(set))),
      left(Vector::Zero(start.size())),
      shift(Vector::Zero(start.size())),
      start_rows(static_cast<double>(set.size())),
      rows(start_rows) {
  const std::vector<Moments> raw = raw_moments(projection, set);
  Moments all(dimensions);
  for (const Moments& of_class : raw) all += of_class;
  // Any invertible map gives the same ratios of densities: this one is for the digits alone.
  Eigen::MatrixXd covariance = all.scatter / std::max(1.0, all.count - 1);
  const double spread = covariance.trace() / static_cast<double>(dimensions);
  covariance.diagonal().array() += spread > 0 ? kRidge * spread : 1.0;
  const Eigen::LLT<Eigen::MatrixXd> factors(covariance);
  const Eigen::MatrixXd identity = Eigen::MatrixXd::Identity(covariance.rows(), covariance.cols());
  projection.set_map(all.mean, factors.info() == Eigen::Success ? factors.matrixL().solve(identity) : identity);
  for (const Moments& of_class : raw)
    classes.push_back(
        {of_class.mapped(projection.whitening(), projection.center()), Moments(dimensions), Moments(dimensions)});
}

StreamingState::StreamingState(const Network& network, const SolverState& stored)
    : projection(network.shape().features, projection_of(stored)) {
  const std::size_t k = projection.dimensions(), size = network.size(), each = moments_size(k);
  start = vector_of(array_of(stored, "start", size));
  gradient = vector_of(array_of(stored, "gradient", size));
  left = vector_of(array_of(stored, "left", size));
  shift = vector_of(array_of(stored, "shift", size));
  const std::vector<double>& whitening = array_of(stored, "whitening", k * k);
  projection.set_map(vector_of(array_of(stored, "center", k)),
                     Eigen::Map<const Eigen::MatrixXd>(whitening.data(), index_of(k), index_of(k)));
  const std::vector<double>& moments = array_of(stored, "moments", network.shape().classes * 3 * each);
  for (std::size_t c = 0; c < network.shape().classes; ++c) {
    const double* const values = moments.data() + c * 3 * each;
    classes.push_back({moments_at(values, k), moments_at(values + each, k), moments_at(values + 2 * each, k)});
  }
  start_rows = number_of(stored, "start_rows");
  rows = number_of(stored, "rows");
  removed_rows = number_of(stored, "removed_rows");
  round = number_of(stored, "round");
  forgotten = rows_of(stored, network.shape().features, network.shape().classes);
}

SolverState StreamingState::stored() const {
  SolverState out;
  std::vector<double> moments;
  for (const ClassRecord& record : classes)
    for (const Moments* part : {&record.start, &record.removed, &record.added}) append(*part, moments);
  out.arrays = {{"start", values_of(start)},
                {"gradient", values_of(gradient)},
                {"left", values_of(left)},
                {"shift", values_of(shift)},
                {"center", values_of(projection.center())},
                {"whitening", values_of(projection.whitening())},
                {"moments", std::move(moments)}};
  if (!forgotten.empty()) out.arrays["forgotten"] = forgotten;
  out.numbers = {{"projection", static_cast<double>(projection.dimensions())},
                 {"start_rows", start_rows},
                 {"rows", rows},
                 {"removed_rows", removed_rows},
                 {"round", round}};
  return out;
}

Vector StreamingState::follow(const Network& network, const BatchChange& change, bool keep_rows) {
  const std::span<const double> at = span_of(start);
  left += network.gradient(at, ChosenRows(change.removed)) + network.gradient(at, ChosenRows(change.moved_from)) -
          network.gradient(at, ChosenRows(change.moved_to));
  const auto take = [&](const TrainingSet& set, Moments ClassRecord::*into) {
    for (std::size_t i = 0; i < set.size(); ++i) (classes[set.labels()[i]].*into).add(projection.point(set.row(i)));
  };
  take(change.removed, &ClassRecord::removed);
  take(change.moved_from, &ClassRecord::removed);
  take(change.moved_to, &ClassRecord::added);
  const auto removed = static_cast<double>(change.removed.size());
  rows -= removed;
  removed_rows += removed;
  round += 1;
  for (std::size_t i = 0; keep_rows && i < change.removed.size(); ++i) {
    const std::span<const float> row = change.removed.row(i);
    forgotten.insert(forgotten.end(), row.begin(), row.end());
    forgotten.push_back(change.removed.labels()[i]);
  }
  Vector grown = shift_gradient(network, change.removed);
  shift += grown;
  return grown;
}

void turn_to_softmax_shift(const Vector& tau, double* margins) {
  softmax_in_place(margins, size_of(tau.size()));
  double mean = 0;
  for (Eigen::Index c = 0; c < tau.size(); ++c) mean += margins[c] * tau[c];
  for (Eigen::Index c = 0; c < tau.size(); ++c) margins[c] *= mean - tau[c];
}

void turn_to_logistic_shift(const Vector& own, const Vector& rest, double* margins) {
  for (Eigen::Index c = 0; c < own.size(); ++c) margins[c] = logistic_at(margins[c], 1).curvature * (rest[c] - own[c]);
}

Vector StreamingState::shift_gradient(const Network& network, const TrainingSet& set) const {
  const Head head = network.shape().head;
  if (!has_probabilities(head) || set.size() == 0 || rows <= 0) return Vector::Zero(start.size());
  const double prior = std::log(start_rows / rows);
  std::vector<LogShift> own, rest;
  std::vector<Moments> now;
  for (const ClassRecord& record : classes) now.push_back(record.now());
  for (std::size_t c = 0; c < classes.size(); ++c) {
    own.emplace_back(classes[c].start, now[c], prior);
    if (couples_classes(head)) continue;
    Moments others_start(projection.dimensions()), others_now(projection.dimensions());
    for (std::size_t other = 0; other < classes.size(); ++other) {
      if (other == c) continue;
      others_start += classes[other].start;
      others_now += now[other];
    }
    rest.emplace_back(others_start, others_now, prior);
  }
  return network.pull_back(span_of(start), ChosenRows(set), [&](std::size_t i, double* margins) {
    const Vector point = projection.point(set.row(i));
    const auto logs = [&](const std::vector<LogShift>& shifts) {
      Vector tau(index_of(shifts.size()));
      for (std::size_t c = 0; c < shifts.size(); ++c) tau[index_of(c)] = shifts[c].at(point);
      return tau;
    };
    if (couples_classes(head))
      turn_to_softmax_shift(logs(own), margins);
    else
      turn_to_logistic_shift(logs(own), logs(rest), margins);
  });
}

TrainingSet StreamingState::kept_rows(std::size_t features, const RowForm& form) const {
  TrainingSet set(features, classes.size(), form);
  std::vector<float> row(features);
  for (std::size_t at = 0; at + features < forgotten.size(); at += features + 1) {
    for (std::size_t f = 0; f < features; ++f) row[f] = static_cast<float>(forgotten[at + f]);
    set.append(static_cast<NodeId>(set.size()), row, static_cast<ClassId>(forgotten[at + features]));
  }
  return set;
}

}  // namespace unweave
