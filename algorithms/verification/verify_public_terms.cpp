// algorithms/verification/verify_public_terms.cpp - the theorem of a line, and its public numbers
// by the solver's own check.
#include "algorithms/verification/verify_public_terms.h"

#include <cmath>
#include <string>

#include "algorithms/registry/registry.h"
#include "algorithms/unlearning/checks/public_line.h"
#include "storage/io/error.h"

namespace unweave {

void check_public_terms(const nlohmann::ordered_json& json) {
  const PublicLine line(json);
  const auto solver = json.at("solver").get<std::string>(), theorem = json.at("theorem").get<std::string>();
  const SolverEntry* const entry = find_solver(solver);
  if (entry == nullptr || entry->theorem.empty() || entry->theorem != theorem)
    throw CheckError(theorem + " is not what certifies " + solver + " in public");
  if (entry->noisy ? !(line.options().epsilon > 0) : line.options().epsilon != 0)
    throw CheckError(entry->noisy ? "epsilon is not above 0" : "epsilon is not 0");
  if (line.constant("clip") != 1) throw CheckError("its rows are clipped to another norm than 1");
  if (const double rows = line.constant("training_rows"); !(rows >= 0 && rows == std::floor(rows)))
    throw CheckError("its training rows are no number of things");
  if (!(line.json().at("budget").get<double>() >= 0)) throw CheckError("its budget is below 0");
  if (!(line.reached() <= line.options().delta && line.options().delta < 1))
    throw CheckError("the delta reached is above its target");
  entry->check_line(line);
  line.require_composed();
}

}  // namespace unweave
