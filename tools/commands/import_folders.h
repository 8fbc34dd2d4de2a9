// tools/commands/import_folders.h - folders of data sets as sources of an import.
#pragma once

#include "tools/cli/command.h"
#include "unweave/ingest.h"

namespace unweave {

/// Takes what the folder of `--ogb` holds. Throws UsageError for options beside it that say the
/// same, and what reading the folder throws.
void add_ogb_folder(const CommandLine& line, ImportOptions& options);
/// Takes the files of the data set that `--tu` names, as add_ogb_folder() does.
void add_tu_folder(const CommandLine& line, ImportOptions& options);
/// Says which parts a folder of OGB lacks: one that was fetched in part makes a store on which
/// nothing can be trained, which would be noticed later.
void note_missing_parts(const CommandLine& line, const ImportOptions& from);

}  // namespace unweave
