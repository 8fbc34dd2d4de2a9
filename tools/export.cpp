// tools/export.cpp - `unweave export`: embeddings and edges as NumPy files.
#include "algorithms/export.h"

#include <optional>
#include <string>

#include "engine/memory.h"
#include "storage/error.h"
#include "storage/input/label_reader.h"
#include "tools/commands.h"

namespace unweave {

void run_export(CommandLine& line) {
  line.describe("Writes embeddings, edges, labels or training nodes as NumPy files, in the ids of the imported data.",
                {"STORE"}, "unweave export demo/debian.store --embeddings z.npy");
  auto add = line.options().add_options();
  add("embeddings", po::value<std::string>()->value_name("F.npy"), "float32, one row a node");
  add("nodes", po::value<std::string>()->value_name("F"),
      "with --embeddings: ids (.npy or text) of the rows, in order");
  add("weights", po::value<RealList>()->value_name("W"),
      "with --embeddings: weights w_0,..,w_L instead of those of the store");
  add("edges", po::value<std::string>()->value_name("F.npy"), "int64 m x 2, each edge once, u < v");
  add("labels", po::value<std::string>()->value_name("F.npy"), "int64, one a node, -1 for none");
  add("train", po::value<std::string>()->value_name("F.npy"),
      "int64: ids of the training nodes that have a label, ascending");
  if (!line.parse()) return;
  if (!line.has("embeddings") && !line.has("edges") && !line.has("labels") && !line.has("train"))
    throw UsageError("nothing to export; give --embeddings, --edges, --labels or --train");
  for (const char* option : {"nodes", "weights"})
    if (line.has(option) && !line.has("embeddings"))
      throw UsageError(std::string("--") + option + " needs --embeddings");

  MemoryBudget budget(line.budget_bytes());
  const LiveStore store(line.positional(0), Access::read, budget);
  if (line.has("embeddings")) {
    std::vector<double> weights = store.embedding().spec().weights;
    if (line.has("weights")) weights = line.get<RealList>("weights").values;
    std::optional<std::vector<NodeId>> nodes;
    if (line.has("nodes")) nodes = read_node_ids({line.get<std::string>("nodes"), {}}, store.contents().num_nodes());
    export_embeddings(store, nodes, weights, line.get<std::string>("embeddings"));
  }
  if (line.has("edges")) export_edges(store, line.get<std::string>("edges"));
  if (line.has("labels")) export_labels(store, line.get<std::string>("labels"));
  if (line.has("train")) export_train(store, line.get<std::string>("train"));
}

}  // namespace unweave
