// algorithms/verification/verify_export.cpp - weights that were given away, against the public line
// that came with them.
#include <algorithm>
#include <span>
#include <string_view>
#include <vector>

#include "algorithms/verification/verify_log.h"
#include "algorithms/verification/verify_public_words.h"
#include "storage/input/bytes/npy.h"
#include "storage/input/linear_model.h"
#include "storage/io/error.h"
#include "storage/io/file.h"
#include "storage/io/hex.h"
#include "storage/io/json_text.h"
#include "storage/io/line_log.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;
namespace fs = std::filesystem;

/// Two lines: the certificate, and the key.
struct Beside {
  std::string certificate, key;
};

Beside read_beside(const fs::path& file) {
  Beside beside;
  std::uint64_t lines = 0;
  static_cast<void>(read_lines(File::open_read(file), [&](std::string_view line, std::uint64_t number) {
    (number == 1 ? beside.certificate : beside.key) = line;
    lines = number;
  }));
  if (lines != 2)
    throw DataError(file.string() + ": it must hold two lines, the certificate of the weights and their key, as " +
                    operation("export STORE " + option("model", "F")) + " writes them beside F");
  return beside;
}

/// Feature by feature, the intercepts last, as certificates bind them, out of a file whose arrays
/// have names.
std::vector<double> read_named_weights(const fs::path& file, std::uint64_t features, std::uint64_t classes,
                                       bool intercept) {
  const std::uint64_t width = features - (intercept ? 1 : 0);
  const LinearModel read = read_linear_model(file, {classes, width});
  if (!intercept && std::any_of(read.intercepts.begin(), read.intercepts.end(), [](double x) { return x != 0; }))
    throw CheckError(file.string() + ": the certificate speaks of a model without intercepts, and it has some");
  std::vector<double> weights(features * classes);
  for (std::uint64_t c = 0; c < classes; ++c) {
    for (std::uint64_t j = 0; j < width; ++j) weights[j * classes + c] = read.coefficients[c * width + j];
    if (intercept && !read.intercepts.empty()) weights[width * classes + c] = read.intercepts[c];
  }
  return weights;
}

/// Throws DataError for an array that no model is exported as.
std::vector<double> read_weights(const fs::path& file, std::uint64_t features, std::uint64_t classes, bool network,
                                 MemoryBudget& memory) {
  NpyReader reader(InputFile{file, {}});
  const NpyHeader& header = reader.header();
  const bool fits = header.kind == 'f' && header.item_bytes == sizeof(double) && !header.fortran_order &&
                    (network ? header.shape.size() == 1 : header.shape == std::vector{features, classes});
  if (!fits)
    throw CheckError(file.string() + ": the certificate speaks of float64 weights, " +
                     (network ? std::string("one row") : std::to_string(features) + " x " + std::to_string(classes)) +
                     ", and these are " + header.shape_text());
  if (header.elements > File::open_read(file).size() / sizeof(double))  // before so much memory is taken
    throw DataError(file.string() + ": it ends before its last weight; restore the file from a copy");
  const Reservation room = memory.reserve(header.elements * sizeof(double), "weights of " + file.string());
  std::vector<double> weights(header.elements);
  reader.read(std::span<double>(weights));
  return weights;
}

/// Checks the weights, and says what their line does not show.
void check_export(const fs::path& file, const fs::path& lines, const std::optional<std::string>& public_key,
                  MemoryBudget& memory, VerifyReport& report) {
  const Beside beside = read_beside(lines);
  const Json line = parse_json_or_discard<Json>(beside.certificate), opening = parse_json_or_discard<Json>(beside.key);
  if (!line.is_object() || line.value("format", Json()) != Json(kCertificateFormat) || !is_sealed(beside.certificate))
    throw DataError(lines.string() +
                    ": line 1: this is no certificate, or it was altered; restore the file from a copy");
  const Json digits = opening.is_object() ? opening.value("key", Json()) : Json();
  const std::optional<Hash> key = digits.is_string() ? hash_from_hex(digits.get<std::string>()) : std::nullopt;
  if (!key || opening.value("format", Json()) != Json(kWeightsKeyFormat))
    throw DataError(lines.string() + ": line 2: this is no key of weights; restore the file from a copy");
  const auto malformed = [&] {
    throw DataError(lines.string() +
                    ": line 1: something is missing in the certificate or malformed; restore the file from a copy");
  };
  try {
    if (public_key && line.at("public_key") != *public_key)
      throw CheckError(lines.string() + ": line 1: it is signed by another key, whose public half is " +
                       line.at("public_key").get<std::string>());
    if (opening.at("certificate") != line.at("digest"))
      throw CheckError(lines.string() + ": line 2: it is the key of another certificate's weights");
    const CheckedLine checked = check_line(line);
    check_withdrawn(line, {});
    const Json& constants = line.at("constants");
    const auto features = whole_number<std::uint32_t>(constants.at("features").at("value")),
               classes = whole_number<std::uint32_t>(constants.at("classes").at("value"));
    constexpr std::uint64_t kCopies = 5;  // as arrays of names have them, by classes, and as they are bound
    const Reservation room = memory.reserve(kCopies * sizeof(double) * std::uint64_t{features} * classes,
                                            std::to_string(features) + " x " + std::to_string(classes) + " weights");
    const bool named = file.extension() == ".npz" || file.extension() == ".safetensors";
    const std::vector<double> weights =
        named ? read_named_weights(file, features, classes, constants.at("intercept").at("value").get<bool>())
              : read_weights(file, features, classes, constants.contains("hidden"), memory);
    const std::string_view bytes(reinterpret_cast<const char*>(weights.data()), weights.size() * sizeof(double));
    if (!line.contains("weights_digest"))
      throw DataError(lines.string() + ": line 1: an earlier program wrote it, and it binds no weights; export the " +
                      "model anew after its next release");
    if (to_hex(hash_of(bytes, *key)) != line.at("weights_digest").get<std::string>())
      throw CheckError(file.string() + ": these are not the weights that the certificate speaks of");
    add_unproved(lines, {checked}, public_key, line.at("public_key").get<std::string>(), report);
  } catch (const nlohmann::json::exception&) {
    malformed();
  } catch (const Error&) {
    throw;
  } catch (const std::runtime_error&) {  // thrown by whole_number()
    malformed();
  }
}

}  // namespace

VerifyReport verify_exported_model(const fs::path& weights, const std::optional<std::string>& public_key,
                                   MemoryBudget& memory) {
  VerifyReport report;
  const fs::path lines = fs::path(weights).replace_extension(".jsonl");
  try {
    for (const fs::path& file : {weights, lines}) {
      report.bytes += File::open_read(file).size();
      ++report.files;
    }
    check_export(weights, lines, public_key, memory, report);
    report.certificates = 1;
  } catch (const DataError& error) {
    report.findings.push_back({true, error.message(), weights.string()});
  } catch (const CheckError& error) {
    report.findings.push_back({false, error.message(), weights.string()});
  } catch (const UsageError& error) {  // public numbers that no release can have
    report.findings.push_back({false, lines.string() + ": line 1: " + error.message(), weights.string()});
  }
  return report;
}

}  // namespace unweave
