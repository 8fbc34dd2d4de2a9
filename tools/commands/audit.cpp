// tools/commands/audit.cpp - `unweave audit`: a lower bound of epsilon by attack, beside what
// certificates claim.
#include "unweave/fields/audit.h"

#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "storage/input/request_reader.h"
#include "storage/io/error.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_choice.h"
#include "tools/commands/model_output.h"

namespace unweave {
namespace {

/// `room`: what the requests of --requests take of the budget.
AttackOptions attack_options(const CommandLine& line, Resources& resources, Reservation& room) {
  AttackOptions options;
  options.canary = line.get<std::string>("canary");
  if (line.has("requests")) {
    options.requests.emplace();
    const Reader store(line.positional(0), resources);
    RequestReader reader(line.get<std::string>("requests"), request_words(store));
    std::uint64_t text = 0;
    for (Request request; reader.next(request); options.requests->push_back(request)) {
      text += text_bytes({&request, 1});
      const std::uint64_t bytes =
          3 * (options.requests->size() + 1) * sizeof(Request) + text;  // old and new while it grows
      if (bytes <= room.bytes()) continue;
      room.release();
      room = resources.memory().reserve(2 * bytes, "requests of the audit");
    }
  }
  options.trials = line.get<Count>("trials").value;
  options.rows = line.get<Count>("rows").value;
  if (line.has("one-run")) {
    options.one_run = line.get<Count>("one-run").value;
    if (options.one_run == 0) throw UsageError("--one-run needs at least one canary");
  }
  options.seed = line.common().seed;
  return options;
}

std::string verdict_of(const AuditResult& result) {
  if (result.refuted()) return "the claim is refuted";
  if (result.certified) return "the claim stands";
  if (result.claim && result.evidence.epsilon > result.epsilon) return "above epsilon; nothing is certified";
  return "nothing is certified";
}

/// What a bound near 0 may mean.
std::string reach_of(const CoinGuesses& guesses, double most, double confidence) {
  return count_text(guesses.right) + " of " + count_text(guesses.made) + " guesses were right. With so many epsilon " +
         number_text(most) + " is the most that could have been shown, at confidence " + number_text(confidence) + ".";
}

std::string reach_of(std::uint64_t trials, double most, double confidence) {
  if (std::isinf(most)) {
    const double share = 1 - std::pow(1 - confidence, 1 / static_cast<double>(trials));
    return count_text(trials) +
           " releases were compared with training from nothing, bit by bit: differences in more than " +
           number_text(share) + " of all would have been seen, at confidence " + number_text(confidence) + ".";
  }
  return "With " + count_text(trials) + " trials of each kind epsilon " + number_text(most) +
         " is the most that could have been shown, at confidence " + number_text(confidence) + ".";
}

void check_options(const CommandLine& line) {
  const double confidence = line.get<Real>("confidence").value;
  if (!(confidence > 0 && confidence < 1)) throw UsageError("--confidence must lie strictly between 0 and 1");
  for (const char* option : {"canary", "trials"})
    if (line.has("one-run") && line.given(option))
      throw UsageError("--one-run takes no --" + std::string(option) + ": it chooses many canaries, and trains once");
}

}  // namespace

void run_audit(CommandLine& line) {
  line.describe(
      "Tries to tell models that unlearned a canary from models that never saw it, by many releases of both, and\n"
      "prints a lower bound of epsilon beside the claim. Changes nothing in the store. Exit code 4: a certified claim is\n"
      "refuted. A claim that stands is not proved by that.",
      {"STORE"}, "unweave audit demo/debian.store --solver newton --canary gradient");
  add_model_choice(line, "this model alone, of those trained");
  auto add = line.options().add_options();
  line.set_choices("canary", {"hub", "bridge", "gradient", "planted", "all"});
  add("canary", po::value<std::string>()->value_name("K")->default_value("all"),
      "hub: the node with the most edges, or the largest graph; bridge: an edge that a training row hangs on; gradient: "
      "the training node, graph or edge with the largest gradient; planted, of graphs and pairs: a graph of a wrong class, "
      "or an edge, that is learnt and removed; or all, one after the other");
  add("requests", po::value<std::string>()->value_name("F"), "removals to be the canary instead, as for stream");
  add("one-run", po::value<Count>()->value_name("K"),
      "instead of many releases train once, unlearn K training nodes, graphs or edges together (those with the largest gradients, or those of "
      "--requests), and guess from that release by which of two labels each was learnt");
  add("trials", po::value<Count>()->value_name("T")->default_value({400}), "releases of each kind and canary");
  add("confidence", po::value<Real>()->value_name("C")->default_value({0.95}),
      "with which all bounds of this command hold together");
  add("rows", po::value<Count>()->value_name("N")->default_value({1000}),
      "training rows that take part: the canary's, those that it moves farthest, others evenly");
  if (!line.parse()) return;
  check_options(line);

  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  Reservation room;
  AttackOptions options = attack_options(line, resources, room);
  const std::vector<Attack> attacks = plan_attacks(line.positional(0), model_selection(line), options, resources);
  const double miss = (1 - line.get<Real>("confidence").value) / static_cast<double>(attacks.size());
  options.confidence = 1 - miss;
  Table table({"solver", "canary", "attack", "trials", "epsilon, delta", "certified", "epsilon at least", "verdict"});
  std::string refuted;
  std::set<std::string> reaches;
  for (const Attack& attack : attacks) {
    const std::string& solver = attack.model.solver();
    const std::string name = model_text(attack.model.name(), solver);
    const AuditResult result = run_attack(line.positional(0), attack, options, resources);
    progress.finish();
    const Evidence& evidence = result.evidence;
    if (result.refuted())
      refuted += (refuted.empty() ? "" : "; ") + name + ", canary " + attack.canary.name + ": epsilon is at least " +
                 number_text(evidence.epsilon) + ", the certificates say " + number_text(result.epsilon);
    const std::uint64_t trials = result.guesses ? 1 : line.get<Count>("trials").value;
    if (line.common().json) {
      write_json_line(line.out(), json_fields(attack, options, result));
      continue;
    }
    reaches.insert(result.guesses ? reach_of(*result.guesses, result.most, 1 - miss)
                                  : reach_of(trials, result.most, 1 - miss));
    table.add_row({name, attack.canary.name, std::string(result.attack), count_text(trials),
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
