// algorithms/models/model_name.cpp - checks names of models and finds those that a user selects.
#include "algorithms/models/model_name.h"

#include <algorithm>
#include <set>
#include <system_error>

#include "algorithms/live/model_text.h"
#include "algorithms/registry/registry.h"
#include "storage/formats/manifest.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/entry.h"
#include "storage/io/error.h"
#include "storage/io/store_folders.h"
#include "storage/types/file_entry.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

bool is_solver(std::string_view name) {
  const std::vector<std::string_view> known = solver_names();
  return std::find(known.begin(), known.end(), name) != known.end();
}

[[noreturn]] void refuse_name(std::string_view name) {
  throw UsageError(quote_for_message(name) + " cannot be the name of a model; take up to " +
                   std::to_string(kMostNameCharacters) + " letters, digits, - and _, the first of them no -");
}

/// The model whose file this is: NAME.model, NAME.jsonl or NAME.private.jsonl; empty for other
/// files.
std::string named_by(const fs::path& file) {
  fs::path stem = file.stem();
  if (file.extension() == ".jsonl" && stem.extension() == ".private") stem = stem.stem();
  const bool fits = file.extension() == kModelExtension || file.extension() == ".jsonl";
  return fits && is_model_name(stem.string()) ? stem.string() : std::string();
}

}  // namespace

fs::path file_of_model(const fs::path& store, const char* folder, std::string_view name, const char* extension) {
  if (!is_model_name(name)) refuse_name(name);
  return store / folder / (std::string(name) + extension);
}

void require_model_name(std::string_view name, std::string_view solver) {
  if (name == solver) return;
  if (!is_model_name(name)) refuse_name(name);
  if (is_solver(name))
    throw UsageError("a model of " + std::string(solver) + " cannot be named " + std::string(name) +
                     ", which is another solver; choose another " + option("name"));
}

std::vector<std::string> model_names(const fs::path& store, const Manifest& manifest) {
  std::vector<std::string> names;
  for (const std::string_view solver : solver_names()) names.emplace_back(solver);
  std::set<std::string> others;
  const auto add = [&](const fs::path& file) {
    const std::string name = named_by(file);
    if (!name.empty() && !is_solver(name)) others.insert(name);
  };
  for (const char* folder : kReleaseFolders)
    for (const Entry& entry : list_folder(store / folder)) add(entry.path);
  for (const FileEntry& entry : manifest.releases) add(entry.path);
  names.insert(names.end(), others.begin(), others.end());
  return names;
}

std::string selecting(std::string_view name) {
  return option(is_solver(name) ? "solver" : "name", name);
}

std::string selecting(std::string_view solver, std::string_view name) {
  return option("solver", solver) + (name == solver ? std::string() : ' ' + option("name", name));
}

}  // namespace unweave
