// algorithms/verification/verify_public_terms.cpp - each theorem's public numbers, computed again.
#include "algorithms/verification/verify_public_terms.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/solvers/rewind/rewind_account.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

/// Of the solvers that certify in public. What T3 certifies is private, as it is of the others' T1.
constexpr std::pair<std::string_view, std::string_view> kTheorems[] = {
    {"newton", "T1"}, {"retrain", "T1"}, {"descent-to-delete", "T1"}, {"langevin", "T2"}, {"langevin-full", "T2"},
    {"rewind", "T4"}, {"descend", "T4"}};

class PublicTerms {
 public:
  explicit PublicTerms(const Json& line)
      : line_(line), terms_(line.at("terms")), constants_(line.at("constants")), theorem_(line.at("theorem")) {
    options_.epsilon = line.at("epsilon");
    options_.delta = line.at("delta").at("target");
    options_.lambda = constant("lambda");
    if (const auto at = constants_.find("intercept"); at != constants_.end()) options_.intercept = at->at("value");
  }

  void check() const {
    const auto solver = line_.at("solver").get<std::string>();
    if (std::none_of(std::begin(kTheorems), std::end(kTheorems),
                     [&](const auto& known) { return known.first == solver && known.second == theorem_; }))
      throw CheckError(theorem_ + " is not what certifies " + solver + " in public");
    const double reached = line_.at("delta").at("reached");
    if (!(reached <= options_.delta && options_.delta < 1)) throw CheckError("the delta reached is above its target");
    if (theorem_ != "T2" && !(term("sigma") > 3 * term("grid")))
      throw CheckError("sigma is not above three grid steps");
    if (theorem_ == "T1")
      check_finished_weights();
    else
      check_run();
    if (theorem_ == "T2" || (theorem_ == "T4" && term("sampling") != 0))
      return require_near("the delta reached", reached, options_.delta, 0);
    const double smoothed = std::sqrt(term("sigma") * term("sigma") - 9 * term("grid") * term("grid"));
    require_near("the delta reached", reached, delta_of(term("sensitivity"), smoothed, options_.epsilon));
  }

 private:
  [[nodiscard]] double term(const char* name) const { return terms_.at(name); }
  [[nodiscard]] double constant(const char* name) const { return constants_.at(name).at("value"); }
  [[nodiscard]] std::uint64_t whole(const char* name) const {
    const double value = term(name);
    if (!(value >= 0 && value <= 0x1p53 && value == std::floor(value)))
      throw CheckError(std::string(name) + " is no number of things");
    return static_cast<std::uint64_t>(value);
  }
  [[nodiscard]] std::size_t weights() const {
    const double weights = constant("features") * constant("classes");
    if (!(weights >= 0 && weights < 0x1p40)) throw CheckError("its weights are too many");
    return static_cast<std::size_t>(weights);
  }
  /// Two numbers agree but for rounding.
  static void require_near(const char* name, double said, double found, double tolerance = 1e-8) {
    if (!(std::abs(said - found) <= tolerance * std::abs(found)))
      throw CheckError(std::string(name) + " is " + Json(said).dump() + ", computed again it is " + Json(found).dump());
  }

  void check_noise(const OutputNoise& noise) const {
    require_near("sensitivity", term("sensitivity"), noise.sensitivity);
    require_near("sigma", term("sigma"), noise.sigma);
    require_near("grid", term("grid"), noise.grid, 0);
  }

  void check_finished_weights() const {
    require_near("mu", term("mu"), options_.lambda * std::max(1.0, constant("training_rows")));
    require_near("distance", term("distance"), constant("tau") / term("mu"));
    if (line_.at("budget") != Json(constant("tau"))) throw CheckError("the budget is not tau");
    check_noise(plan_output_noise(term("distance"), weights(), options_.epsilon, options_.delta));
  }

  void check_run() const {
    RewindConstants run;
    run.slots = whole("slots");
    run.batch_rows = whole("batch_rows");
    run.epochs = whole("learning_epochs");
    run.step_size = term("step_size");
    run.radius = term("radius");
    run.order_key = whole("order_key");
    if (!(term("sigma") > 0)) throw CheckError("it adds no noise");
    if (constant("training_rows") > static_cast<double>(run.slots)) throw CheckError("it has more rows than slots");
    if (run.batch_rows == 0 || run.epochs == 0) throw CheckError("its run has no step");
    SolverOptions options = options_;
    options.head = parse_head(constants_.at("head").at("value").get<std::string>());
    const auto classes = static_cast<std::size_t>(constant("classes"));
    const NoisySgd sgd = noisy_sgd_of(run, options, classes);
    require_near("smoothness", term("smoothness"), sgd.constants().smoothness);
    require_near("strong_convexity", term("strong_convexity"), sgd.constants().strong_convexity);
    require_near("gradient_bound", term("gradient_bound"), sgd.constants().gradient_bound);
    require_near("batches", term("batches"), static_cast<double>(sgd.batches()), 0);
    if (theorem_ != "T4") return;
    const std::uint64_t sampling = whole("sampling");
    if (sampling > 2) throw CheckError("its sampling is none");
    run.sampling = static_cast<Sampling>(sampling);
    run.sigma = term("distance") * sigma_of(1, options.epsilon, options.delta);  // as chosen, before it was rounded up
    run.capacity = term("capacity");
    run.retention = term("retention");
    static_cast<void>(weights());
    const RewindAccount account(line_.at("solver") == "descend", run, static_cast<std::size_t>(constant("features")),
                                classes, options);
    require_near("distance", term("distance"), account.noise().distance);
    require_near("the budget", line_.at("budget"), account.noise().distance);
    require_near("rounding", term("rounding"), account.rounding());
    check_noise(account.noise());
  }

  const Json& line_;
  const Json& terms_;
  const Json& constants_;
  std::string theorem_;
  SolverOptions options_;
};

}  // namespace

void check_public_terms(const Json& line) {
  PublicTerms(line).check();
}

}  // namespace unweave
