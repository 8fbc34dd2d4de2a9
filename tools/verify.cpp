// tools/verify.cpp - `unweave verify`: is a store what it says it is?
#include "algorithms/verify.h"

#include <string>

#include "engine/memory.h"
#include "storage/error.h"
#include "tools/commands.h"
#include "tools/output.h"

namespace unweave {

/// A number of nodes, or all of them.
struct SampleSize {
  static constexpr const char* kWanted = "a whole number or 'all'";
  std::optional<std::uint64_t> nodes;  ///< nullopt: all

  static std::optional<SampleSize> read(std::string_view text) {
    if (text == "all") return SampleSize{};
    const std::optional<Count> count = Count::read(text);
    if (!count) return std::nullopt;
    return SampleSize{count->value};
  }
};

std::ostream& operator<<(std::ostream& out, const SampleSize& size) {
  if (size.nodes) return out << *size.nodes;
  return out << "all";
}

namespace {

void print_json(const VerifyReport& report, std::ostream& out) {
  nlohmann::ordered_json errors = nlohmann::ordered_json::array();
  for (const Finding& finding : report.findings) errors.push_back(finding.text);
  write_json_line(out, {{"ok", report.ok()},
                        {"checked", report.checked()},
                        {"errors", errors},
                        {"remarks", report.remarks},
                        {"files", report.files},
                        {"bytes", report.bytes},
                        {"arcs", report.arcs},
                        {"rows", report.rows},
                        {"counts", report.counts},
                        {"models", report.models}});
}

void print_text(const VerifyReport& report, std::ostream& out) {
  for (const std::string& remark : report.remarks) out << "note: " << remark << '\n';
  for (const Finding& finding : report.findings)
    out << (finding.unreadable ? "damaged: " : "false: ") << finding.text << '\n';
  Table table;
  table.add_row({"files", count_text(report.files)});
  table.add_row({"bytes", bytes_text(report.bytes)});
  table.add_row({"arcs", count_text(report.arcs)});
  table.add_row({"rows", count_text(report.rows)});
  table.add_row({"reader counts", count_text(report.counts)});
  table.add_row({"models", count_text(report.models)});
  table.print(out);
  out << (report.ok() ? "all checks hold\n" : "some checks do not hold\n");
}

}  // namespace

void run_verify(CommandLine& line) {
  line.describe(
      "Checks every file of a store against its checksums, that graph, splits, cone, sums and stale rows agree as "
      "exact\n"
      "integers, and that models up to date are what their certificates say: newton and retrain are minimised again.\n"
      "Writes nothing. Exit code 2: something is unreadable or damaged; 4: a statement is false.",
      {"STORE"}, "unweave verify demo/debian.store --sample all");
  auto add = line.options().add_options();
  add("sample", po::value<SampleSize>()->value_name("K")->default_value({1000}),
      "nodes a level whose sums are computed again, or 'all'");
  add("rebuild", po::bool_switch(), "compute all levels anew and compare; needs an embedding without stale rows");
  if (!line.parse()) return;
  VerifyOptions options;
  options.sample = line.get<SampleSize>("sample").nodes;
  options.rebuild = line.get<bool>("rebuild");
  options.seed = line.common().seed.value_or(options.seed);
  MemoryBudget budget(line.budget_bytes());
  const VerifyReport report = verify_store(line.positional(0), options, budget);
  if (line.common().json)
    print_json(report, line.out());
  else
    print_text(report, line.out());
  if (report.ok()) return;
  const std::string summary = line.positional(0) + ": " + std::to_string(report.findings.size()) +
                              (report.findings.size() == 1 ? " error: " : " errors; the first: ") +
                              report.findings.front().text;
  if (report.unreadable()) throw DataError(summary);
  throw CheckError(summary);
}

}  // namespace unweave
