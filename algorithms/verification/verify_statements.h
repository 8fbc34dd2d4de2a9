// algorithms/verification/verify_statements.h - how checks of one model report what its certificate says falsely.
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/privacy/output_noise.h"
#include "algorithms/verification/verify_checks.h"

namespace unweave {

/// False statements about one model.
class Statements {
 public:
  Statements(std::string check, const ModelRecord& record, VerifyReport& report)
      : prefix_(std::move(check) + ": " + record.model.solver + ": "), report_(report) {}

  void wrong(const std::string& text) { report_.findings.push_back({false, prefix_ + text}); }
  void same(const std::string& name, const nlohmann::ordered_json& said, const nlohmann::ordered_json& held) {
    if (said != held) wrong(name + " is " + said.dump() + " in the certificate and " + held.dump() + " in the model");
  }
  /// `tolerance` is relative; another machine's exp and log move sigma by less than the default.
  void near(const std::string& name, double said, double found, double tolerance = 1e-11) {
    if (!(std::abs(said - found) <= tolerance * std::abs(found)))
      wrong(name + " is " + nlohmann::ordered_json(said).dump() + " in the certificate, computed again it is " +
            nlohmann::ordered_json(found).dump());
  }
  void at_most(const std::string& name, double value, const std::string& limit_name, double limit) {
    if (!(value <= limit))
      wrong(name + " is " + nlohmann::ordered_json(value).dump() + ", above " + limit_name + " " +
            nlohmann::ordered_json(limit).dump());
  }

 private:
  std::string prefix_;
  VerifyReport& report_;
};

/// Published weights must be whole multiples of the grid.
void check_grid(const Matrix& published, const OutputNoise& noise, Statements& say);
/// Published weights against a point within `shift` of what the noise was added to, `centre_name` in words.
void check_spread(const Matrix& published, const Matrix& centre, const std::string& centre_name,
                  const OutputNoise& noise, double shift, Statements& say);

/// Certificates of T4 and of what Mu and Klabjan print: constants, distances and noise anew.
void check_run_noise(const ModelRecord& record, const nlohmann::ordered_json& certificate, Statements& say);
/// The files that the model needs.
void check_iterates(const ModelRecord& record, const std::filesystem::path& store, VerifyReport& report);
/// Published weights against a training without noise on the present rows.
void check_run(const ModelRecord& record, const TrainingSet& rows, const nlohmann::ordered_json& certificate,
               MemoryBudget& budget, Statements& say);

/// Certificates of T2: constants, distance and epsilon anew.
void check_noisy_steps(const ModelRecord& record, const nlohmann::ordered_json& certificate, Statements& say);
/// Published weights against a run without noise on the present rows.
void check_noise_of_steps(const ModelRecord& record, const TrainingSet& rows, const nlohmann::ordered_json& certificate,
                          MemoryBudget& budget, Statements& say);

/// The certificate of a model of hessian-free, its state and its files of statistics: there for every filled slot, erased
/// for the others.
void check_hessian_free(const ModelRecord& record, const std::filesystem::path& store,
                        const nlohmann::ordered_json& certificate, Statements& say);
/// Published weights against the clean ones, and where it is bounded against a run on the present rows.
void check_end_of_run(const ModelRecord& record, const TrainingSet& rows, Statements& say);

}  // namespace unweave
