// tools/report/run_lines.cpp - what commands have printed with --json, line by line.
#include "tools/report/run_lines.h"

#include <utility>

#include "storage/input/bytes/byte_source.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"
#include "storage/io/json_text.h"

namespace unweave {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kRemedy =
    "give files as a command writes them with --json, one object a line; where a run was cut off, take its last line out";

[[noreturn]] void refuse_member(const RunLine& line, std::string_view name, const std::string& wanted) {
  throw InputError(line.file, "line " + std::to_string(line.number),
                   "the member " + std::string(name) + " is no " + wanted, kRemedy);
}

const Json* member(const RunLine& line, std::string_view name) {
  const auto at = line.fields.find(std::string(name));
  return at == line.fields.end() || at->is_null() ? nullptr : &*at;
}

/// Lines of a text, which may be longer than those of LineReader: a batch names every request that
/// it rejected.
class LongLines {
 public:
  explicit LongLines(const std::filesystem::path& path) : source_({path, {}}) {}

  /// The next line without its end; false at the end of the text. Throws InputError, DataError.
  bool next() {
    line_.clear();
    bool ended = false, any = false;
    while (!ended) {
      const std::string_view window = source_.peek(1);
      if (window.empty()) break;
      const std::size_t end = window.find('\n');
      ended = end != std::string_view::npos;
      line_ += window.substr(0, end);
      any = true;
      source_.consume(ended ? end + 1 : window.size());
      if (line_.size() > kMostBytes)
        throw InputError(name(), "line " + std::to_string(number_ + 1), "this line is longer than 64 MiB",
                         "stream in smaller batches, whose lines name fewer rejected requests");
    }
    if (any) ++number_;
    return any;
  }

  [[nodiscard]] const std::string& line() const noexcept { return line_; }
  [[nodiscard]] const std::filesystem::path& name() const noexcept { return source_.name(); }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  ByteSource source_;
  std::string line_;
  std::uint64_t number_ = 0;
};

/// Each kind of line has members that no other one has.
std::vector<RunLine>* place_of(RunLines& lines, const RunLine& line) {
  if (line.has("batch") && line.has("last_request")) return &lines.batches;
  if (line.has("canary") && line.has("trials")) return &lines.audits;
  if (line.has("metrics")) return &lines.evaluations;
  if (line.has("training_rows") && line.has("public_key")) return &lines.trainings;
  if (line.has("ok") && line.has("checked")) return &lines.verifications;
  if (line.has("purged") && !line.has("settled")) return &lines.purges;  // a line of `requests` has both
  return nullptr;
}

/// Moves the rejected requests of a batch to their counts.
void count_rejections(RunLine& line, std::map<std::string, std::uint64_t>& counts) {
  const Json* const rejections = member(line, "rejections");
  if (rejections == nullptr) return;
  if (!rejections->is_array()) refuse_member(line, "rejections", "list");
  for (const Json& one : *rejections) {
    if (!one.is_object()) refuse_member(line, "rejections", "list of objects");
    const RunLine rejection{line.file, line.number, one};
    ++counts[rejection.text("reason").value_or("no reason given")];
  }
  line.fields.erase("rejections");
}

}  // namespace

bool RunLine::has(std::string_view name) const {
  return fields.contains(std::string(name));
}

std::optional<std::uint64_t> RunLine::count(std::string_view name) const {
  const Json* const value = member(*this, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number_unsigned()) refuse_member(*this, name, "whole number");
  return value->get<std::uint64_t>();
}

std::optional<double> RunLine::real(std::string_view name) const {
  const Json* const value = member(*this, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_number()) refuse_member(*this, name, "number");
  return value->get<double>();
}

std::optional<bool> RunLine::flag(std::string_view name) const {
  const Json* const value = member(*this, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_boolean()) refuse_member(*this, name, "true or false");
  return value->get<bool>();
}

std::optional<std::string> RunLine::text(std::string_view name) const {
  const Json* const value = member(*this, name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) refuse_member(*this, name, "text");
  return value->get<std::string>();
}

std::vector<std::string> RunLine::texts(std::string_view name) const {
  const Json* const value = member(*this, name);
  std::vector<std::string> texts;
  if (value == nullptr) return texts;
  if (!value->is_array()) refuse_member(*this, name, "list of texts");
  for (const Json& one : *value) {
    if (!one.is_string()) refuse_member(*this, name, "list of texts");
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

RunLine RunLine::part(std::string_view name) const {
  const Json* const value = member(*this, name);
  if (value != nullptr && !value->is_object()) refuse_member(*this, name, "object");
  return {file, number, value != nullptr ? *value : Json::object()};
}

std::vector<RunLine> RunLine::parts(std::string_view name) const {
  const Json* const value = member(*this, name);
  std::vector<RunLine> parts;
  if (value == nullptr) return parts;
  if (!value->is_array()) refuse_member(*this, name, "list of objects");
  for (const Json& one : *value) {
    if (!one.is_object()) refuse_member(*this, name, "list of objects");
    parts.push_back({file, number, one});
  }
  return parts;
}

RunLine parse_run_line(const std::filesystem::path& file, std::uint64_t number, std::string_view line) {
  Json fields = parse_json_or_discard<Json>(line);
  if (!fields.is_object())
    throw InputError(file, "line " + std::to_string(number), "no JSON object: " + quote_for_message(line), kRemedy);
  return {file, number, std::move(fields)};
}

void RunLines::read(const std::filesystem::path& path, MemoryBudget& budget) {
  constexpr std::uint64_t kParsed = 12;  // What a byte of JSON takes, with its part of the page.
  constexpr std::uint64_t kAtOnce = std::uint64_t{1} << 20;
  LongLines reader(path);
  files.push_back(reader.name());
  std::uint64_t kept = 0;
  while (reader.next()) {
    const Reservation parsing = budget.reserve(kParsed * reader.line().size(), "a line of a run");
    if (reader.line().find_first_not_of(" \t\r") == std::string::npos) continue;
    RunLine line = parse_run_line(reader.name(), reader.number(), reader.line());
    count_rejections(line, rejections);
    std::vector<RunLine>* const place = place_of(*this, line);
    if (place == nullptr) {
      ++others;
      continue;
    }
    for (const char* unused : {"metrics", "terms"}) line.fields.erase(unused);  // lists that may be long
    if (const auto models = line.fields.find("models"); models != line.fields.end() && models->is_array())
      for (Json& model : *models)
        if (model.is_object()) model.erase("terms");
    place->push_back(std::move(line));
    kept += kParsed * reader.line().size();
    if (kept < kAtOnce) continue;
    memory_.push_back(budget.reserve(kept, "lines of runs"));
    kept = 0;
  }
  memory_.push_back(budget.reserve(kept, "lines of runs"));
}

}  // namespace unweave
