// tools/commands/upgrade.cpp - `unweave upgrade`: a store of an older version of the formats, brought to the present one.
#include "storage/io/plain_text.h"
#include "storage/io/shell_word.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"
#include "unweave/maintenance.h"

namespace unweave {

void run_upgrade(CommandLine& line) {
  line.describe(
      "Brings a store that an older unweave wrote to the version of the formats that this one reads, in its place.\n"
      "Nothing is imported again, so that nothing that was removed comes back: graph, features, labels, sums and\n"
      "acknowledged requests stay as they are, bit for bit. Models are to be trained again. Interrupted, the store\n"
      "is of the one version or of the other. For stores that no upgrade reads the message says what to do.",
      {"STORE"}, "unweave upgrade demo/debian.store");
  if (!line.parse()) return;
  line.on_interrupt("the store is of the version that it had, or upgraded; run `unweave upgrade " +
                    shell_word(line.positional(0)) + "` again");
  const UpgradeReport report = upgrade_store(line.positional(0));
  const bool upgraded = report.from != report.to;
  const std::string next = "unweave verify " + shell_word(line.positional(0));
  if (line.common().json) {
    nlohmann::ordered_json json = {{"upgraded", upgraded},
                                   {"from", report.from},
                                   {"to", report.to},
                                   {"journal_requests", report.requests},
                                   {"train_again", report.had_models}};
    if (upgraded) json["next"] = next;
    write_json_line(line.out(), json);
    return;
  }
  if (line.common().quiet) return;
  if (!upgraded) {
    line.out() << "version " << report.to << " already\n";
    return;
  }
  line.out() << "version " << report.from << " is now version " << report.to << "; "
             << counted(report.requests, "request") << " of the journal written anew\n"
             << (report.had_models ? "models are of the older version: train them again\n" : "")
             << "next: " << printable(next) << '\n';
}

}  // namespace unweave
