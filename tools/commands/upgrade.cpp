// tools/commands/upgrade.cpp - `unweave upgrade`: a store of an earlier release becomes one of
// this.
#include "storage/io/shell_word.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/commands/commands.h"
#include "unweave/fields/maintenance.h"

namespace unweave {

void run_upgrade(CommandLine& line) {
  line.describe(
      "Makes a store that an earlier release wrote one of this version, in place, with all that it holds. A store of\n"
      "this version stays as it is. A store of a later version is refused: use a newer unweave. Interrupted, it is\n"
      "finished by calling it again. There is no way back: keep a copy until you are sure.",
      {"STORE"}, "unweave upgrade demo/debian.store");
  if (!line.parse()) return;
  line.on_interrupt("the store is as it was, or partly upgraded; run `unweave upgrade " +
                    shell_word(line.positional(0)) + "` again to finish");
  Resources resources({line.common().memory_bytes});
  const UpgradeReport report = upgrade_store(line.positional(0), resources);
  if (line.common().json) return write_json_line(line.out(), json_fields(report));
  if (report.version == report.version_before)
    line.out() << "the store is of the present version, " << report.version << ", and needs nothing\n";
  else
    line.out() << "upgraded from version " << report.version_before << " to version " << report.version << '\n';
}

}  // namespace unweave
