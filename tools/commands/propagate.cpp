// tools/commands/propagate.cpp - `unweave propagate`: the initial embedding of a store.
#include <algorithm>
#include <charconv>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "tools/cli/measure.h"
#include "tools/cli/output.h"
#include "tools/cli/progress.h"
#include "tools/cli/report_json.h"
#include "tools/commands/commands.h"
#include "tools/commands/local_option.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/propagation_options.h"
#include "unweave/fields/store.h"
#include "unweave/ranks.h"

namespace unweave {

namespace {

/// A meter of the sums that begins with the first of them.
class SumMeter {
 public:
  explicit SumMeter(CommandLine& line) : line_(line) {}
  [[nodiscard]] PropagateMeter meter() {
    return [this](const PropagateProgress& progress) {
      if (!meter_) meter_.emplace(line_.error(), line_.shows_progress(), "propagate", progress.total, "rows");
      meter_->advance(progress.done - shown_);
      shown_ = progress.done;
    };
  }

 private:
  CommandLine& line_;
  std::optional<Progress> meter_;
  std::uint64_t shown_ = 0;
};

std::uint64_t whole_number(const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw UsageError("--tile takes i/N, such as 0/8: the number of a job, from 0, and how many there are");
  return number;
}

TileChoice read_tile_choice(const CommandLine& line) {
  if (line.has("tile") && line.has("tiles")) throw UsageError("--tile and --tiles exclude each other");
  if (line.has("tiles")) return {std::nullopt, line.get<Count>("tiles").value};
  const auto& text = line.get<std::string>("tile");
  const std::size_t slash = std::min(text.find('/'), text.size());
  return {whole_number(text.substr(0, slash)), whole_number(text.substr(std::min(text.size(), slash + 1)))};
}

void note_dropped(const CommandLine& line, const std::vector<std::string>& tiles) {
  for (const std::string& tile : tiles) note_remark(line, tile);
}

std::string columns_text(const std::vector<TileColumns>& all) {
  std::string text;
  for (const TileColumns& some : all)
    text +=
        (text.empty() ? "" : ", ") + std::to_string(some.first) + " to " + std::to_string(some.first + some.count - 1);
  return text.empty() ? "none" : text;
}

/// Sums the columns of one job, or of several, and leaves the store as it is.
void run_tiles(CommandLine& line, Resources& resources) {
  for (const char* const option : {"assemble", "restart"})
    if (line.get<bool>(option))
      throw UsageError("--" + std::string(option) + " does not go with --tile and --tiles, which only add tiles");
  line.on_interrupt("the store is as before; tiles that are finished are kept: run the command again");
  const TileChoice choice = read_tile_choice(line);
  Measure measure;
  const Reader reader(line.positional(0), resources);
  const PropagationSpec spec = read_propagation_spec(line, reader.labelled_rows());
  TileReport report;
  {
    SumMeter meter(line);
    report = propagate_tiles(reader, spec, choice, meter.meter());
  }
  note_dropped(line, report.dropped);
  Figures figures{.json = json_fields(report), .table = Table({"tiles", ""})};
  figures.table.add_row({"columns summed", columns_text(report.columns)});
  figures.table.add_row({"jobs done", count_text(report.done)});
  figures.table.add_row({"jobs done before", count_text(report.there)});
  figures.table.add_row({"jobs that others are at", count_text(report.busy)});
  figures.table.add_row({"column tiles", count_text(report.tiles)});
  figures.table.add_row({"rows of each", count_text(report.rows)});
  figures.table.add_row({"columns without a tile", columns_text(report.missing)});
  figures.table.add_row({"sweep", seconds_text(report.sweep_seconds)});
  measure.report(figures.json);
  figures.table.add_row({"whole command", seconds_text(figures.json["seconds"].get<double>())});
  figures.table.add_row({"peak memory", bytes_text(figures.json["peak_anonymous_bytes"].get<std::uint64_t>())});
  figures.print(line.out(), line.common().json);
}

/// What the ranks of a job share: rows, or columns.
bool shares_rows(const CommandLine& line) {
  const auto& what = line.get<std::string>("share");
  if (what != "rows" && what != "columns") throw UsageError("--share: columns or rows, not '" + what + "'");
  return what == "rows";
}

/// Every rank but the first one: its columns, and nothing to say.
void run_part(CommandLine& line, Resources& resources) {
  Ranks::world().barrier();  // rank 0 has opened the store
  const Reader reader(line.positional(0), resources);
  note_dropped(line,
               follow_propagation(reader, read_propagation_spec(line, reader.labelled_rows()), shares_rows(line)));
  Figures().ranks();
}

}  // namespace

void run_propagate(CommandLine& line) {
  line.describe(
      "Computes the embedding anew from the store's present contents: Z = sum of w_l P^l X, l = 0 .. L, with\n"
      "P = D^-R A D^(R-1), R of --rho, A with a self loop at every node, which D counts, and X the features as\n"
      "import scaled them (algorithms/propagation/PROPAGATION.md). --keep state keeps the sums of all levels, which\n"
      "streams need; embedding and hops keep rows in their place.",
      {"STORE"}, "unweave propagate demo/debian.store --hops 2 --weights 0,0,1");
  add_propagation_options(line);
  line.options().add_options()("tile", po::value<std::string>()->value_name("i/N"),
                               "sum the columns of job i of N, 0 to N-1, and keep them as tiles in the store; several "
                               "jobs may run at a time, and each may be given again");
  line.options().add_options()("tiles", po::value<Count>()->value_name("N"),
                               "sum, one after the other, the jobs of N that nobody has done or is at");
  line.options().add_options()("assemble", po::bool_switch(), "join the tiles of all columns; sums nothing");
  line.options().add_options()(
      "restart", po::bool_switch(),
      "drop what is kept of propagations that were not finished; without it the command goes on from there");
  line.options().add_options()(
      "share", po::value<std::string>()->value_name("WHAT")->default_value("columns"),
      "what the ranks of a job share under mpirun: columns, which need no word of each other; or "
      "rows, each reading its part of the graph alone");
  line.set_choices("share", {"columns", "rows"});
  add_local_option(line);
  if (!line.parse()) return;
  Resources resources({line.common().memory_bytes});
  const Ranks& job = Ranks::world();
  if (job.alone() && line.given("share"))
    throw UsageError("--share is for the ranks of a job; start the program with mpirun");
  const std::unique_ptr<const LocalLists> lists = local_lists(line);
  if (line.has("tile") || line.has("tiles")) return run_tiles(line, resources);
  line.on_interrupt(
      "the store is whole, with its embedding of before or the new one; run the command again, which goes on from "
      "finished tiles, if there are any");
  const PropagateHow how{line.get<bool>("restart"), line.get<bool>("assemble"), shares_rows(line)};
  if (how.restart && how.assemble) throw UsageError("--restart and --assemble exclude each other");
  if (!job.first()) return run_part(line, resources);
  Measure measure;  // measures the propagation alone
  Writer writer(line.positional(0), resources);
  Ranks::world().barrier();
  const PropagationSpec spec = read_propagation_spec(line, writer.labelled_rows());
  note_remark(line, remark_on_propagation(writer, spec));
  note_remark(line, remark_on_lost_models(writer, spec));
  PropagateReport report;
  {
    SumMeter meter(line);
    report = writer.propagate(spec, meter.meter(), how);
  }
  note_dropped(line, report.dropped);
  const std::uint64_t without_row = writer.nodes() - report.targets;
  if (without_row > 0 && !line.has("rows"))
    line.note(counted(without_row, "node") + " without a label " + (without_row == 1 ? "gets" : "get") +
              " no row of the embedding, and so no prediction; --rows all gives every node one");
  Figures figures{.json = json_fields(report, spec, writer.nodes()), .table = Table({"propagated", ""})};
  figures.table.add_row({"hops", count_text(spec.levels)});
  figures.table.add_row({"rows", spec.all_rows          ? "all"
                                 : spec.kept.has_sums() ? "labelled, and what they read"
                                                        : "labelled"});
  figures.table.add_row({"keeps", std::string(keep_name(spec.kept.keep))});
  figures.table.add_row({"nodes without a row", count_text(without_row)});
  figures.table.add_row({"rows kept", count_text(report.rows)});
  figures.table.add_row({"column tiles", count_text(report.tiles)});
  figures.table.add_row({"sweep", seconds_text(report.sweep_seconds)});
  figures.table.add_row({"last sync", seconds_text(report.sync_seconds)});
  figures.table.add_row({"arc features a second", figures.json["arc_features_per_second"].is_null()
                                                      ? "not known: parts were there already"
                                                      : number_text(report.arc_features_per_second)});
  measure.report(figures.json);
  figures.ranks();
  figures.table.add_row({"whole command", seconds_text(figures.json["seconds"].get<double>())});
  figures.table.add_row({"peak memory", bytes_text(figures.json["peak_anonymous_bytes"].get<std::uint64_t>())});
  figures.print(line.out(), line.common().json);
}

}  // namespace unweave
