// algorithms/live/model_text.cpp - puts the history of a model and the rest of its text together,
// and apart.
#include "algorithms/live/model_text.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "algorithms/random/hash.h"
#include "engine/generations/store_purge.h"
#include "storage/io/entry.h"
#include "storage/io/hex.h"
#include "storage/io/store_folders.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// Forms of the text, beside kModelText; the first one did not say which it is.
constexpr int kCanonicalText = 3;  // without history
constexpr int kReleaseText = 1;    // form of the release file

/// Members of the text that depend on more than data and constants.
constexpr const char* kHistory[] = {"sequence",    "releases",       "certificate", "private_part",
                                    "release_key", "receipt_secret", "requests",    "receipts_file"};
/// And those of its options: how they were chosen.
constexpr const char* kChoices[] = {"lambda_chosen", "weights_chosen"};

int form_of_text(const Json& json) {
  const int text = json.value("text", 0);
  if (text != kModelText && text != kCanonicalText)
    throw std::runtime_error("its text is of a form that this program does not know");
  return text;
}

/// Tells one file of a canonical model from another.
std::string hash_of(const ModelFile& file) {
  Hash hash = unweave::hash_of(file.text);
  for (const std::vector<double>& array : file.arrays)
    hash = unweave::hash_of({reinterpret_cast<const char*>(array.data()), array.size() * sizeof(double)}, hash);
  return to_hex(hash);
}

/// Takes the history of a model out of its text.
Json take_history(Json& text) {
  Json history = Json::object();
  for (const char* name : kHistory)
    if (text.contains(name)) {
      history[name] = std::move(text[name]);
      text.erase(name);
    }
  Json& options = text["options"];
  for (const char* choice : kChoices) {
    if (!options.contains(choice)) continue;
    history[choice] = std::move(options[choice]);
    options.erase(choice);
  }
  return history;
}

/// What the release file says of this file of a model; nothing where it speaks of others, or is not
/// there.
std::optional<Json> history_of(const ModelFile& file, const fs::path& release) {
  if (!has_entry(release)) return std::nullopt;
  return take_apart(release, [&]() -> std::optional<Json> {
    Json said = parse_json(read_model_file(release).text);
    if (said.at("release").get<int>() != kReleaseText)
      throw std::runtime_error("its text is of a form that this program does not know");
    const std::string hash = hash_of(file);
    Json before = said.value("before", Json());
    said.erase("before");
    if (said.at("model") == hash) return said;
    if (!before.is_null() && before.at("model") == hash) return before;
    return std::nullopt;
  });
}

/// The text of a canonical model with its history. Without one it has absorbed nothing, and a
/// writer certifies it anew.
Json with_history(Json text, const std::optional<Json>& history) {
  const Json nothing = {{"sequence", 0U},    {"releases", 0U},       {"certificate", ""},        {"private_part", ""},
                        {"release_key", ""}, {"receipt_secret", ""}, {"requests", Json::array()}};
  const Json& from = history ? *history : nothing;
  for (const char* name : kHistory)
    if (from.contains(name)) text[name] = from[name];
  for (const char* choice : kChoices)
    if (from.contains(choice)) text["options"][choice] = from[choice];
  return text;
}

}  // namespace

bool is_model_name(std::string_view name) noexcept {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kMostNameCharacters && name.front() != '-' &&
         std::all_of(name.begin(), name.end(), fits);
}

ModelText read_model_text(const fs::path& model, const fs::path& release) {
  ModelText read{{}, read_model_file(model)};
  return take_apart(model, [&] {
    for (;;) {
      read.text = parse_json(read.file.text);
      if (form_of_text(read.text) != kCanonicalText) return read;
      const std::optional<Json> history = history_of(read.file, release);
      ModelFile now = history ? read.file : read_model_file(model);
      if (hash_of(now) == hash_of(read.file)) {
        read.text = with_history(std::move(read.text), history);
        return read;
      }
      read.file = std::move(now);  // a writer has released twice in between
    }
  });
}

void write_canonical_text(const fs::path& model, const fs::path& release, ModelText written) {
  written.text["text"] = kCanonicalText;
  Json history = {{"release", kReleaseText}};
  history.update(take_history(written.text));
  ModelFile& file = written.file;
  file.text = text_of_json(written.text);
  const std::string hash = hash_of(file);
  history["model"] = hash;
  bool is_there = false;
  try {
    if (has_entry(model)) {
      const ModelFile present = read_model_file(model);
      is_there = hash_of(present) == hash;
      if (std::optional<Json> before = is_there ? std::nullopt : history_of(present, release)) {
        // Its receipts are durable by now.
        for (const char* done : {"receipt_secret", "receipts_file", "requests"}) before->erase(done);
        before->update({{"receipt_secret", ""}, {"requests", Json::array()}});
        history["before"] = std::move(*before);
      }
    }
  } catch (const DataError&) {  // nobody can read it any more
  }
  write_model_file(release, {text_of_json(history), {}});
  if (!is_there) write_model_file(model, file);
}

std::vector<AbsorbedRequest> absorbed_requests(const fs::path& store) {
  std::vector<AbsorbedRequest> absorbed;
  if (purge_state(store) == PurgeState::decided) return absorbed;
  for (const Entry& entry : list_folder(store / kModelsFolder)) {
    const std::string name = entry.path.stem().string();
    if (entry.path.extension() != kModelExtension || !is_model_name(name)) continue;
    const fs::path release = store / kCertificatesFolder / (name + kReleaseExtension);
    try {
      const Json text = read_model_text(entry.path, release).text;
      take_apart(entry.path, [&] {
        if (text.value("name", text.at("solver").get<std::string>()) == name)
          absorbed.push_back({name, whole_number<std::uint64_t>(text.at("sequence"))});
      });
    } catch (const FormatError&) {  // nobody can read it
    } catch (const DataError&) {
      if (has_entry(entry.path)) throw;  // else a purge has removed it since
    }
  }
  return absorbed;
}

AbsorbedRequest furthest_absorbed(const fs::path& store) {
  AbsorbedRequest furthest;
  for (AbsorbedRequest& one : absorbed_requests(store))
    if (one.sequence > furthest.sequence) furthest = std::move(one);
  return furthest;
}

}  // namespace unweave
