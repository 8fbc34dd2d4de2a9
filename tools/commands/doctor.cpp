// tools/commands/doctor.cpp - `unweave doctor`: the machine, and a store, before work on them
// begins.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/io/error.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/text_wrap.h"
#include "tools/commands/commands.h"
#include "unweave/fields/diagnosis.h"

namespace unweave {
namespace {

void print_finding(const CommandLine& line, const Diagnosis& finding) {
  if (line.common().json) return write_json_line(line.out(), json_fields(finding));
  constexpr std::size_t kIndent = 9;
  const std::string verdict(verdict_name(finding.verdict));
  const std::string text = finding.name + ": " + command_text(finding.fact) +
                           (finding.remedy.empty() ? "" : "; " + command_text(finding.remedy));
  line.out() << verdict << std::string(kIndent - verdict.size(), ' ') << wrapped(text, kTextWidth, kIndent) << '\n';
}

}  // namespace

void run_doctor(CommandLine& line) {
  line.describe(
      "Says what this machine offers, what would hinder work in a folder, that of STORE or else the present one, and\n"
      "what STORE waits for. Each line begins with ok, note or problem; the last two end with a remedy. The rates of disk and\n"
      "memory, on which predictions rest, are measured once for each machine and disk, by a file without a name of 128 MiB at\n"
      "most, and kept in the folder that UNWEAVE_CACHE names, else in ~/.cache/unweave. Nothing in STORE is changed.\n"
      "Exit code 3: the machine has a problem; 2: the store has one.",
      {"[STORE]"}, "unweave doctor demo/debian.store");
  line.options().add_options()("measure-anew", po::bool_switch(), "measure these rates again, and keep them");
  if (!line.parse()) return;
  Resources resources({line.common().memory_bytes});
  const bool has_store = line.has_positional(0);
  std::vector<Diagnosis> findings = diagnose_machine(has_store ? std::filesystem::path(line.positional(0)) : ".",
                                                     resources, line.get<bool>("measure-anew"));
  if (has_store)
    for (Diagnosis& finding : diagnose_store(line.positional(0), resources)) findings.push_back(std::move(finding));
  for (const Diagnosis& finding : findings) print_finding(line, finding);
  const auto problem = std::find_if(findings.begin(), findings.end(),
                                    [](const Diagnosis& one) { return one.verdict == Verdict::problem; });
  if (problem == findings.end()) return;
  const std::string message = "doctor: " + problem->name + ": " + problem->fact + "; " + problem->remedy;
  if (problem->of_data) throw DataError(message);
  throw ResourceError(message);
}

}  // namespace unweave
