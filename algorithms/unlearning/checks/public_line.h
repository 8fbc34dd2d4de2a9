// algorithms/unlearning/checks/public_line.h - the public line of a certified release: numbers that
// anybody can compute again.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/privacy/accounting/noisy_sgd.h"
#include "algorithms/privacy/output_noise.h"
#include "algorithms/sgd/slot_run.h"
#include "algorithms/unlearning/options.h"
#include "storage/io/error.h"

namespace unweave {

/// Numbers are read as they are asked for: nlohmann::json::exception for one that is missing. Every
/// require function throws CheckError.
class PublicLine {
 public:
  explicit PublicLine(const nlohmann::ordered_json& line);

  [[nodiscard]] const nlohmann::ordered_json& json() const noexcept { return line_; }
  /// Epsilon, delta, lambda and intercept as the line has them.
  [[nodiscard]] const SolverOptions& options() const noexcept { return options_; }
  [[nodiscard]] double term(const char* name) const { return terms_.at(name); }
  [[nodiscard]] double constant(const char* name) const { return constants_.at(name).at("value"); }
  /// A term that counts something.
  [[nodiscard]] std::uint64_t whole(const char* name) const;
  /// Numbers of a linear model.
  [[nodiscard]] std::size_t weights() const;
  [[nodiscard]] double reached() const { return line_.at("delta").at("reached"); }

  /// Two numbers agree but for rounding.
  static void require_near(const char* name, double said, double found, double tolerance = 1e-8);
  /// Discrete noise is smooth enough for its lemma.
  void require_grid() const;
  void require_noise(const OutputNoise& noise) const;
  /// The delta reached is that of sensitivity and noise, or the target itself.
  void require_delta_of_noise() const;
  void require_target_delta() const;
  /// Where the line says what several releases together come to, that it follows from sensitivity
  /// and noise.
  void require_composed() const;

  /// The constants of a run over slots that the line states; smoothness, strong convexity, gradient
  /// bound and number of batches must follow from them.
  [[nodiscard]] SlotRun slot_run() const;
  /// Those, and the options of the run, with the line's head.
  [[nodiscard]] SolverOptions run_options() const;

 private:
  const nlohmann::ordered_json& line_;
  const nlohmann::ordered_json& terms_;
  const nlohmann::ordered_json& constants_;
  SolverOptions options_;
};

}  // namespace unweave
