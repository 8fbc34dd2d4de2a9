// tools/commands/repair.cpp - `unweave repair`: what damaged files had, rebuilt where it can be,
// named where it cannot.
#include <algorithm>

#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "unweave/fields/maintenance.h"

namespace unweave {

void run_repair(CommandLine& line) {
  line.describe(
      "Says of each damaged file what is lost, and rebuilds what follows from others: sums and all else that\n"
      "`propagate` makes, from graph and features; the newest certificate from its model; a model of `exact` or\n"
      "`replay` whose release file is damaged, by training it again. Shards, order, features, labels, splits,\n"
      "changes, other models and older certificates are never rebuilt. Nothing that is whole is overwritten; interrupted, it is\n"
      "finished by calling it again. Exit code 2: something is lost.",
      {"STORE"}, "unweave repair demo/debian.store");
  line.options().add_options()(
      "cut-journal", po::bool_switch(),
      "give up the requests from the first damaged one on; without it a damaged journal stays as it is");
  if (!line.parse()) return;
  line.on_interrupt("nothing that was whole was overwritten; run `unweave repair " + shell_word(line.positional(0)) +
                    "` again to finish");
  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  const std::vector<RepairedFile> files = repair_store(line.positional(0), {line.get<bool>("cut-journal")}, resources);
  progress.finish();
  const auto lost = std::find_if(files.begin(), files.end(), [](const RepairedFile& one) { return one.lost; });
  if (line.common().json) {
    write_json_line(line.out(), {{"ok", lost == files.end()}, {"files", json_value(files)}});
  } else {
    for (const RepairedFile& one : files)
      line.out() << printable(one.file) << ": " << command_text(one.remedy) << " (" << command_text(one.damage)
                 << ")\n";
    if (files.empty()) line.out() << "nothing is damaged\n";
  }
  if (lost != files.end()) throw DataError(lost->file + ": " + lost->remedy);
}

}  // namespace unweave
