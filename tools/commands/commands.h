// tools/commands/commands.h - the commands of this program; each is written in
// tools/commands/<name>.cpp.
#pragma once

#include <span>

#include "tools/cli/command.h"

namespace unweave {

/// In the order in which the help lists them.
[[nodiscard]] std::span<const Command> all_commands();

void run_audit(CommandLine& line);
void run_doctor(CommandLine& line);
void run_evaluate(CommandLine& line);
void run_export(CommandLine& line);
void run_generate(CommandLine& line);
void run_import(CommandLine& line);
void run_info(CommandLine& line);
void run_plan(CommandLine& line);
void run_predict(CommandLine& line);
void run_propagate(CommandLine& line);
void run_grow(CommandLine& line);
void run_purge(CommandLine& line);
void run_repair(CommandLine& line);
void run_report(CommandLine& line);
void run_stream(CommandLine& line);
void run_requests(CommandLine& line);
void run_serve(CommandLine& line);
void run_train(CommandLine& line);
void run_upgrade(CommandLine& line);
void run_certify(CommandLine& line);
void run_verify(CommandLine& line);

}  // namespace unweave
