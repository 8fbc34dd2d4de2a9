// tools/commands/purge.cpp - `unweave purge`: what was removed leaves the disk.
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "tools/cli/measure.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "tools/commands/model_notes.h"
#include "tools/commands/model_output.h"
#include "unweave/fields/maintenance.h"

namespace unweave {
namespace {

std::string order_text(const PurgeReport& report, bool keep_order) {
  if (!report.has_order) return "by id";
  if (keep_order) return "kept, as public";
  return report.order_changed ? "computed anew, another one" : "computed anew, the same";
}

/// On standard error: what became of the models of `exact`, where it is not the usual.
void note_models(const CommandLine& line, const PurgeReport& report) {
  for (const ModelFault& lost : report.lost_models)
    line.note("the model " + lost.name +
              " could not be brought up to date and was removed: " + command_text(lost.text));
  for (const ModelFault& kept : report.uncertified_models)
    line.note("the model " + kept.name + " stays and has no certificate yet; run `unweave stream " +
              shell_word(line.positional(0)) + " --requests /dev/null --name " + kept.name +
              " [--key FILE]`: " + command_text(kept.text));
}

/// On standard error: what is another than before, although nobody has asked for it.
void note_changes(const CommandLine& line, const PurgeReport& report) {
  if (line.common().quiet) return;
  for (const NewLambda& one : report.new_lambdas)
    line.error() << "note: the model " << one.name << " was trained anew with lambda " << number_text(one.after)
                 << ", the default of the purged store; it had " << number_text(one.before) << '\n';
  if (report.times_left > 0)
    line.error()
        << "note: " << report.times_left
        << " files and folders keep the times of their last change, which say where something was removed: they "
           "belong to another user; let their owner call `unweave purge "
        << line.positional(0) << " --always`, or give away a copy alone\n";
}

void print(const CommandLine& line, const PurgeReport& report, bool keep_order, Measure& measure) {
  const std::string& store = line.positional(0);
  if (report.nothing) {
    if (line.common().json) return write_json_line(line.out(), json_fields(report, keep_order));
    if (report.certified_models.empty())
      line.out()
          << "nothing to forget: no request was made since the import or the last purge; the store stays as it is\n";
    for (const std::string& name : report.certified_models)
      line.out() << "nothing to forget but for the certificate of " << name << ", which an earlier purge had kept\n";
    return;
  }
  const std::string next = "unweave verify " + shell_word(store) + (report.propagated ? " --rebuild" : "");
  Figures figures{.json = json_fields(report, keep_order), .table = Table({"purged", ""})};
  Table& table = figures.table;
  table.add_row({"requests forgotten", count_text(report.requests)});
  if (report.nodes_added > 0) table.add_row({"nodes added", count_text(report.nodes_added)});
  if (report.stale_rows > 0) table.add_row({"stale rows published first", count_text(report.stale_rows)});
  table.add_row({"bytes rewritten", bytes_text(report.bytes_written)});
  table.add_row({"bytes kept", bytes_text(report.bytes_kept)});
  table.add_row({"bytes removed", bytes_text(report.bytes_removed)});
  std::string names;
  for (const std::string& name : report.kept_models) names += (names.empty() ? "" : ", ") + name;
  if (!names.empty()) table.add_row({"models kept", names});
  table.add_row({"order of nodes", order_text(report, keep_order)});
  figures.json["next"] = next;
  measure.report(figures.json);
  figures.table.add_row({"time", seconds_text(figures.json["seconds"].get<double>())});
  figures.table.add_row({"peak memory", bytes_text(figures.json["peak_anonymous_bytes"].get<std::uint64_t>())});
  figures.print(line.out(), line.common().json);
  if (line.common().json) return;
  line.out() << "digest " << digest_text(report.digest) << '\n';
  if (report.has_order && keep_order)
    line.out()
        << "note: the order of the nodes comes from a graph that had more edges; the digest alone is that of a fresh import\n";
  if (!report.order_reason.empty()) line.out() << "note: " << report.order_reason << '\n';
  if (report.standardized)
    line.out() << "note: features keep the constants of their columns, which removed rows took part in\n";
  line.out() << "next: " << printable(next) << '\n';
}

}  // namespace

void run_purge(CommandLine& line) {
  line.describe(
      "Erases what requests have removed: writes the store that an import and a propagation of the remaining data with\n"
      "the same options would have made, compares the content digests, replaces one by the other and removes the rest:\n"
      "journal, models, private parts of certificates, requests and their number. Models of `exact` and `replay` are\n"
      "brought up to date first and stay, since a fresh training would give the same bytes; others have to be trained\n"
      "again. Files that would come out the same stay, and signed public lines of certificates. Needs the disk of the\n"
      "new files beside the old ones; where they take more than 1 GiB, and the order of the nodes stays, that of 1 GiB and\n"
      "the largest file. Where nodes lie in an order (import --order) it is computed anew. Interrupted, it is finished by\n"
      "calling it again. Where no request was made since the import or the last purge it does nothing.\n"
      "It does not reach copies, backups, what was exported or printed, or what a disk keeps of removed files.",
      {"STORE"}, "unweave purge demo/debian.store");
  line.options().add_options()("keep-order", po::bool_switch(),
                               "the order of the nodes is public: keep it, though it comes from the graph as it was");
  line.options().add_options()("nodes", po::value<Count>()->value_name("N"),
                               "make room for new nodes, N of them in all, as `unweave grow` does alone");
  line.options().add_options()(
      "ids", po::value<std::string>()->value_name("F"),
      "with --nodes, of a store of names: names of the nodes that are new, the first one first, "
      "as import --ids takes them; those beyond the file have none");
  line.options().add_options()(
      "always", po::bool_switch(),
      "also where no request was made: private parts of certificates go, and models but for those of exact and replay");
  line.options().add_options()(
      "without-feeds", po::bool_switch(),
      "purge although readers of a feed of changes (stream --changes) have yet to take entries; the store forgets its feeds");
  add_key_option(line);
  if (!line.parse()) return;
  line.on_interrupt("what was removed may still be on the disk; run `unweave purge " + shell_word(line.positional(0)) +
                    "` with the same options again to finish");
  Measure measure;
  const bool keep_order = line.get<bool>("keep-order");
  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  const PurgeReport report =
      purge_store(line.positional(0),
                  {keep_order,
                   line.get<bool>("always"),
                   line.has("nodes") ? std::optional(line.get<Count>("nodes").value) : std::nullopt,
                   line.has("ids") ? std::optional(named_input(line.get<std::string>("ids"))) : std::nullopt,
                   line.get<bool>("without-feeds"),
                   key_file(line),
                   {},
                   [&](const std::vector<std::string>& names) { note_remark(line, remark_on_removed_models(names)); }},
                  resources);
  progress.finish();
  note_models(line, report);
  note_changes(line, report);
  print(line, report, keep_order, measure);
}

}  // namespace unweave
