// tools/commands/solver_help.cpp - the help of each solver.
#include "tools/commands/solver_help.h"

#include <utility>
#include <vector>

#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/text_wrap.h"
#include "unweave/solvers.h"

namespace unweave {
std::string solver_help(std::string_view solver) {
  const SolverInfo info = solver_info(solver);
  const std::vector<Parameter>& parameters = info.parameters;
  const std::string name(solver);
  std::string text = "Solver " + name + "\n\n" + wrapped(command_text(info.meaning)) + "\n";
  text += !info.linear    ? "Networks alone (--head mlp).\n"
          : info.networks ? "Linear models, and networks (--head mlp).\n"
                          : "Linear models alone.\n";
  if (parameters.empty())
    return text + "\nIt has no parameters of its own: 'unweave train --help' lists all that it takes.\n";
  std::vector<std::pair<std::string, std::string>> entries;
  entries.reserve(parameters.size());
  for (const Parameter& own : parameters)
    entries.emplace_back(std::string(own.name) + (own.standard ? " (=" + number_text(*own.standard) + ")" : ""),
                         command_text(own.text));
  text += "\n" +
          wrapped(
              "Parameters, each given as --set NAME=VALUE; those without a default are chosen from numbers "
              "of rows, features and classes, and printed by train:") +
          "\n" + glossary(entries);
  const Parameter& first = parameters.front();
  return text + "\nExample:\n  unweave train STORE --solver " + name + " --set " + std::string(first.name) + "=" +
         (first.standard ? number_text(*first.standard) : "10") + "\n";
}

}  // namespace unweave
