// tools/commands/solver_help.cpp - the help of each solver.
#include "tools/commands/solver_help.h"

#include <utility>
#include <vector>

#include "algorithms/solvers/solver.h"
#include "storage/io/error.h"
#include "tools/cli/output.h"
#include "tools/cli/text_wrap.h"

namespace unweave {
namespace {

/// One a solver: how it learns and unlearns, and what it claims.
constexpr std::pair<std::string_view, std::string_view> kMeanings[] = {
    {"newton",
     "Trains by Newton's method until the gradient is as small as --tau says, adds noise, and after a removal goes on "
     "from where it was. Certified (theorem T1) for every kind of request, also for requests chosen after looking at "
     "earlier models. The one to begin with."},
    {"retrain",
     "Trains again from nothing after every batch, with the noise of newton. Certified (T1). What the others are "
     "compared with."},
    {"scalegun",
     "ScaleGUN as published: noise in the objective, one Newton step a batch, and training again when the bound on "
     "its error has used up the budget. Never certified: it is there to be compared with."},
    {"cgu", "Certified graph unlearning as published: as scalegun, with that paper's bounds. Never certified here."},
    {"ceu", "Certified edge unlearning as published: as scalegun, with that paper's step. Never certified here."},
    {"newton-step",
     "One Newton step towards the rows that are left. Certified (T1) only where it happens to end as near to the "
     "minimum as --tau says."},
    {"jackknife",
     "The infinitesimal jackknife: one Newton step with the Hessian of the rows as they were. Certified (T1) only "
     "where it happens to end as near to the minimum as --tau says."},
    {"langevin",
     "Stochastic gradient descent with noise in every step; after a removal as many epochs more as its account asks "
     "for. Certified (T2), as long as requests do not depend on earlier models. For few features."},
    {"langevin-full", "As langevin, with the gradient of all rows in every step."},
    {"descent-to-delete",
     "Gradient descent with the gradient of all rows, and noise on what is published. Certified (T1), after many "
     "cheap steps."},
    {"rewind",
     "Stochastic gradient descent that keeps iterates on the disk; a removal goes back to one of them and descends "
     "again. Certified (T4), also for requests chosen after looking at earlier models."},
    {"descend", "As rewind, but a removal goes on from the last iterate instead of going back."},
    {"hessian-free",
     "Makes, while it learns, a vector for every training row; removing the row adds its vector. Certified (T3) for "
     "one row, or one declared group of rows, since learning. The vectors take rows x weights x 2 bytes of disk."},
    {"streaming",
     "Forgets from statistics of the classes, without the removed rows. Nothing is claimed: it is there to be compared "
     "with."},
    {"finetune", "A few epochs over the rows that are left. Nothing is claimed: it is there to be compared with."},
    {"neggrad", "Gradient ascent on the rows that were removed. Nothing is claimed: it is there to be compared with."},
};

bool trains_networks(std::string_view solver) {
  SolverOptions network;
  network.head = Head::kSoftmax;
  network.hidden = {1};
  try {
    static_cast<void>(make_solver(solver, network));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

}  // namespace

std::string solver_help(std::string_view solver) {
  const std::span<const Parameter> parameters = solver_parameters(solver);
  const std::string name(solver);
  std::string text = "Solver " + name + "\n";
  for (const auto& [known, meaning] : kMeanings)
    if (known == solver) text += "\n" + wrapped(meaning) + "\n";
  text += trains_networks(solver) ? "Linear models, and networks (--head mlp).\n" : "Linear models alone.\n";
  if (parameters.empty())
    return text + "\nIt has no parameters of its own: 'unweave train --help' lists all that it takes.\n";
  std::vector<std::pair<std::string, std::string>> entries;
  for (const Parameter& own : parameters)
    entries.emplace_back(std::string(own.name) + (own.standard ? " (=" + number_text(*own.standard) + ")" : ""),
                         std::string(own.text));
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
