// tools/commands/commands.cpp - the table of commands: a new one is a line here, a declaration in
// commands.h, and a file.
#include "tools/commands/commands.h"

#include <vector>

namespace unweave {

std::span<const Command> all_commands() {
  static const std::vector<Command> table = {
      {"import", "build a store from files of edges, features, labels and splits", run_import, true},
      {"generate", "build a synthetic store: R-MAT, stochastic blocks or citations", run_generate},
      {"info", "say what a store holds", run_info},
      {"plan", "estimate what a propagation takes, beside what there is", run_plan},
      {"propagate", "compute the embedding of every level anew", run_propagate, true},
      {"train", "learn a model on the training rows, to be unlearned from later", run_train, true},
      {"certify", "release or finish a model that another program made", run_certify},
      {"stream", "remove edges, nodes and features; insert and set others", run_stream, true},
      {"serve", "take requests by HTTP, acknowledge and then apply them", run_serve},
      {"requests", "what became of requests that have an id, and what is left to do", run_requests},
      {"evaluate", "accuracy of the models, and what they still show of removed rows", run_evaluate},
      {"predict", "say the class of nodes, by a model", run_predict},
      {"audit", "try to tell unlearned models from retrained ones", run_audit},
      {"verify", "check the files and the integers of a store", run_verify},
      {"repair", "rebuild what damaged files had, where it can be had again", run_repair},
      {"grow", "make room for more nodes", run_grow},
      {"purge", "erase what was removed, and prove it", run_purge},
      {"upgrade", "make a store of an earlier release one of this version", run_upgrade},
      {"report", "one HTML page to be filed: what was asked, done and certified", run_report},
      {"export", "write weights, embeddings, edges, labels, all; draw requests", run_export},
      {"doctor", "say what this machine offers, and what would hinder work", run_doctor},
  };
  return table;
}

}  // namespace unweave
