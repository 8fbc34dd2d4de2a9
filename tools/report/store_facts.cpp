// tools/report/store_facts.cpp - what a store says of itself, and the public lines of its certificates.
#include "tools/report/store_facts.h"

#include <algorithm>
#include <utility>

#include "storage/io/error.h"
#include "storage/io/line_log.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

/// NAME.private.jsonl holds what depends on removed data; its name ends like those of public logs.
bool is_public_log(const std::filesystem::path& file) {
  return file.extension() == ".jsonl" && file.stem().extension() != ".private";
}

CertificateLog read_certificate_log(const std::filesystem::path& file) {
  CertificateLog log{file.stem().string(), {}};
  read_lines(file, [&](std::string_view line, std::uint64_t number) {
    if (!line.starts_with(kPublicLine))
      throw FormatError(file, "line " + std::to_string(number), "this is no public line of a certificate");
    try {
      log.certificates.push_back(parse_run_line(file, number, line));
    } catch (const InputError& error) {
      throw FormatError(file, error.place, "this is no JSON object");
    }
  });
  return log;
}

}  // namespace

StoreFacts read_store_facts(const std::filesystem::path& store, Resources& resources) {
  StoreFacts facts;
  facts.info = describe_store(store, resources, true);
  facts.name = std::filesystem::weakly_canonical(store).filename().string();
  const std::filesystem::path folder = store / kCertificatesFolder;
  if (!std::filesystem::is_directory(folder)) return facts;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (!is_public_log(entry.path())) continue;
    CertificateLog log = read_certificate_log(entry.path());
    if (!log.certificates.empty()) facts.logs.push_back(std::move(log));
  }
  std::sort(facts.logs.begin(), facts.logs.end(), [](const auto& a, const auto& b) { return a.model < b.model; });
  return facts;
}

}  // namespace unweave
