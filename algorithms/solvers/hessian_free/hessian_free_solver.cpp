// algorithms/solvers/hessian_free/hessian_free_solver.cpp - training with statistics, and removal
// by addition.
#include "algorithms/solvers/hessian_free/hessian_free_solver.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "algorithms/sgd/slots.h"
#include "algorithms/solvers/hessian_free/statistics_forecast.h"
#include "algorithms/unlearning/release.h"
#include "engine/resources/memory_shares.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

constexpr Mechanism kEndOfRunNoise{
    "discrete Gaussian noise on the end of a run of SGD over fixed slots", Adjacency::empty_slots, {}};
constexpr std::size_t kBlocks = std::size_t{256} << 20;
constexpr float kMostBound = 0x1p53F;  // a run that diverges for a while has larger ones; models keep none above this

/// Rows of each file of statistics that a batch removed.
using RecordsOfFile = std::map<std::uint64_t, std::vector<std::uint64_t>>;

RecordsOfFile by_file(std::span<const std::uint64_t> records, const HessianFreeConstants& constants) {
  RecordsOfFile files;
  for (const std::uint64_t record : records)
    files[record / constants.sgd.partition_rows].push_back(record % constants.sgd.partition_rows);
  return files;
}

class HessianFreeSolver final : public Solver {
 public:
  HessianFreeSolver(const SolverOptions& options, const SolverResources& resources)
      : options_(options), resources_(resources) {
    static_cast<void>(choose_constants({options.head, 1, 1, options.hidden, options.activation}, 1, options));
    if (options.bound == BoundRule::kPaper && !options.hidden.empty())
      throw UsageError("Theorem 4 has no constants for hidden layers; leave out " + option("bound", "paper"));
    const HessianFreeParameters given = hessian_free_parameters().read(options.parameters);
    if (given.backward.value_or(false) && (!options.hidden.empty() || given.group_rows != 1))
      throw UsageError("statistics are made backward for linear heads and single rows alone");
  }

  std::string_view name() const noexcept override { return name_; }

  Fit fit(const TrainingSet& rows, const ApproximationError& lazy) const override {
    Fit fit;
    if (!lazy.exact()) {
      fit.report = blank_report();
      fit.report.flush_needed = true;
      return fit;
    }
    fit.model = blank_model(name_, options_, rows);
    HessianFreeState state;
    state.constants = choose_constants(shape_of(options_, rows), rows.size(), options_);
    state.slots.assign(rows.nodes().begin(), rows.nodes().end());
    // Without them every removal trains again.
    state.statistics = forecast_of(shape_of(options_, rows), state, rows.size()).made;
    fit.report = learn(fit.model, std::move(state), rows);
    return fit;
  }

  StepReport absorb(Model& model, const TrainingSet& after, const BatchChange& change,
                    const ApproximationError& lazy) const override {
    check_model(model, name_, after, change);
    if (!lazy.exact()) return refuse();
    HessianFreeState state = hessian_free_state(model);
    const std::size_t moved = change.moved_from.size();
    const std::vector<std::uint64_t> records = records_of(state, change.removed.nodes());
    empty_departed(state.slots, after.nodes());
    if (moved > 0) state.statistics = false;
    if (!state.statistics || !are_whole(state, records)) {
      StepReport report = learn(model, std::move(state), after);
      report.terms.add("moved_rows", static_cast<double>(moved));
      return report;
    }
    add(state, records);
    const double distance = distance_of(state, shape_of(options_, after), options_.lambda, after.form().norm_bound());
    if (state.constants.retrain && !(distance <= state.constants.largest_shift))
      return learn(model, std::move(state), after);
    return publish(model, std::move(state), after, distance);
  }

  StepReport catch_up(Model& model, const TrainingSet& rows, const ApproximationError& lazy) const override {
    check_shape(model, name_, rows);
    if (!lazy.exact()) return refuse();
    HessianFreeState state = hessian_free_state(model);
    empty_departed(state.slots, rows.nodes());
    return learn(model, std::move(state), rows);
  }

  bool has_place_for(const Model& model, const TrainingSet& rows) const override {
    return have_slots(hessian_free_state(model).slots, rows.nodes());
  }

  bool reads_moved_rows() const noexcept override { return true; }

  void require_state(const Model& model) const override { static_cast<void>(hessian_free_state(model)); }

  void tidy(const Model& model) const override {
    if (!has_entry(resources_.folder)) return;
    const HessianFreeState state = hessian_free_state(model);
    const std::string own = statistics_path("", state.run, 0).string().substr(0, 13);
    for (const Entry& entry : list_folder(resources_.folder))
      if (!state.statistics || !entry.name().starts_with(own)) remove_entry(entry.path);
    if (!state.statistics) return;
    const std::span<const std::uint64_t> erased = std::span(state.removed).subspan(state.erase_from);
    for (const auto& [file, records] : by_file(erased, state.constants)) open(state, file, true).erase(records);
  }

 private:
  StepReport blank_report() const {
    StepReport report = begin_report(options_, kEndOfRunNoise);
    report.reference =
        present_rows(options_) +
        " in their slots; from the public start, steps t over the batches B_t of slots in their public order: w <- w - "
        "(step_size decay^t / |B_t|) sum over the filled slots i of B_t of (grad l_i(w) + lambda w), |B_t| with empty "
        "slots; published: the last w rounded to the grid, plus fresh discrete Gaussian noise of variance sigma^2 on every number";
    return report;
  }

  StepReport refuse() const {
    StepReport report = blank_report();
    report.flush_needed = true;
    return report;
  }

  [[nodiscard]] std::size_t memory_left(std::size_t propagators) const noexcept {
    const std::size_t used = propagators + kBlocks;
    return resources_.memory > used ? resources_.memory - used : 0;
  }

  [[nodiscard]] StatisticsFile open(const HessianFreeState& state, std::uint64_t file, bool writable) const {
    return {statistics_path(resources_.folder, state.run, file),
            statistics_shape(state.constants, state.run, size_of(state.clean.size()), file), writable};
  }

  [[nodiscard]] StatisticsForecast forecast_of(const NetworkShape& shape, const HessianFreeState& state,
                                               std::size_t rows) const {
    return forecast_statistics(shape, state.constants, rows, resources_.memory, options_);
  }

  /// Ascending records of these nodes.
  static std::vector<std::uint64_t> records_of(const HessianFreeState& state, std::span<const NodeId> nodes) {
    const SgdSchedule schedule(state.constants.sgd);
    const RecordLayout layout = layout_of(state.constants);
    std::vector<std::uint64_t> records;
    for (const std::size_t slot : slots_of(state.slots, nodes)) records.push_back(layout.record_of(schedule, slot));
    std::sort(records.begin(), records.end());
    records.erase(std::unique(records.begin(), records.end()), records.end());
    return records;
  }

  /// False where a row of a removed group stays.
  static bool are_whole(const HessianFreeState& state, std::span<const std::uint64_t> records) {
    const std::uint64_t rows = state.constants.group_rows;
    if (rows == 1) return true;
    for (const std::uint64_t record : records)
      for (std::uint64_t slot = record * rows; slot < std::min<std::uint64_t>(state.slots.size(), (record + 1) * rows);
           ++slot)
        if (state.slots[slot] != kNoNode) return false;
    return true;
  }

  /// Adds the records' vectors to the clean weights.
  void add(HessianFreeState& state, std::span<const std::uint64_t> records) const {
    state.erase_from = state.removed.size();
    for (const auto& [file, numbers] : by_file(records, state.constants)) {
      const StatisticsFile statistics = open(state, file, false);
      for (const std::uint64_t number : numbers) {
        const std::uint64_t record = file * state.constants.sgd.partition_rows + number;
        const std::optional<Statistic> statistic = statistics.read(number);
        if (!statistic)
          throw FormatError(statistics_path(resources_.folder, state.run, file), "record " + std::to_string(number),
                            "it is erased already, and its row is still in the model");
        state.clean += Eigen::Map<const Vector>(statistic->values.data(), state.clean.size());
        state.removed.push_back(record);
        state.visits.insert(state.visits.end(), statistic->visits.begin(), statistic->visits.end());
        state.error += static_cast<double>(statistic->error) * (1 + 1e-12);
        if (state.removed.size() == 1 && statistic->bound < kMostBound)
          state.single_bound = static_cast<double>(statistic->bound);
      }
    }
  }

  /// From the initial weights on the present rows, with statistics where the state wants them.
  StepReport learn(Model& model, HessianFreeState state, const TrainingSet& rows) const {
    const Network network(shape_of(options_, rows));
    if (state.statistics && !resources_.folder.empty()) {
      make_folders(resources_.folder);
      require_disk(forecast_of(network.shape(), state, rows.size()), resources_.folder);
    }
    const SgdSchedule schedule(state.constants.sgd);
    const SgdRun run(network, rows, schedule, state.slots, options_.lambda);
    SgdEnd end = end_of_run(run);
    // On the grid of the statistics, so that sums are exact.
    state.clean = (end.weights / kStatisticsGrid).array().rint() * kStatisticsGrid;
    state.largest_norm = end.largest_norm * (1 + 1e-12);
    state.removed.clear();
    state.visits.clear();
    state.erase_from = 0;
    state.error = 0;
    state.single_bound = std::numeric_limits<double>::infinity();
    state.filled.clear();
    if (rows.size() < state.slots.size())
      for (std::uint64_t step = 0; step < schedule.steps(); ++step)
        state.filled.push_back(static_cast<double>(SgdBatch(run, step).rows.size()));
    std::map<std::string, double, std::less<>> costs;
    if (resources_.folder.empty()) state.statistics = false;  // nowhere to keep them: every removal trains again
    if (state.statistics) costs = make_statistics(state, run);
    StepReport report = publish(model, std::move(state), rows, 0);
    for (const auto& [name, value] : costs) report.terms.add(name, value);
    report.passes = static_cast<int>(schedule.constants().epochs);
    report.retrained = true;
    return report;
  }

  /// Writes the files of statistics; returns what they cost.
  std::map<std::string, double, std::less<>> make_statistics(HessianFreeState& state, const SgdRun& run) const {
    const HessianFreeConstants& constants = state.constants;
    const Network& network = run.network;
    const RecordLayout layout = layout_of(constants);
    const StatisticsForecast forecast = forecast_of(network.shape(), state, run.rows.size());
    state.backward = forecast.backward;
    RandomSource random = RandomSource::from_system();
    state.run = random.bits() >> 12;

    make_folders(resources_.folder);
    double bytes = 0;
    StatisticsPlan plan{layout, state.backward ? RemovedCurvature::kAll : constants.curvature,
                        constants.sgd.partition_rows, memory_left(state.backward ? backward_bytes(network) : 0) / 2};
    const RecordSink sink = [&](const RecordBlock& block) {
      const std::uint64_t file = block.first / constants.sgd.partition_rows;
      const StatisticsShape of_file = statistics_shape(state.constants, state.run, network.size(), file);
      StatisticsWriter writer(statistics_path(resources_.folder, state.run, file), of_file);
      for (Eigen::Index i = 0; i < block.vectors.rows(); ++i)
        writer.append({block.vectors.row(i).data(), network.size()},
                      {block.visits.row(i).data(), size_of(block.visits.cols())}, block.bounds[size_of(i)]);
      writer.finish();
      bytes += static_cast<double>(statistics_file_bytes(of_file));
    };
    if (state.backward)
      backward_statistics(run, plan, resources_.folder, sink);
    else
      forward_statistics(run, plan, sink);
    sync_directory(resources_.folder);
    std::map<std::string, double, std::less<>> costs{{"statistics_bytes", bytes},
                                                     {"forward_multiply_adds", forecast.cost.forward}};
    if (forecast.able) costs["backward_multiply_adds"] = forecast.cost.backward;
    return costs;
  }

  /// Publishes the clean weights, at most `distance` from a run without the removed rows, with
  /// fresh noise, and says what is so of that release.
  StepReport publish(Model& model, HessianFreeState state, const TrainingSet& rows, double distance) const {
    const NetworkShape shape = shape_of(options_, rows);
    const OutputNoise noise = release_noise(state, shape, options_);
    StepReport report = blank_report();
    report.budget = state.constants.largest_shift;
    report.residual_bound = distance;
    judge(report, noise);
    const SgdConstants& sgd = state.constants.sgd;
    const auto real = [](std::uint64_t count) { return static_cast<double>(count); };
    report.terms.publish({{"s_max", state.constants.largest_shift},
                          {"sensitivity", noise.sensitivity},
                          {"sigma", noise.sigma},
                          {"grid", noise.grid},
                          {"slots", real(sgd.slots)},
                          {"epochs", real(sgd.epochs)},
                          {"batch_rows", real(sgd.batch_rows)},
                          {"partition_rows", real(sgd.partition_rows)},
                          {"step_size", sgd.step_size},
                          {"decay", sgd.decay},
                          {"order_key", real(sgd.order_key)},
                          {"group_rows", real(state.constants.group_rows)}});
    report.terms.add(
        {{"encoding_error", state.error},
         {"removed_records", real(state.removed.size())},
         {"own_hessian", state.constants.curvature == RemovedCurvature::kKept && !state.backward ? 1.0 : 0.0},
         {"bits", real(state.constants.bits)},
         {"retrain", state.constants.retrain ? 1.0 : 0.0},
         {"statistics", state.statistics ? 1.0 : 0.0}});
    if (state.statistics) report.terms.add("backward", state.backward ? 1.0 : 0.0);

    RandomSource random = noise_source(options_, model.releases);
    Matrix weights = as_published(shape, state.clean);
    release_with_noise(model, weights, noise, random, rows);
    model.state = to_solver_state(state);
    return report;
  }

  void judge(StepReport& report, const OutputNoise& noise) const {
    std::string why;
    if (!options_.hidden.empty())
      why = "no bound is known for hidden layers";
    else if (options_.bound == BoundRule::kPaper)
      why = "the printed bound lacks the remainder";
    else if (options_.standardized)
      why = "features were standardised by statistics of the data";
    else if (options_.data_order)
      why = "slots follow an order of the nodes that was computed from the graph";
    else if (!(report.residual_bound <= report.budget))
      why = "the removed rows may be further from the retrained weights than s-max";
    report.private_claim = true;
    if (why.empty()) {
      certify(report, "T3", least_delta(noise, options_.epsilon));
      compose(report, noise);
    } else {
      report.claim = "as published: Qiao et al., Algorithm 1; " + why;
    }
  }

  std::string_view name_ = kHessianFree.name;
  SolverOptions options_;
  SolverResources resources_;
};

std::unique_ptr<Solver> make(const SolverOptions& options, const SolverResources& resources) {
  return std::make_unique<HessianFreeSolver>(options, resources);
}

/// Propagators where they serve, twice all vectors for StatisticsPlan, and blocks and tiles on
/// their way to the files; no less than one block and the visits of all rows.
Reservation reserve(const SolverOptions& options, const Model&, const TrainingSet& rows, MemoryBudget& budget) {
  const HessianFreeParameters given = hessian_free_parameters().read(options.parameters);
  const Network network(shape_of(options, rows));
  const std::size_t vector = network.size() * sizeof(double);
  const std::uint64_t wanted =
      kBlocks + 2 * rows.size() * vector + (network.shape().hidden.empty() ? backward_bytes(network) : 0);
  std::uint64_t least = 0;
  if (given.statistics.value_or(true)) {
    const SgdConstants sgd = choose_run(network.shape(), rows.size(), given, options);
    const std::uint64_t block = std::min<std::uint64_t>(rows.size(), sgd.partition_rows);
    least = block * vector + (rows.size() + block) * sgd.epochs * sizeof(double);
  }
  return budget.reserve(std::max(least, std::min(memory_shares::kSolver.of(budget), wanted)),
                        "working memory of hessian-free");
}

constexpr SolverKind kEither{
    .trained = true,
    .claims = true,
    .over_slots = true,
    .follows_run = true,
    .check_certificate = check_hessian_free,
    .check_release = check_end_of_run,
};

}  // namespace

constinit const SolverEntry kHessianFree{
    .name = "hessian-free",
    .meaning =
        [] {
          return std::string(
              "Makes, while it learns, a vector for every training row; removing the row adds its vector. Certified "
              "(T3) while the bound of what was removed since learning stays within s-max: of vectors made forward "
              "(backward=0) that is one row, or one declared group of rows; the bound of vectors made backward is "
              "seldom within it. The vectors take rows x weights x 2 bytes of disk.");
        },
    .linear = kEither,
    .networks = kEither,
    .printed = true,
    .first_order = true,
    .parameters = []() -> const ParameterTable& { return hessian_free_parameters(); },
    .make = make,
    .reserve = reserve,
    .needs = hessian_free_needs,
};

}  // namespace unweave
