// tools/commands/report.cpp - `unweave report`: what was asked, done and certified, as a page to be
// filed.
#include <filesystem>
#include <span>
#include <string>

#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "tools/cli/output.h"
#include "tools/commands/commands.h"
#include "tools/report/page.h"

namespace unweave {
namespace {

void check_files(const CommandLine& line, std::span<const std::string> runs) {
  const auto& out = line.get<std::string>("out");
  if (out == "-") throw UsageError("--out: name a file; it appears when the page is whole");
  if (std::filesystem::is_directory(line.positional(0))) line.require_outside("out", line.positional(0));
  for (const std::string& run : runs) {
    if (std::filesystem::is_directory(run))
      throw UsageError(run + " is a folder; one store may be named, before the files of lines");
    if (std::filesystem::weakly_canonical(run) == std::filesystem::weakly_canonical(out))
      throw UsageError("--out: " + out + " is read; name another file");
  }
}

void print_summary(const CommandLine& line, const ReportInput& input, std::uint64_t bytes) {
  const RunLines& lines = input.lines;
  const BatchTotals totals = totals_of(lines);
  const auto& out = line.get<std::string>("out");
  Figures figures;
  figures.add("out", "page", out, out);
  figures.bytes("bytes", "size", bytes);
  figures.count("files", "files of lines", lines.files.size());
  figures.count("batches", "batches", lines.batches.size());
  figures.count("batches_certified", "batches certified", totals.certified);
  figures.count("requests", "requests", totals.requests);
  figures.count("trainings", "trainings", lines.trainings.size());
  figures.count("evaluations", "evaluations", lines.evaluations.size());
  figures.count("audits", "audits", lines.audits.size());
  figures.count("verifications", "checks", lines.verifications.size());
  figures.count("purges", "purges", lines.purges.size());
  figures.count("other_lines", "lines of other commands", lines.others);
  if (input.store) {
    std::uint64_t certificates = 0;
    for (const CertificateLog& log : input.store->logs) certificates += log.certificates.size();
    figures.count("models", "models of the store", input.store->info.models.size());
    figures.count("certificates", "certificates", certificates);
  }
  figures.print(line.out(), line.common().json);
}

}  // namespace

void run_report(CommandLine& line) {
  line.describe(
      "Writes one HTML page to be filed: what was asked and done, under which theorem, accuracy and cost of every batch, "
      "unlearning against retraining, audits, checks, purges. It reads lines that stream, train, certify, evaluate, audit, "
      "verify and purge print with --json, in any mixture, and with a STORE also what it holds and its public certificates. "
      "The page refers to nothing outside of it, and has no requests in clear and nothing private of certificates.",
      {"STORE|RUN", "[RUN...]"},
      "unweave train demo/debian.store --solver newton --json > run.jsonl\n"
      "  unweave report run.jsonl --out report.html\n"
      "  unweave report demo/debian.store run.jsonl --out report.html");
  line.options().add_options()("out", po::value<std::string>()->value_name("F.html")->required(),
                               "(required) the page; what was there is replaced when it is whole");
  if (!line.parse()) return;
  line.on_interrupt("the store is as it was, and a file named is whole or as it was; run the command again");
  const bool has_store = std::filesystem::is_directory(line.positional(0));
  const std::span<const std::string> runs = line.positionals().subspan(has_store ? 1 : 0);
  check_files(line, runs);
  ReportInput input;
  Resources resources({line.common().memory_bytes});
  for (const std::string& run : runs) input.lines.read(run, resources.memory());
  if (has_store) {
    input.store = read_store_facts(line.positional(0), resources);
  }
  if (has_nothing(input))
    line.note(
        "there is nothing to report; stream, train, certify, evaluate, audit, verify and purge print lines for it with --json");
  const std::string page = report_page(input);
  replace_file(resolved_parent(line.get<std::string>("out")), page);
  print_summary(line, input, page.size());
}

}  // namespace unweave
