// tests/fuzz/models.cpp - models with what their solvers keep in them, logs of certificates and
// receipts.
#include "algorithms/models/model_record.h"
#include "algorithms/models/receipts.h"
#include "algorithms/registry/registry.h"
#include "algorithms/solvers/hessian_free/hessian_free_state.h"
#include "algorithms/solvers/langevin/langevin_state.h"
#include "algorithms/solvers/rewind/rewind_state.h"
#include "algorithms/solvers/streaming/streaming_state.h"
#include "algorithms/verification/verify_checks.h"
#include "algorithms/verification/verify_log.h"
#include "fuzz/target.h"
#include "storage/formats/model_file.h"
#include "storage/io/checksum.h"
#include "storage/io/error.h"
#include "support/sealed_line.h"

namespace unweave::fuzz {
namespace {

namespace fs = std::filesystem;

/// An empty store's folders.
void clear() {
  for (const char* folder : {"models", "certificates"}) {
    fs::remove_all(scratch() / folder);
    fs::create_directories(scratch() / folder);
  }
}

/// The solver, lengths of the arrays, a zero byte after the text, then the arrays as far as bytes
/// go.
void model(std::string_view bytes) {
  clear();
  static constexpr std::string_view kSolvers[] = {"newton", "langevin", "rewind", "hessian-free", "streaming"};
  Taker taker(bytes);
  const std::string solver(kSolvers[taker.take<std::uint8_t>() % std::size(kSolvers)]);
  ModelFile file;
  file.arrays.resize(taker.take<std::uint8_t>() % 16);
  for (auto& array : file.arrays) array.resize(taker.take<std::uint16_t>() % 1024);
  const std::string_view rest = taker.rest();
  const std::size_t end = std::min(rest.find('\0'), rest.size());
  file.text = rest.substr(0, end);
  Taker values(rest.substr(std::min(end + 1, rest.size())));
  for (auto& array : file.arrays)
    for (double& value : array) value = values.take<double>();
  write_model_file(scratch() / "models" / (solver + ".model"), file);
  try {
    const ModelRecord record = load_model(scratch(), Manifest(), solver);
    require_options(solver, record.options);
    if (solver == "langevin") static_cast<void>(langevin_state(record.model));
    if (solver == "rewind") static_cast<void>(rewind_state(record.model));
    if (solver == "hessian-free") static_cast<void>(hessian_free_state(record.model));
    if (solver == "streaming") static_cast<void>(StreamingState(Network(shape_of(record.model)), record.model.state));
    save_model(scratch(), record);
    static_cast<void>(load_model(scratch(), Manifest(), solver));
  } catch (const UsageError&) {  // a Learner gives them the model's name
  }
}

/// Lines of a log, sealed where they are objects.
void certificates(std::string_view bytes) {
  clear();
  const SigningKey key = SigningKey::read(put_file("key", std::string(64, '7') + "\n"));
  std::string log;
  while (!bytes.empty()) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string line(bytes.substr(0, end));
    log += line.size() > 2 && line.front() == '{' && line.back() == '}' ? testing::sealed_line(line, key) : line;
    if (end < bytes.size()) log += '\n';
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
  }
  put_file("certificates/newton.jsonl", log);
  VerifyReport report;
  MemoryBudget budget(std::uint64_t{1} << 30);
  static_cast<void>(read_models(scratch(), Manifest(), VerifyOptions(), budget, report));
  if (!report.findings.empty()) throw DataError(report.findings.front().text);
}

/// A log, a zero byte, and receipts.
void receipts(std::string_view bytes) {
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  const fs::path log = put_file("log.jsonl", bytes.substr(0, end));
  const fs::path file = put_file("receipts.jsonl", bytes.substr(std::min(end + 1, bytes.size())));
  const VerifyReport report = verify_log(log, {}, file);
  const ReceiptFile opened(file);
  if (!report.findings.empty()) throw DataError(report.findings.front().text);
}

constexpr Target kTargets[] = {{"solver-state", model}, {"certificates", certificates}, {"receipts", receipts}};

}  // namespace

std::span<const Target> targets() {
  return kTargets;
}

}  // namespace unweave::fuzz
