// tools/commands/import_kinds.h - kinds of nodes and of edges among the options of an import. Each
// function throws UsageError for what makes no sense.
#pragma once

#include "tools/cli/command.h"
#include "unweave/ingest.h"

namespace unweave {

/// Takes `--type NAME=N` for each kind of nodes, and which of them files speak of.
void add_types(const CommandLine& line, ImportOptions& options);
/// Takes `--relation NAME=F` for each kind of edges.
void add_relations(const CommandLine& line, ImportOptions& options);
/// Takes `--ends RELATION=TYPE,TYPE`, once types and relations are there.
void add_ends(const CommandLine& line, ImportOptions& options);
/// Takes `--edge-weights F`, or NAME=F for each relation, once these are there.
void add_edge_weights(const CommandLine& line, ImportOptions& options);
/// Takes `--subset A,B` for each set of relations, once these are there.
void add_subsets(const CommandLine& line, ImportOptions& options);

}  // namespace unweave
