// algorithms/verification/verify_release.cpp - the last release of a model against its certificate: public numbers computed again,
// and the published weights against the objective.
//
// Where the noise puts published weights. With W~ the finished iterate, k = round(W~ / g) and X discrete Gaussian noise
// of variance S in grid steps, P = g (k + X), so that for any other near-minimiser V of the same objective
//
//   P - V = g X + b,   |b| <= |W~ - W*| + |V - W*| + |g k - W~| <= (r + r_V) / mu + g sqrt(N) / 2,
//
// r and r_V bounds of the two gradients (Lemma 1 of THEOREMS.md; r is the certificate's), N the coordinates. Poisson
// summation gives X_j^2 / S the moment generating function (1 - 2 s)^(-1/2) of chi-square with one degree of freedom,
// up to a factor below 1 + 1e-60 as long as the tilted variance S / (1 - 2 s) is far above 1; S >= 2^40. Chernoff's bound
// needs nothing else: for Q = |X|^2 / S and x on its side of 1, with s = (1 - 1/x) / 2,
//
//   P[Q >= x N], P[Q <= x N] <= exp(-(N / 2) (x - 1 - ln x)).
//
// With the exponent 21.5 on each side a true release falls outside with probability 2 e^-21.5 < 1e-9, for any N. (The
// better known N + 2 sqrt(N t) + 2 t of Laurent and Massart follows from it; its lower side says nothing for N < 4 t.)
// The tilted variance is S x, at least 2^40 e^-22.5 > 100 for N >= 2. For N = 1 the factor from below would not hold, and
// is not used: x < 1e-19 puts it below the half grid step that is taken off.
#include <cmath>

#include "algorithms/learning/newton.h"
#include "algorithms/learning/working_memory.h"
#include "algorithms/models/certificate_log.h"
#include "algorithms/models/model_name.h"
#include "algorithms/privacy/gaussian_mechanism.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/solvers/rewind/rewind_account.h"
#include "algorithms/solvers/sgd.h"
#include "algorithms/verification/verify_checks.h"
#include "algorithms/verification/verify_statements.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kExponent = 21.5;  // of the probability of a false alarm on one side

bool has_output_noise(const ModelRecord& record) {
  const std::string& solver = record.model.solver;
  return solver == "newton" || solver == "retrain" || solver == "newton-step" || solver == "jackknife" ||
         (solver == "descent-to-delete" && record.options.bound == BoundRule::kCorrected);
}

bool is_published_descent(const ModelRecord& record) {
  return record.model.solver == "descent-to-delete" && record.options.bound == BoundRule::kPaper;
}

bool is_rewind(const ModelRecord& record) {
  return record.model.solver == "rewind" || record.model.solver == "descend";
}

bool is_langevin(const ModelRecord& record) {
  return record.model.solver == "langevin" || record.model.solver == "langevin-full";
}

void check_constants(const ModelRecord& record, const Json& certificate, Statements& say) {
  const Model& model = record.model;
  const SolverOptions& options = record.options;
  const NetworkShape shape = shape_of(model);
  say.same("id", certificate.at("id"), release_id(record));
  say.same("solver", certificate.at("solver"), model.solver);
  say.same("name", certificate.value("name", Json(model.solver)), name_of(record));
  say.same("release", certificate.at("release"), model.releases);
  say.same("sequence", certificate.at("sequence"), model.sequence);
  say.same("epsilon", certificate.at("epsilon"), options.epsilon);
  say.same("delta", certificate.at("delta").at("target"), options.delta);
  const std::pair<const char*, Json> held[] = {{"lambda", options.lambda},
                                               {"tau", options.tau},
                                               {"alpha", options.alpha},
                                               {"bound", options.bound == BoundRule::kPaper ? "paper" : "corrected"},
                                               {"head", head_name(options)},
                                               {"clip", record.clip},
                                               {"training_rows", model.trained_rows},
                                               {"features", shape.features},
                                               {"classes", shape.classes},
                                               {"levels", record.levels},
                                               {"weights", record.weights},
                                               {"rho", record.rho},
                                               {"scale_bits", record.scale_bits},
                                               {"all_rows", record.all_rows}};
  const Json& constants = certificate.at("constants");
  for (const auto& [name, value] : held) say.same(name, constants.at(name).at("value"), value);
  const auto intercept = constants.find("intercept");  // older lines speak of models without one
  say.same("intercept", intercept == constants.end() ? Json(false) : intercept->at("value"), options.intercept);
  say.same("where lambda was chosen", constants.at("lambda").at("chosen"), options.lambda_chosen);
  if (!model.network) return;
  say.same("hidden", constants.at("hidden").at("value"), shape.hidden);
  say.same("activation", constants.at("activation").at("value"), name_of(shape.activation));
}

/// Solvers for comparison: all that can be wrong is that more is said, and the length of the step of `streaming`.
void check_no_claim(const ModelRecord& record, const Json& certificate, Statements& say) {
  if (certificate.at("certified").get<bool>()) say.wrong("it is certified, and no theorem covers this solver");
  if (!certificate.at("claim").is_null()) say.wrong("it makes a claim, and this solver makes none");
  if (record.model.solver != "streaming") return;
  const Vector published = as_vector(record.model.published);
  const auto start = record.model.state.arrays.find("start");
  if (start == record.model.state.arrays.end() || start->second.size() != size_of(published.size()))
    return say.wrong("the model file holds no starting weights in the shape of the published ones");
  const double distance = (Eigen::Map<const Vector>(start->second.data(), published.size()) - published).norm();
  say.near("the distance to the starting weights", certificate.at("terms").at("distance_to_start").get<double>(),
           distance, 1e-9);
}

double mu_of(const ModelRecord& record) {
  return record.options.lambda * static_cast<double>(std::max<std::size_t>(1, record.model.trained_rows));
}

OutputNoise noise_of(const ModelRecord& record) {
  return plan_output_noise(record.options.tau / mu_of(record), size_of(record.model.published.size()),
                           record.options.epsilon, record.options.delta);
}

/// Certificates of T1: everything follows from lambda, tau, n, the shape and (epsilon, delta).
void check_output_noise(const ModelRecord& record, const Json& certificate, Statements& say) {
  const Json& terms = certificate.at("terms");
  const auto term = [&](const char* name) { return terms.at(name).get<double>(); };
  const SolverOptions& options = record.options;
  const OutputNoise noise = noise_of(record);
  say.near("mu", term("mu"), mu_of(record));
  say.near("distance", term("distance"), noise.distance);
  say.near("sensitivity", term("sensitivity"), noise.sensitivity);
  say.near("sigma", term("sigma"), noise.sigma);
  say.near("grid", term("grid"), noise.grid, 0);
  say.same("budget", certificate.at("budget"), options.tau);
  say.near("the residual bound", certificate.at("residual_bound").get<double>(),
           term("residual") + term("float_error") + term("approximation"));
  for (const char* part : {"residual", "float_error", "approximation"}) say.at_most("0", 0, part, term(part));
  if (certificate.at("certified").get<bool>()) {
    say.at_most("the residual bound", certificate.at("residual_bound").get<double>(), "the budget", options.tau);
    const double smoothed = std::sqrt(noise.sigma * noise.sigma - 9 * noise.grid * noise.grid);
    const double reached = certificate.at("delta").at("reached").get<double>();
    say.near("the delta reached", reached, delta_of(noise.sensitivity, smoothed, options.epsilon), 1e-8);
    say.at_most("the delta reached", reached, "the target", options.delta);
  }
  check_grid(record.model.published, noise, say);
}

/// Published steps and noise: nothing is certified, and no bound of theirs is checked.
void check_published_descent(const ModelRecord& record, const Json& certificate, Statements& say,
                             VerifyReport& report) {
  if (certificate.at("certified").get<bool>()) say.wrong("it is certified, and no theorem covers published steps");
  const auto sigma = record.model.state.numbers.find("sigma");
  if (sigma == record.model.state.numbers.end()) return say.wrong("the model file holds no sigma");
  const OutputNoise noise = noise_of_sigma(sigma->second, size_of(record.model.published.size()),
                                           record.options.epsilon, record.options.delta);
  say.near("sigma", certificate.at("terms").at("sigma").get<double>(), noise.sigma);
  say.near("budget", certificate.at("budget").get<double>(), noise.distance);
  check_grid(record.model.published, noise, say);
  report.remarks.push_back(name_of(record) + ": bounds as printed (--bound paper) are not checked");
}

void check_objective_noise(const ModelRecord& record, const Json& certificate, Statements& say, VerifyReport& report) {
  const SolverOptions& options = record.options;
  if (certificate.at("certified").get<bool>()) say.wrong("it is certified, and no theorem covers this solver");
  say.near("budget", certificate.at("budget").get<double>(),
           objective_noise_budget(options.alpha, options.epsilon, options.delta));
  const Model& model = record.model;
  if (model.objective_noise.rows() != model.published.rows() || model.objective_noise.cols() != model.published.cols())
    say.wrong("the model file holds no noise of the objective in the shape of the weights");
  if (options.bound == BoundRule::kPaper)
    report.remarks.push_back(name_of(record) +
                             ": bounds as printed (--bound paper) are not checked, the corrected one is");
  else
    say.same("residual_bound", certificate.at("residual_bound"), certificate.at("terms").at("corrected_bound"));
}

/// Factors x on N sigma^2 between which |g X|^2 lies; see the head of this file.
struct Factors {
  double low;
  double high;
};

Factors noise_factors(double coordinates) {
  const double wanted = 2 * kExponent / coordinates;
  // x - 1 - ln x exceeds `wanted` at `out` and falls to 0 at `in`; the answer errs outwards.
  const auto solve = [&](double out, double in) {
    for (int i = 0; i < 200; ++i) {
      const double middle = (out + in) / 2;
      (middle - 1 - std::log(middle) > wanted ? out : in) = middle;
    }
    return out;
  };
  return {solve(std::exp(-wanted - 1), 1), solve(2 + 2 * wanted, 1)};
}

void check_distance(const ModelRecord& record, const TrainingSet& rows, double residual_bound, MemoryBudget& budget,
                    Statements& say, VerifyReport& report) {
  const Matrix& published = record.model.published;
  const OutputNoise noise = noise_of(record);
  const double mu = mu_of(record);
  NewtonOptions newton;
  newton.tolerance = record.options.tau;
  newton.best_effort = true;
  const Reservation memory = reserve_working_memory(rows.rows(), rows.classes(), budget);
  newton.memory = static_cast<std::size_t>(memory.bytes());
  NewtonResult done = minimise({rows.rows(), rows.classes(), record.options.head, mu, nullptr}, published, newton);
  if (done.residual > newton.tolerance)
    report.remarks.push_back(name_of(record) + ": minimised again only to a gradient norm of " +
                             Json(done.residual).dump() + ", which blunts the comparison");

  check_spread(published, done.weights, "the minimiser", noise, (residual_bound + done.residual) / mu, say);
  wipe(done.weights.data(), size_of(done.weights.size()) * sizeof(double));
}

/// A bound on the exact gradient is refuted by what the computed one is at least. Once more the float error is granted:
/// the account of the steps leaves out what rounding did to the gradients that it compared.
void check_gradient(const ModelRecord& record, const TrainingSet& rows, double bound, Statements& say) {
  const Model& model = record.model;
  const Gradient gradient = gradient_with_error(
      {rows.rows(), rows.classes(), record.options.head, mu_of(record), &model.objective_noise}, model.published);
  const double norm = gradient.value.norm();
  if (norm <= bound * (1 + 1e-9) + 2 * gradient.error) return;
  say.wrong("the gradient at the published weights has norm " + Json(norm).dump() + " with a float error of at most " +
            Json(gradient.error).dump() + ", the corrected bound is " + Json(bound).dump());
}

}  // namespace

void check_grid(const Matrix& published, const OutputNoise& noise, Statements& say) {
  const Matrix steps = published / noise.grid;  // exact: the grid is a power of two
  for (Eigen::Index i = 0; i < steps.size(); ++i)
    if (std::nearbyint(steps.data()[i]) != steps.data()[i])
      return say.wrong("published weight " + std::to_string(i) + " is " + Json(published.data()[i]).dump() +
                       ", off the grid of " + Json(noise.grid).dump());
}

void check_spread(const Matrix& published, const Matrix& centre, const std::string& centre_name,
                  const OutputNoise& noise, double shift, Statements& say) {
  const double distance = (published - centre).norm();
  const auto coordinates = static_cast<double>(published.size());
  const Factors factors = noise_factors(coordinates);
  // The last term covers float64 here and in the publication of grid integers above 2^53.
  shift += noise.grid * std::sqrt(coordinates) / 2 + 0x1p-49 * (published.norm() + centre.norm());
  const double spread = noise.sigma * std::sqrt(coordinates);
  const double least = spread * std::sqrt(factors.low) - shift, most = spread * std::sqrt(factors.high) + shift;
  if (distance >= least && distance <= most) return;
  say.wrong("the published weights stand " + Json(distance).dump() + " from " + centre_name +
            " on the present rows; noise of sigma " + Json(noise.sigma).dump() + " on " +
            std::to_string(published.size()) + " weights puts them between " + Json(std::max(0.0, least)).dump() +
            " and " + Json(most).dump());
}

void check_certificate(const ModelRecord& record, const LiveStore& store, VerifyReport& report) {
  Statements say("models", record, report);
  try {
    static_cast<void>(make_solver(record.model.solver, record.options));  // options out of range
    const Model& model = record.model;
    for (const Matrix* matrix : {&model.published, &model.objective_noise})
      if (matrix->size() > 0 && !(matrix->cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e100))
        return say.wrong("weights or noise are not finite numbers of a sensible size");
    const Json certificate = whole_certificate(record);
    if (!is_sealed(record.certificate))
      say.wrong("the certificate was altered: its digest or its signature does not fit");
    if (certificate.at("commitment") != to_hex(hash_of(record.private_part)))
      say.wrong("the private part of the certificate is not the one that it commits to");
    check_constants(record, certificate, say);
    if (certificate.at("certified").get<bool>() && certificate.at("for_tests").get<bool>())
      say.wrong("it is certified, and its noise was drawn from a seed");
    if (certificate.at("certified").get<bool>() && (store.manifest().standardized || record.options.standardized))
      say.wrong("it is certified, on features that were standardised by statistics of the data");
    if (certificate.at("certified").get<bool>() && store.manifest().order_file && certificate.at("claim") != "T1")
      say.wrong("it is certified, over slots that follow an order of the nodes that was computed from the graph");
    if (claims_nothing(model))
      check_no_claim(record, certificate, say);
    else if (is_langevin(record))
      check_noisy_steps(record, certificate, say);
    else if (is_rewind(record))
      check_run_noise(record, certificate, say), check_iterates(record, store.path(), report);
    else if (is_published_descent(record))
      check_published_descent(record, certificate, say, report);
    else if (record.model.solver == "hessian-free")
      check_hessian_free(record, store.path(), certificate, say);
    else if (has_output_noise(record))
      check_output_noise(record, certificate, say);
    else
      check_objective_noise(record, certificate, say, report);
  } catch (const Json::exception&) {
    report.findings.push_back({true, model_file(store.path(), name_of(record)).string() +
                                         ": the certificate in it is malformed; run `unweave train " +
                                         store.path().string() + " " + selecting(record.model.solver, name_of(record)) +
                                         "`"});
  } catch (const UsageError& error) {
    say.wrong(error.what());
  }
}

void check_release(const ModelRecord& record, const TrainingSet& rows, MemoryBudget& budget, VerifyReport& report) {
  Statements say("releases", record, report);
  const Json certificate = whole_certificate(record);
  try {
    if (is_langevin(record))
      check_noise_of_steps(record, rows, certificate, budget, say);
    else if (is_rewind(record))
      check_run(record, rows, certificate, budget, say);
    else if (is_published_descent(record))
      return;
    else if (record.model.solver == "hessian-free")
      check_end_of_run(record, rows, say);
    else if (has_output_noise(record))
      check_distance(record, rows, certificate.at("residual_bound").get<double>(), budget, say, report);
    else
      check_gradient(record, rows, certificate.at("terms").at("corrected_bound").get<double>(), say);
  } catch (const UsageError& error) {  // of what the model holds: nobody chose anything here
    say.wrong(error.what());
  }
  ++report.models;
}

}  // namespace unweave
