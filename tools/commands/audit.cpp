// tools/commands/audit.cpp - `unweave audit`: a lower bound of epsilon by attack, beside what certificates claim.
#include "algorithms/evaluation/audit.h"

#include <array>
#include <set>
#include <string>
#include <vector>

#include "algorithms/evaluation/canary.h"
#include "algorithms/models/model_record.h"
#include "algorithms/models/recorded_release.h"
#include "algorithms/registry/registry.h"
#include "engine/resources/temporary_folder.h"
#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_choice.h"
#include "tools/commands/model_output.h"

namespace unweave {
namespace {

/// One model and one canary.
struct Attack {
  ModelRecord record;
  CanaryRequests canary;
};

std::vector<CanaryRequests> chosen_canaries(const CommandLine& line, const LiveStore& store, const ModelRecord& record,
                                            MemoryBudget& budget) {
  const auto& wanted = line.get<std::string>("canary");
  if (line.has("requests")) {
    CanaryRequests own{"requests", {}};
    RequestReader reader(line.get<std::string>("requests"));
    for (Request request; reader.next(request);) own.requests.push_back(request);
    return {own};
  }
  std::vector<CanaryRequests> found = find_canaries(store, record, budget);
  if (wanted != "all") std::erase_if(found, [&](const CanaryRequests& canary) { return canary.name != wanted; });
  if (found.empty())
    throw DataError(store.path().string() + ": holds no canary" + (wanted == "all" ? "" : " of kind " + wanted) +
                    "; give removals with --requests F");
  return found;
}

std::vector<Attack> plan_attacks(const CommandLine& line, MemoryBudget& budget) {
  const LiveStore store(line.positional(0), Access::read, budget, release_ledger());
  std::vector<Attack> attacks;
  for (ModelRecord& record : chosen_models(line, line.positional(0))) {
    record.options.seed = line.common().seed;
    check_propagation(record, store.manifest(), store.path());
    for (CanaryRequests& canary : chosen_canaries(line, store, record, budget))
      attacks.push_back({record, std::move(canary)});
  }
  return attacks;
}

AuditResult run_attack(const CommandLine& line, const Attack& attack, double confidence, MemoryBudget& budget) {
  const ModelRecord& record = attack.record;
  LiveStore store(line.positional(0), Access::read, budget, release_ledger());
  const Canary canary = release_canary(attack.canary, store, record, line.get<Count>("rows").value, budget);
  const Reservation memory = solver_entry(record.model.solver).reserve(record.options, Model{}, canary.before, budget);
  const TemporaryFolder folder(std::filesystem::temp_directory_path(), "unweave-audit-");
  AuditOptions how;
  how.trials = line.get<Count>("trials").value;
  how.confidence = confidence;
  how.folder = folder.path();
  how.working_memory = static_cast<std::size_t>(memory.bytes());
  Progress progress(line.error(), line.shows_progress(), name_of(record) + ", " + canary.name, how.trials, "trials");
  how.advance = [&] { progress.advance(1); };
  return audit([&](const SolverOptions& options,
                   const SolverResources& resources) { return make_solver(record.model.solver, options, resources); },
               record.options, canary, how);
}

std::string verdict_of(const AuditResult& result) {
  if (result.refuted()) return "the claim is refuted";
  if (result.certified) return "the claim stands";
  if (result.claim && result.evidence.epsilon > result.epsilon) return "above epsilon; nothing is certified";
  return "nothing is certified";
}

/// What a bound near 0 may mean.
std::string reach_of(std::uint64_t trials, double most, double confidence) {
  return "With " + count_text(trials) + " trials of each kind epsilon " + number_text(most) +
         " is the most that could have been shown, at confidence " + number_text(confidence) + ".";
}

void check_options(const CommandLine& line) {
  const double confidence = line.get<Real>("confidence").value;
  if (!(confidence > 0 && confidence < 1)) throw UsageError("--confidence must lie strictly between 0 and 1");
  if (line.get<Count>("rows").value < 2) throw UsageError("--rows must be at least 2");
  const auto& canary = line.get<std::string>("canary");
  if (canary != "all" && canary != "hub" && canary != "bridge" && canary != "gradient")
    throw UsageError(
        unknown_name("canary", canary, std::array<std::string_view, 4>{"all", "hub", "bridge", "gradient"}));
}

}  // namespace

void run_audit(CommandLine& line) {
  line.describe(
      "Tries to tell models that unlearned a canary from models that never saw it, by many releases of both, and\n"
      "prints a lower bound of epsilon beside the claim. Changes nothing in the store. Exit code 4: a certified claim "
      "is\n"
      "refuted. A claim that stands is not proved by that.",
      {"STORE"}, "unweave audit demo/debian.store --solver newton --canary gradient");
  add_model_choice(line, "this model alone, of those trained");
  auto add = line.options().add_options();
  add("canary", po::value<std::string>()->value_name("K")->default_value("all"),
      "hub: the node with the most edges; bridge: an edge that a training node hangs on; gradient: the training node "
      "with "
      "the largest gradient; or all three, one after the other");
  add("requests", po::value<std::string>()->value_name("F"), "removals to be the canary instead, as for stream");
  add("trials", po::value<Count>()->value_name("T")->default_value({400}), "releases of each kind and canary");
  add("confidence", po::value<Real>()->value_name("C")->default_value({0.95}),
      "with which all bounds of this command hold together");
  add("rows", po::value<Count>()->value_name("N")->default_value({1000}),
      "training rows that take part: the canary's, those that it moves farthest, others evenly");
  if (!line.parse()) return;
  check_options(line);

  MemoryBudget budget(line.budget_bytes());
  const std::vector<Attack> attacks = plan_attacks(line, budget);
  const double miss = (1 - line.get<Real>("confidence").value) / static_cast<double>(attacks.size());
  Table table({"solver", "canary", "attack", "trials", "epsilon, delta", "certified", "epsilon at least", "verdict"});
  std::string refuted;
  std::set<std::string> reaches;
  for (const Attack& attack : attacks) {
    const std::string& solver = attack.record.model.solver;
    const std::string name = model_text(name_of(attack.record), solver);
    const AuditResult result = run_attack(line, attack, 1 - miss, budget);
    const Evidence& evidence = result.evidence;
    if (result.refuted())
      refuted += (refuted.empty() ? "" : "; ") + name + ", canary " + attack.canary.name + ": epsilon is at least " +
                 number_text(evidence.epsilon) + ", the certificates say " + number_text(result.epsilon);
    if (line.common().json) {
      write_json_line(line.out(), {{"solver", solver},
                                   {"name", name_of(attack.record)},
                                   {"canary", attack.canary.name},
                                   {"attack", result.attack},
                                   {"trials", line.get<Count>("trials").value},
                                   {"tests", evidence.trials},
                                   {"hits_unlearned", evidence.unlearned_hits},
                                   {"hits_retrained", evidence.retrained_hits},
                                   {"confidence", 1 - miss},
                                   {"certified", result.certified},
                                   {"claim", result.claim ? nlohmann::ordered_json(*result.claim) : nullptr},
                                   {"epsilon", result.epsilon},
                                   {"delta", result.delta},
                                   {"epsilon_lower_bound", evidence.epsilon},
                                   {"epsilon_provable", result.most},
                                   {"refuted", result.refuted()}});
      continue;
    }
    reaches.insert(reach_of(line.get<Count>("trials").value, result.most, 1 - miss));
    table.add_row({name, attack.canary.name, std::string(result.attack), count_text(line.get<Count>("trials").value),
                   number_text(result.epsilon) + ", " + number_text(result.delta), result.certified ? "yes" : "no",
                   number_text(evidence.epsilon), verdict_of(result)});
  }
  if (!line.common().json) {
    table.print(line.out());
    for (const std::string& reach : reaches) line.out() << reach << '\n';
  }
  if (!refuted.empty()) throw CheckError(line.positional(0) + ": " + refuted);
}

}  // namespace unweave
