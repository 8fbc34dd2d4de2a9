// tests/support/trained_store.h - a tiny store with models, and a forger who changes them without a
// trace in checksums.
#pragma once

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "algorithms/live/store_reader.h"
#include "algorithms/live/store_writer.h"
#include "algorithms/models/learner.h"
#include "algorithms/verification/verify.h"
#include "storage/io/hex.h"
#include "support/input_files.h"
#include "support/temp_dir.h"
#include "support/tiny_store.h"

namespace unweave::testing {

using Json = nlohmann::ordered_json;

inline const ReleaseContext kContext{false, "test", {}};

/// Noise from the system: releases are certified.
inline SolverOptions unseeded(double alpha = 0.1) {
  SolverOptions options;
  options.lambda = 0.01;
  options.alpha = alpha;
  return options;
}
/// Noise that can be had again: no release is certified.
inline SolverOptions seeded(std::uint64_t seed = 1) {
  SolverOptions options = unseeded();
  options.seed = seed;
  return options;
}

/// A propagated store with about 40 training rows, `columns` features and 4 classes.
struct TrainedStore {
  TempDir folder;
  std::filesystem::path store = folder / "s";

  explicit TrainedStore(std::uint32_t columns = 32) {
    write_store(store, random_store(200, 600, columns, 3));
    propagate_store(store, tiny_spec(2, false));
    std::filesystem::create_directory(store / "certificates");
    write_file(store / "certificates" / "signing-key", std::string(64, '7') + "\n");  // so that logs compare
  }
  [[nodiscard]] std::filesystem::path model(const std::string& solver) const {
    return store / "models" / (solver + ".model");
  }
  [[nodiscard]] std::filesystem::path log(const std::string& solver) const { return public_log(store, solver); }

  void train(const std::string& solver, const SolverOptions& options = unseeded()) const {
    StoreWriter live(store, ample_budget());
    static_cast<void>(Learner::train(live, ample_budget(), solver, options, live.embedding().spec().weights, kContext));
  }
  /// Applies requests; the named models follow.
  void stream(const std::vector<Request>& requests, const std::vector<std::string>& solvers = {}, double r_max = 0,
              std::optional<std::uint64_t> seed = {}) const {
    StoreWriter live(store, ample_budget());
    std::vector<Learner> learners;
    learners.reserve(solvers.size());
    for (const std::string& solver : solvers)
      learners.push_back(Learner::open(live, ample_budget(), solver, kContext, seed));
    const BatchReport batch = live.apply(requests, live.resolve(requests), {r_max, ThresholdScale::absolute});
    for (Learner& learner : learners) learner.absorb(batch);
  }
  void catch_up(const std::string& solver) const {
    StoreWriter live(store, ample_budget());
    Learner learner = Learner::open(live, ample_budget(), solver, kContext, {});
    static_cast<void>(learner.catch_up());
    learner.settle();
    live.record();
  }
  [[nodiscard]] TrainingSet rows() const {
    const StoreReader live(store, ample_budget());
    return TrainingRows(live, live.embedding().spec().weights, 1, ample_budget()).set();
  }
  [[nodiscard]] Request edge_of_training_node() const {
    const StoreReader live(store, ample_budget());
    const TrainingSet set = rows();
    std::vector<NodeId> neighbours;
    for (const NodeId node : set.nodes()) {
      live.contents().graph().neighbours(node, neighbours);
      if (neighbours.size() == 1) return {RequestKind::remove_edge, node, neighbours[0]};
    }
    FAIL("no training node has one edge");
    return {};
  }

  /// Model and certificates of a solver, to put them back.
  [[nodiscard]] std::map<std::filesystem::path, std::string> files_of(const std::string& solver) const {
    std::map<std::filesystem::path, std::string> files;
    for (const auto& file : {model(solver), log(solver), private_log(store, solver), release_file(store, solver)})
      if (std::filesystem::exists(file)) files[file] = read_all(file);
    return files;
  }
  static void restore(const std::map<std::filesystem::path, std::string>& files) {
    for (const auto& [file, bytes] : files) write_file(file, bytes);
  }

  /// A forger's work: changes model and certificate, keeps checksums, ids and the log right.
  /// `certificate` may still change what was set right.
  void forge(
      const std::string& solver, const std::function<void(ModelRecord&)>& change,
      const std::function<void(Json&)>& certificate = [](Json&) {}) const {
    ModelRecord record = load_model(store, solver);
    const ModelRecord before = record;
    change(record);
    Json json = whole_certificate(record);
    json["id"] = release_id(record);
    json["weights_digest"] = to_hex(weights_commitment(record));
    json["sequence"] = record.model.sequence;
    certificate(json);
    seal_certificate(record, json, SigningKey::of_store(store));
    replace(before, record);
  }
  /// Puts another certificate where the newest one is: in the model file and in both logs.
  void replace(const ModelRecord& before, const ModelRecord& after) const {
    save_model(store, after);
    const std::string& solver = after.model.solver;
    replace_last(log(solver), before.certificate, after.certificate);
    replace_last(private_log(store, solver), before.private_part, after.private_part);
  }
  static void replace_last(const std::filesystem::path& file, const std::string& before, const std::string& after) {
    std::string lines = read_all(file);
    REQUIRE(lines.ends_with(before + "\n"));
    lines.resize(lines.size() - before.size() - 1);
    write_file(file, lines + after + "\n");
  }
  void forge_certificate(const std::string& solver, const std::function<void(Json&)>& certificate) const {
    forge(
        solver, [](ModelRecord&) {}, certificate);
  }

  [[nodiscard]] VerifyReport verify(MemoryBudget& budget = ample_budget()) const {
    return verify_store(store, {}, budget);
  }
};

inline std::string text_of(const VerifyReport& report) {
  std::string text;
  for (const Finding& finding : report.findings)
    text += (finding.unreadable ? "2 " : "4 ") + plain(finding.text) + "\n";
  for (const std::string& remark : report.remarks) text += "0 " + plain(remark) + "\n";
  return text;
}

/// Whether all is right with a log that was read without its owner's public key, which is noted of
/// it, as are releases of seeded noise, that are not certified.
inline bool is_sound(const VerifyReport& report) {
  const auto notes = [&](std::size_t i, const char* words) {
    return report.remarks[i].find(words) != std::string::npos;
  };
  return report.ok() && !report.remarks.empty() && notes(0, "a key that only this file names") &&
         (report.remarks.size() == 1 || (report.remarks.size() == 2 && notes(1, "they are not certified")));
}

/// Exactly one finding, false or unreadable, that holds the words.
inline void check_one(const VerifyReport& report, bool unreadable, const std::string& words) {
  CAPTURE(words);
  CAPTURE(text_of(report));
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].unreadable == unreadable);
  CHECK(report.findings[0].text.find(words) != std::string::npos);
  CHECK(report.findings[0].text.find('\n') == std::string::npos);
}

/// Some false statement that holds the words.
inline void check_among(const VerifyReport& report, const std::string& words) {
  CAPTURE(words);
  CAPTURE(text_of(report));
  bool found = false;
  for (const Finding& finding : report.findings)
    found |= !finding.unreadable && finding.text.find(words) != std::string::npos;
  CHECK(found);
}

/// No finding, one remark that holds the words.
inline void check_remark(const VerifyReport& report, const std::string& words) {
  CAPTURE(words);
  CAPTURE(text_of(report));
  CHECK(report.ok());
  REQUIRE(report.remarks.size() == 1);
  CHECK(plain(report.remarks[0]).find(words) != std::string::npos);
}

inline double term(const ModelRecord& record, const char* name) {
  return whole_certificate(record)["terms"][name].get<double>();
}

}  // namespace unweave::testing
