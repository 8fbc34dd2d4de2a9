// algorithms/solvers/hessian_free/forward_statistics.cpp - tiles of vectors carried along the run,
// and how far each is from the truth.
//
// The bound of a linear head (THEOREMS.md, Lemma 11): with u_t = w_t + a_t and Phi a step on the
// kept rows,
//   E_{t+1} = rho_t E_t + |u_{t+1} - Phi(u_t)|,   rho_t >= Lipschitz constant of Phi.
// u_{t+1} - Phi(u_t) = (eta_t / |B_t|) [X^T Q - lambda m a_t], the last term for kAll alone, m
// removed rows in the batch. The rows of Q are what linear slopes miss, p(m + z) - p(m) - p'(m) z
// at z = a_t^T x; those of removed rows are 0 for kKept and -p'(m) z for kAll. |X^T Q|^2 = <Q, (X
// X^T) Q>, which is cheaper than the product itself.
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>

#include "algorithms/learning/network_directions.h"
#include "algorithms/numerics/blas.h"
#include "algorithms/privacy/accounting/hessian_free.h"
#include "algorithms/sgd/linear_batch.h"
#include "algorithms/solvers/hessian_free/sgd_statistics.h"
#include "engine/resources/parallel.h"
#include "engine/resources/watcher.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kTileBytes = std::size_t{4} << 20;  // stays in a core's caches
constexpr double kUp = 1 + 1e-9;                          // covers the few roundings of a sum of norms

/// The filled slots of one step that belong to a tile's records.
struct Members {
  std::vector<std::size_t> record;  // place in the tile of each row of the batch; the tile's size for other rows
  std::vector<std::size_t> visit;   // where the row's gradient norm goes
  std::vector<std::size_t> count;   // rows of each record
};

class RecordTile {
 public:
  RecordTile(const SgdRun& run, const StatisticsPlan& plan, std::uint64_t first, std::size_t count)
      : run_(run),
        plan_(plan),
        first_(first),
        count_(count),
        classes_(run.rows.classes()),
        constants_(run_constants(run.network.shape().head, run.lambda, run.rows.form().norm_bound(),
                                 run.rows.features(), classes_, run.schedule.constants().batch_rows)) {
    const std::uint64_t epochs = run.schedule.constants().epochs;
    visits_ = Matrix::Constant(index_of(count), index_of(plan.layout.rows * epochs), kNoVisit);
    size_.assign(count, 0.0);
    if (is_linear()) {
      vectors_ = Matrix::Zero(index_of(run.rows.features()), index_of(count * classes_));
      bounds_.assign(count, 0.0);
    } else {
      directions_.emplace(run.network, count);
      products_.emplace(run.network, count);
      bounds_.assign(count, std::numeric_limits<double>::infinity());
    }
  }

  void carry() {
    Vector weights = run_.initial();
    for (std::uint64_t step = 0; step < run_.schedule.steps(); ++step) {
      const SgdBatch batch(run_, step);
      if (!batch.rows.empty()) {
        const Members members = members_of(batch, step / run_.schedule.steps_of_epoch());
        if (is_linear())
          advance_linear(batch, members, weights);
        else
          advance(batch, members, weights);
      }
      sgd_steps(run_, step, step + 1, weights);
    }
  }

  void put(RecordBlock& block, std::size_t at) const {
    for (std::size_t k = 0; k < count_; ++k) {
      if (is_linear()) {
        double* const out = block.vectors.row(index_of(at + k)).data();
        for (std::size_t f = 0; f < run_.rows.features(); ++f)
          std::copy_n(vectors_.row(index_of(f)).data() + k * classes_, classes_, out + f * classes_);
      } else {
        block.vectors.row(index_of(at + k)) = directions_->get(k).transpose();
      }
      block.bounds[at + k] = bounds_[k];
      block.visits.row(index_of(at + k)) = visits_.row(index_of(k));
    }
  }

 private:
  [[nodiscard]] bool is_linear() const { return run_.network.shape().hidden.empty(); }
  [[nodiscard]] bool keeps_all() const { return plan_.curvature == RemovedCurvature::kAll; }

  [[nodiscard]] Members members_of(const SgdBatch& batch, std::uint64_t epoch) const {
    Members members;
    members.count.assign(count_, 0);
    const std::uint64_t epochs = run_.schedule.constants().epochs;
    for (const std::uint32_t place : batch.places) {
      const std::uint64_t slot = run_.schedule.slot_of(place);
      const std::uint64_t record = plan_.layout.record_of(run_.schedule, slot);
      const bool here = record >= first_ && record - first_ < count_;
      members.record.push_back(here ? static_cast<std::size_t>(record - first_) : count_);
      members.visit.push_back(static_cast<std::size_t>(plan_.layout.first_visit(slot, epochs) + epoch));
      if (here) ++members.count[members.record.back()];
    }
    return members;
  }

  void advance(const SgdBatch& batch, const Members& members, const Vector& weights) {
    const std::span<const double> at(weights.data(), size_of(weights.size()));
    products_->clear();
    run_.network.add_hessian_products(at, {run_.rows, batch.rows}, *directions_, *products_);
    decays_.assign(count_, 0.0);
    std::vector<std::pair<std::size_t, Vector>> own_parts;
    for (std::size_t k = 0; k < count_; ++k) {
      const std::size_t own = members.count[k], bent = batch.rows.size() - (keeps_all() ? 0 : own);
      decays_[k] = 1 - batch.share * run_.lambda * static_cast<double>(bent);
      if (own > 0) own_parts.emplace_back(k, own_part(batch, members, k, weights));
    }
    directions_->descend(decays_, batch.share, *products_);
    for (const auto& [k, part] : own_parts) directions_->add(k, {part.data(), size_of(part.size())});
  }

  /// What the rows of record k, among those of the batch, add to its vector.
  [[nodiscard]] Vector own_part(const SgdBatch& batch, const Members& members, std::size_t k,
                                const Vector& weights) const {
    std::vector<std::uint32_t> own;
    for (std::size_t i = 0; i < batch.rows.size(); ++i)
      if (members.record[i] == k) own.push_back(batch.rows[i]);
    const std::span<const double> at(weights.data(), size_of(weights.size()));
    Vector part = run_.network.gradient(at, {run_.rows, own}) + run_.lambda * static_cast<double>(own.size()) * weights;
    if (!keeps_all()) {
      const Vector vector = directions_->get(k);
      part += run_.network.hessian_product(at, {run_.rows, own}, {vector.data(), size_of(vector.size())});
    }
    return batch.share * part;
  }

  void advance_linear(const SgdBatch& batch, const Members& members, const Vector& weights) {
    const LinearBatch rows(run_, batch, weights);
    const std::size_t width = count_ * classes_, features = run_.rows.features();
    images_.resize(rows.size() * width);
    missed_.resize(rows.size() * width);
    multiply(rows.rows().data(), vectors_.data(), images_.data(), rows.size(), features, width, false);
    for (std::size_t i = 0; i < rows.size(); ++i) bend(rows, i, members.record[i]);
    squares_.assign(count_, 0.0);
    rows.squared_norms(missed_.data(), count_, squares_.data());
    follow_bounds(rows, batch, members, weights.norm());

    const double decay = 1 - batch.share * run_.lambda * static_cast<double>(rows.size());
    if (keeps_all()) {
      vectors_ *= decay;
    } else {
      decays_.assign(width, decay);
      for (std::size_t k = 0; k < count_; ++k) {
        const double own = batch.share * run_.lambda * static_cast<double>(members.count[k]);
        for (std::size_t c = 0; c < classes_; ++c) decays_[k * classes_ + c] += own;
      }
      vectors_.array().rowwise() *= Eigen::Map<const Eigen::RowVectorXd>(decays_.data(), index_of(width)).array();
    }
    for (double& x : images_) x *= -batch.share;
    multiply_transposed(rows.rows().data(), images_.data(), vectors_.data(), features, rows.size(), width, true);
    const Eigen::Map<const Matrix> at(weights.data(), index_of(features), index_of(classes_));
    for (std::size_t i = 0; i < rows.size(); ++i)
      if (members.record[i] < count_)
        columns(members.record[i]) +=
            batch.share *
            (rows.rows().row(index_of(i)).transpose() * rows.slopes().row(index_of(i)) + run_.lambda * at);
  }

  [[nodiscard]] Eigen::Block<Matrix> columns(std::size_t k) {
    return vectors_.block(0, index_of(k * classes_), vectors_.rows(), index_of(classes_));
  }

  /// Images of row i become the Hessian's part, and `missed_` what it misses.
  void bend(const LinearBatch& rows, std::size_t i, std::size_t own) {
    std::vector<double> image(classes_);
    for (std::size_t k = 0; k < count_; ++k) {
      double* const bent = images_.data() + (i * count_ + k) * classes_;
      double* const missed = missed_.data() + (i * count_ + k) * classes_;
      std::copy_n(bent, classes_, image.data());
      rows.bend(i, bent);
      if (k != own) {
        rows.remainder(i, image.data(), bent, missed);
      } else if (keeps_all()) {
        for (std::size_t c = 0; c < classes_; ++c) missed[c] = -bent[c];
      } else {
        std::fill_n(bent, classes_, 0.0);
        std::fill_n(missed, classes_, 0.0);
      }
    }
  }

  void follow_bounds(const LinearBatch& rows, const SgdBatch& batch, const Members& members, double weights_norm) {
    std::vector<double> injected(count_, 0.0);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (members.record[i] == count_) continue;
      const double norm = (rows.row_norm(i) * rows.slopes().row(index_of(i)).norm() + run_.lambda * weights_norm) * kUp;
      visits_(index_of(members.record[i]), index_of(members.visit[i])) = norm;
      injected[members.record[i]] += norm;
    }
    const StepBounds step(constants_, batch.share, rows.size(), rows.gram_bound());
    for (std::size_t k = 0; k < count_; ++k) {
      const std::size_t removed = members.count[k];
      const double rho = step.contraction(removed);
      double own = std::sqrt(squares_[k]);
      if (keeps_all()) own += static_cast<double>(removed) * run_.lambda * size_[k];
      const double rounding = step.rounding(weights_norm + size_[k] + bounds_[k]);
      bounds_[k] = (rho * bounds_[k] + batch.share * own + rounding) * (1 + 8 * kUnitRoundoff);
      size_[k] = (rho * size_[k] + batch.share * injected[k]) * (1 + 8 * kUnitRoundoff);
    }
  }

  const SgdRun& run_;
  const StatisticsPlan& plan_;
  std::uint64_t first_;
  std::size_t count_;
  std::size_t classes_;
  RunConstants constants_;
  Matrix vectors_;                               // features x (count classes), for a linear head
  std::optional<NetworkDirections> directions_;  // for other heads
  std::optional<HessianSums> products_;
  Matrix visits_;
  std::vector<double> bounds_;  // E_t
  std::vector<double> size_;    // >= |a_t|
  std::vector<double> images_;
  std::vector<double> missed_;
  std::vector<double> decays_;  // decays of the vectors, or of their columns
  std::vector<double> squares_;
};

}  // namespace

void forward_statistics(const SgdRun& run, const StatisticsPlan& plan, const RecordSink& sink) {
  const std::uint64_t records = plan.layout.records();
  const std::size_t tile = std::clamp<std::size_t>(kTileBytes / sizeof(double) / run.network.size(), 1, plan.block);
  const WatchedStep watched("statistics of rows", records, "records");
  for (std::uint64_t first = 0; first < records; first += plan.block) {
    const std::size_t count = static_cast<std::size_t>(std::min(plan.block, records - first));
    RecordBlock block{first, Matrix(index_of(count), index_of(run.network.size())), std::vector<double>(count),
                      Matrix(index_of(count), index_of(plan.layout.rows * run.schedule.constants().epochs))};
    parallel_ranges(0, (count + tile - 1) / tile, 1, [&](std::size_t begin, std::size_t end) {
      for (std::size_t at = begin * tile; at < std::min(count, end * tile); at += tile) {
        RecordTile part(run, plan, first + at, std::min(tile, count - at));
        part.carry();
        part.put(block, at);
        watched.advance(std::min(tile, count - at));
      }
    });
    sink(block);
  }
}

}  // namespace unweave
