// tools/commands/grow.cpp - `unweave grow`: room for more nodes.
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "tools/cli/measure.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "unweave/fields/maintenance.h"

namespace unweave {
namespace {

void print_grown(const CommandLine& line, const GrowReport& report, Measure& measure) {
  Figures figures{.json = json_fields(report), .table = Table({"grown", ""})};
  figures.table.add_row({"nodes", count_text(report.nodes)});
  figures.table.add_row({"nodes added", count_text(report.nodes_added)});
  figures.table.add_row({"bytes rewritten", bytes_text(report.bytes_written)});
  figures.table.add_row({"bytes kept", bytes_text(report.bytes_kept)});
  measure.report(figures.json);
  figures.table.add_row({"time", seconds_text(figures.json["seconds"].get<double>())});
  figures.table.add_row({"peak memory", bytes_text(figures.json["peak_anonymous_bytes"].get<std::uint64_t>())});
  figures.print(line.out(), line.common().json);
  if (!line.common().json && report.nodes_added == 0)
    line.out() << "the store has so many nodes already, and stays as it is\n";
}

}  // namespace

void run_grow(CommandLine& line) {
  line.describe(
      "Makes room for new nodes: the store has N of them afterwards. Those that are new have nothing and wait for\n"
      "`insert-node`. What was computed stays, and so do models, requests and the order of the nodes, in which new ones\n"
      "come last. Files that whole spans of nodes have alone stay; lists of neighbours are copied, and what has a value\n"
      "for each node is written anew. Where no request was made the store then is, byte for byte, what an import with\n"
      "`--nodes N` and a propagation make, unless it has an order. It needs the disk of the new files beside the old\n"
      "ones. Interrupted, it leaves the store as it was.",
      {"STORE"}, "unweave grow demo/debian.store --nodes 65000");
  line.options().add_options()("nodes", po::value<Count>()->value_name("N")->required(),
                               "how many nodes the store has afterwards, no fewer than it has");
  line.options().add_options()("ids", po::value<std::string>()->value_name("F"),
                               "of a store of names: names of the nodes that are new, the first one first, as "
                               "import --ids takes them; those beyond the file have none");
  if (!line.parse()) return;
  Measure measure;
  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  const GrowReport report =
      grow_store(line.positional(0),
                 {line.get<Count>("nodes").value,
                  line.has("ids") ? std::optional(named_input(line.get<std::string>("ids"))) : std::nullopt},
                 resources);
  progress.finish();
  print_grown(line, report, measure);
}

}  // namespace unweave
