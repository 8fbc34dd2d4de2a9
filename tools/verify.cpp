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

void print(const VerifyReport& report, std::ostream& out, bool as_json) {
  Figures figures;
  figures.json = {{"ok", report.ok()},
                  {"checked", report.checked()},
                  {"errors", nlohmann::ordered_json::array()},
                  {"remarks", report.remarks}};
  for (const Finding& finding : report.findings) figures.json["errors"].push_back(finding.text);
  figures.count("files", "files", report.files);
  figures.bytes("bytes", "bytes", report.bytes);
  figures.count("arcs", "arcs", report.arcs);
  figures.count("rows", "rows", report.rows);
  figures.count("counts", "reader counts", report.counts);
  figures.count("models", "models", report.models);
  if (!as_json) {
    for (const std::string& remark : report.remarks) out << "note: " << remark << '\n';
    for (const Finding& finding : report.findings)
      out << (finding.unreadable ? "damaged: " : "false: ") << finding.text << '\n';
  }
  figures.print(out, as_json);
  if (!as_json) out << (report.ok() ? "all checks hold\n" : "some checks do not hold\n");
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
  print(report, line.out(), line.common().json);
  if (report.ok()) return;
  const std::string summary = line.positional(0) + ": " + std::to_string(report.findings.size()) +
                              (report.findings.size() == 1 ? " error: " : " errors; the first: ") +
                              report.findings.front().text;
  if (report.unreadable()) throw DataError(summary);
  throw CheckError(summary);
}

}  // namespace unweave
