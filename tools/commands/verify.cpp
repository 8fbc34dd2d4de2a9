// tools/commands/verify.cpp - `unweave verify`: is a store what it says it is?
#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

#include "storage/io/error.h"
#include "tools/cli/message_style.h"
#include "tools/cli/output.h"
#include "tools/cli/report_json.h"
#include "tools/cli/step_progress.h"
#include "tools/commands/commands.h"
#include "unweave/fields/maintenance.h"

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

/// What is verified.
enum class Subject { store, log, model };

/// Findings that are printed; --json has all.
constexpr std::size_t kToldFindings = 20;

/// What an auditor who has public lines alone cannot learn from them.
std::string_view not_checked(Subject subject) {
  switch (subject) {
    case Subject::store:
      return "";
    case Subject::log:
      return "; weights and data were not checked, which takes the exported model, or the store";
    case Subject::model:
      return "; that training leads to these weights was not checked, which takes the store";
  }
  return "";
}

/// A table of what there is to check: nothing of a store where there is none.
Table table_of(const VerifyReport& report, Subject subject) {
  Table table;
  const auto count = [&](const char* label, std::uint64_t value) { table.add_row({label, count_text(value)}); };
  const auto count_some = [&](const char* label, std::uint64_t value) {
    if (value > 0) count(label, value);
  };
  count("files", report.files);
  table.add_row({"bytes", bytes_text(report.bytes)});
  count_some("parts of unfinished propagations", report.unfinished_parts);
  if (subject == Subject::store) {
    count("arcs", report.arcs);
    count("rows", report.rows);
  }
  count_some("rows proved together", report.proved);
  if (report.rebuilt > 0) {
    count("rows of a fresh propagation", report.rebuilt);
    count("column tiles of that propagation", report.rebuild_tiles);
    table.add_row({"memory of that propagation", bytes_text(report.rebuild_bytes)});
  }
  if (subject == Subject::store) {
    count("reader counts", report.counts);
    count("models", report.models);
  }
  count_some("models outdated, not checked", report.outdated);
  count_some("certified models that could not be computed again", report.uncompared);
  count("certificates", report.certificates);
  if (subject != Subject::model) count("receipts", report.receipts);
  if (report.receipts > 0) {
    count("receipts of applied requests", report.applied);
    count("receipts of rejected requests", report.rejected);
  }
  return table;
}

/// `keyed`: the caller has named the key.
void print(const VerifyReport& report, Subject subject, bool keyed, std::ostream& out, bool as_json) {
  if (as_json) return write_json_line(out, json_fields(report));
  for (const std::string& remark : report.remarks) out << "note: " << command_text(remark) << '\n';
  const std::size_t told = std::min(report.findings.size(), kToldFindings);
  for (std::size_t i = 0; i < told; ++i)
    out << (report.findings[i].unreadable ? "damaged: " : "false: ") << command_text(report.findings[i].text) << '\n';
  if (told < report.findings.size())
    out << "and " << count_text(report.findings.size() - told) << " more; --json names all of them\n";
  table_of(report, subject).print(out);
  out << (report.ok() ? "all checks hold" : "some checks do not hold");
  if (report.ok() && report.outdated > 0)
    out << "; outdated models were not checked: they may not have forgotten every request, or stand on another propagation";
  if (report.ok() && report.uncompared > 0)
    out << "; certified models that cannot be computed again were not compared with their rows";
  if (report.ok()) out << not_checked(subject);
  if (report.ok() && subject != Subject::store && !keyed)
    out << "; nor was whose key signed it, which takes --public-key: the file names its own";
  out << '\n';
}

std::optional<std::string> public_key(const CommandLine& line) {
  if (!line.has("public-key")) return std::nullopt;
  return line.get<std::string>("public-key");
}

VerifyReport verify_trail(const CommandLine& line) {
  for (const char* option : {"sample", "rebuild", "before"})
    if (line.given(option)) throw UsageError("--" + std::string(option) + " needs a store, not a log of certificates");
  if (line.has("receipts") && !std::filesystem::exists(line.get<std::string>("receipts")))
    throw UsageError("--receipts: there is no file " + line.get<std::string>("receipts"));
  return verify_certificates(line.positional(0), public_key(line),
                             line.has("receipts") ? line.get<std::string>("receipts") : "");
}

VerifyReport verify_weights(const CommandLine& line) {
  for (const char* option : {"sample", "rebuild", "before", "receipts"})
    if (line.given(option)) throw UsageError("--" + std::string(option) + " does not go with an exported model");
  Resources resources({line.common().memory_bytes});
  return verify_export(line.positional(0), public_key(line), resources);
}

VerifyReport verify_all(const CommandLine& line) {
  if (line.has("receipts"))
    throw UsageError("--receipts needs a log of certificates in the place of the store: certificates/NAME.jsonl");
  VerifyOptions options;
  options.sample = line.get<SampleSize>("sample").nodes;
  options.rebuild = line.get<bool>("rebuild");
  options.seed = line.common().seed.value_or(options.seed);
  options.public_key = public_key(line);
  if (line.has("before")) options.before = line.get<std::string>("before");
  StepProgress progress(line.error(), line.shows_progress());
  Resources resources({line.common().memory_bytes}, &progress);
  return verify_store(line.positional(0), options, resources);
}

/// Whether a file that is no folder is named as `export --model` names weights.
bool is_export(const std::filesystem::path& file) {
  const std::filesystem::path extension = file.extension();
  return extension == ".npy" || extension == ".npz" || extension == ".safetensors";
}

}  // namespace

void run_verify(CommandLine& line) {
  line.describe(
      "Checks every file of a store against its checksums, that graph, splits, receptive field and stale rows agree as\n"
      "exact integers, that every sum of every level is that of its terms, by one random combination of all, and that\n"
      "models up to date are what their certificates say: newton and retrain are minimised again.\n"
      "Given a LOG of public certificates, STORE/certificates/NAME.jsonl or a copy, in the place of the store it checks\n"
      "what an auditor can: that it is one chain, whole to its end and signed under one key, what follows from public\n"
      "numbers, and that its words are those of its theorems. Without --public-key the key is the one in the log itself,\n"
      "so that this says that the log agrees with itself and not whose it is.\n"
      "Given a MODEL of `export --model`, .npy, .npz or .safetensors, it checks that the certificate beside it speaks of these weights.\n"
      "Writes nothing. Exit code 2: something is unreadable or damaged; 4: a statement is false.",
      {"STORE|LOG|MODEL"}, "unweave verify demo/debian.store --sample all");
  auto add = line.options().add_options();
  add("sample", po::value<SampleSize>()->value_name("K")->default_value({1000}),
      "nodes whose arcs and readers are also looked at one by one, and sums where memory has no room for the proof of all, or 'all'");
  add("rebuild", po::bool_switch(), "compute all levels anew and compare; needs an embedding without stale rows");
  add("public-key", po::value<std::string>()->value_name("HEX"),
      "certificates must be signed under this key, which `train` prints; else under any one");
  add("before", po::value<std::string>()->value_name("COPY"),
      "a copy of the store from before removals: models of newton, retrain and descent-to-delete must not lean towards "
      "what was learnt there, nor repeat its noise");
  add("receipts", po::value<std::string>()->value_name("F"),
      "with a log of certificates: receipts of `stream --receipts`, each of which it must cover");
  if (!line.parse()) return;
  const std::filesystem::path what = line.positional(0);
  // A store may be called anything, a file with no store in it is an export or a log.
  const bool folder = std::filesystem::is_directory(what);
  const Subject subject = !folder && is_export(what)                          ? Subject::model
                          : !folder && std::filesystem::is_regular_file(what) ? Subject::log
                                                                              : Subject::store;
  if (std::error_code missing; subject == Subject::store && !std::filesystem::exists(what, missing) && !missing)
    throw DataError(what.string() + ": no such file or folder; name a store, or a log of certificates in its folder " +
                    "certificates");
  const VerifyReport report = subject == Subject::model ? verify_weights(line)
                              : subject == Subject::log ? verify_trail(line)
                                                        : verify_all(line);
  print(report, subject, line.has("public-key"), line.out(), line.common().json);
  if (report.ok()) return;
  const std::string summary = line.positional(0) + ": " + counted(report.findings.size(), "error") +
                              (report.findings.size() == 1 ? ": " : "; the first: ") + report.findings.front().text;
  if (report.unreadable()) throw DataError(summary);
  throw CheckError(summary);
}

}  // namespace unweave
