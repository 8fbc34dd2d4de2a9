// tools/commands/generate.cpp - `unweave generate`: synthetic stores.
#include <limits>
#include <optional>
#include <string>

#include "storage/io/error.h"
#include "tools/cli/build_report.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "unweave/fields/ingest.h"

namespace unweave {
namespace {

GraphModel model_option(const CommandLine& line) {
  if (!line.has("model")) throw UsageError("--model is missing: rmat, sbm or citation");
  const std::string name = line.get<std::string>("model");
  if (name == "rmat") return GraphModel::kRmat;
  if (name == "sbm") return GraphModel::kSbm;
  if (name == "citation") return GraphModel::kCitation;
  throw UsageError("--model " + name + ": there are rmat, sbm and citation");
}

std::uint64_t count_up_to(const CommandLine& line, const std::string& option, std::uint64_t most) {
  const std::uint64_t value = line.get<Count>(option).value;
  if (value > most) throw UsageError("--" + option + " " + std::to_string(value) + ": at most " + std::to_string(most));
  return value;
}

GenerateOptions generate_options(const CommandLine& line) {
  constexpr std::uint64_t kMostColumns = std::numeric_limits<std::uint32_t>::max() - 1;
  constexpr std::uint64_t kMostClasses = std::numeric_limits<std::int32_t>::max();
  const GraphModel model = model_option(line);
  const int scale = static_cast<int>(count_up_to(line, "scale", 31));
  std::optional<std::uint64_t> nodes;
  if (line.has("nodes")) nodes = line.get<Count>("nodes").value;
  if (line.given("scale") && nodes) throw UsageError("--scale and --nodes: give one of them");
  if (line.given("edge-factor") && line.has("edges")) throw UsageError("--edge-factor and --edges: give one of them");
  GenerateOptions options;
  if (model == GraphModel::kCitation) {
    // Scale and edge factor have defaults that are not this model's.
    if (line.given("scale")) nodes = std::uint64_t{1} << scale;
    options = citation_options(nodes);
    if (line.given("edge-factor")) options.edges.reset();
  } else {
    options.model = model;
    options.nodes = nodes;
  }
  options.scale = scale;
  options.edge_factor = line.get<Count>("edge-factor").value;
  if (line.has("edges")) options.edges = line.get<Count>("edges").value;
  options.features = static_cast<std::uint32_t>(count_up_to(line, "features", kMostColumns));
  options.feature_type = line.get<FeatureTypeName>("feature-type").value;
  if (model != GraphModel::kCitation || line.given("classes"))
    options.classes = static_cast<std::uint32_t>(count_up_to(line, "classes", kMostClasses));
  options.order = line.get<std::string>("order");
  options.seed = line.common().seed.value_or(options.seed);
  return options;
}

}  // namespace

void run_generate(CommandLine& line) {
  line.describe(
      "Builds a synthetic store in a new or empty folder: edges, features that carry the class, labels, and splits of\n"
      "60, 20 and 20 %. rmat: skewed degrees (Graph 500's parameters), 2^scale nodes, classes independent of edges.\n"
      "sbm: a stochastic block model, one block a class, 80 % of the edges inside a block.\n"
      "citation: papers that cite earlier ones, by default as many as in ogbn-papers100M (111,059,956 nodes,\n"
      "1,615,685,872 edges, 172 classes; with --nodes as many edges a node); 1.4 % are labelled, splits go by age.\n"
      "The same options and seed (default 1) give the same store.",
      {"STORE"}, "unweave generate demo/rmat.store --model rmat --scale 16 --features 64");
  auto add = line.options().add_options();
  const auto count = [](const char* name) { return po::value<Count>()->value_name(name); };
  line.set_choices("model", {"rmat", "sbm", "citation"});
  line.set_choices("feature-type", {"f32", "f16"});
  add("model", po::value<std::string>()->value_name("rmat|sbm|citation"), "(required) kind of graph");
  add("scale", count("S")->default_value({20}), "2^S nodes");
  add("edge-factor", count("K")->default_value({16}), "edges a node, before repeated ones and self loops are dropped");
  add("nodes", count("N"), "number of nodes in place of --scale, for sbm and citation");
  add("edges", count("M"), "number of edges drawn, in place of --edge-factor");
  add("features", count("F")->default_value({128}), "columns of features; 0 for none");
  add("feature-type", po::value<FeatureTypeName>()->value_name("f32|f16")->default_value({}),
      "bits of a value at rest; f16 halves X on disk: values rounded toward zero to 11 significant bits, which then are the features");
  line.set_choices("order", {"none", "degree", "bfs", "community"});
  add("order", po::value<std::string>()->value_name("ORDER")->default_value("none"),
      "order of nodes inside the store, as import has it: none, degree, bfs or community; the contents are the same");
  add("classes", count("C")->default_value({8}), "number of classes; 0 for no labels and no splits");
  if (!line.parse()) return;
  line.on_interrupt(interrupted_build(line.positional(0)));
  Measure measure;
  const GenerateOptions options = generate_options(line);
  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  const BuildReport report = generate_store(line.positional(0), options, resources);
  progress.finish();
  Figures figures{.json = json_fields(report), .table = build_table(report)};
  add_measure(figures, measure);
  figures.print(line.out(), line.common().json);
}

}  // namespace unweave
