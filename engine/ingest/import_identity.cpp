// engine/ingest/import_identity.cpp - looks at the input files of an import, and words what it was
// asked for.
#include "engine/ingest/import_identity.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include "storage/formats/level_files.h"
#include "storage/input/bytes/byte_source.h"
#include "storage/input/features/feature_reader.h"
#include "storage/io/message.h"
#include "storage/types/class_names.h"
#include "storage/types/feature_layout.h"
#include "storage/types/ids_are.h"

namespace unweave {
namespace {

/// Collects lines.
class Identity {
 public:
  void add(const std::string& key, const std::string& value) {
    text_.append(key).append(": ").append(value).append("\n");
  }
  void add(const std::string& key, std::uint64_t value) { add(key, std::to_string(value)); }
  void add(const std::string& key, const std::optional<std::uint64_t>& value) {
    add(key, value ? std::to_string(*value) : "not given");
  }
  void add_file(const std::string& key, const InputFile& file) {
    struct stat status {};
    static_cast<void>(::stat(file.path.c_str(), &status));  // whoever opens it says what is wrong
    std::error_code ignored;
    const std::filesystem::path path = std::filesystem::canonical(file.path, ignored);
    // The device is left out: ranks may see a shared file system under different numbers.
    constexpr std::array<const char*, 3> kHeaders{"", ", with a header", ", without a header"};
    add(key, path.string() + (file.member.empty() ? "" : "[" + file.member + "]") +
                 (file.columns.empty() ? "" : "[" + file.columns + "]") +
                 kHeaders[static_cast<std::size_t>(file.header)] + " of " + std::to_string(status.st_size) +
                 " bytes, changed at " + std::to_string(status.st_mtim.tv_sec) + " s " +
                 std::to_string(status.st_mtim.tv_nsec) + " ns, inode " + std::to_string(status.st_ino));
  }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

/// The input files, each with the option that names it.
std::vector<std::pair<std::string, const InputFile*>> named_files(const ImportOptions& options) {
  std::vector<std::pair<std::string, const InputFile*>> files;
  const auto add = [&](const char* option, const std::optional<InputFile>& file) {
    if (file) files.emplace_back(option, &*file);
  };
  add("edges", options.edges);
  for (const RelationEdges& relation : options.relations) {
    files.emplace_back("relation", &relation.file);
    add("edge-weights", relation.weights);
  }
  add("edge-weights", options.edge_weights);
  add("ids", options.ids);
  add("labels", options.labels);
  add("train", options.train);
  add("valid", options.valid);
  add("test", options.test);
  add("replay", options.replay);
  // What a data set of TUDataset says of graphs is in memory already.
  for (const auto& [name, file] :
       {std::pair("graphs", &options.graphs), std::pair("graph-labels", &options.graph_labels),
        std::pair("train of graphs", &options.graph_train), std::pair("valid of graphs", &options.graph_valid),
        std::pair("test of graphs", &options.graph_test)})
    if (*file && !(*file)->memory) add(name, *file);
  if (options.features)
    for (const InputFile* const file : feature_files(*options.features)) files.emplace_back("features", file);
  return files;
}

std::string divisor_text(const FeatureScale& scale) {
  if (scale.as_given) return "none";
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), scale.divisor).ptr};
}

}  // namespace

std::vector<const InputFile*> files_of(const ImportOptions& options) {
  std::vector<const InputFile*> files;
  for (const auto& [option, file] : named_files(options)) files.push_back(file);
  return files;
}

bool is_pipe(const InputFile& file) {
  std::error_code error;
  if (file.memory) return false;
  if (file.path == "-") return true;
  return std::filesystem::exists(file.path, error) && !std::filesystem::is_regular_file(file.path, error) &&
         !std::filesystem::is_directory(file.path, error);  // parts of a table, which can be read again
}

bool reads_a_pipe(const ImportOptions& options) {
  const std::vector<const InputFile*> files = files_of(options);
  return std::any_of(files.begin(), files.end(), [](const InputFile* file) {
    std::error_code error;
    const bool is_table = file->memory == nullptr && std::filesystem::is_directory(file->path, error);
    if (is_table) static_cast<void>(ByteSource(*file));  // or says what is wrong
    return file->memory != nullptr || is_table || is_pipe(*file);
  });
}

std::string import_identity(const ImportOptions& options) {
  Identity identity;
  identity.add("format", std::uint64_t{kManifestVersion});
  for (const auto& [option, file] : named_files(options)) identity.add_file(option, *file);
  if (options.features)
    if (const auto* const csr = std::get_if<CsrInput>(&*options.features)) identity.add("columns", csr->columns);
  identity.add("nodes", options.nodes);
  identity.add("ids-are", std::string(options.ids_are ? text_of(*options.ids_are) : "not given"));
  identity.add("classes", options.classes);
  if (!options.class_names.empty()) identity.add("names of classes", class_list(options.class_names));
  identity.add("order", options.order);
  identity.add("standardize", options.standardize ? "yes" : "no");
  identity.add("feature-type", std::string(feature_type_name(options.feature_type)));
  identity.add("scale", divisor_text(options.scale));
  identity.add("max-weight", std::uint64_t{options.max_weight});
  if (options.weight_unit) {
    identity.add("weights", unit_text(options.weight_unit->exponent));
    identity.add("self-weight", std::uint64_t{options.weight_unit->self});
  }
  identity.add("ignore-weights", options.ignore_weights ? "yes" : "no");
  for (const NodeType& type : options.types) identity.add("type " + type.name, type.nodes);
  identity.add("directed", options.layers.directed ? "yes" : "no");
  for (const Relation& relation : options.layers.relations)
    identity.add(
        "relation " + relation.name,
        relation.ends ? std::to_string(relation.ends->u) + ":" + std::to_string(relation.ends->v) : "any ends");
  for (const std::vector<std::uint32_t>& subset : options.layers.subsets) {
    std::string members;
    for (const std::uint32_t relation : subset) members += std::to_string(relation) + ",";
    identity.add("subset", members);
  }
  identity.add("pairs", options.pairs ? text_of(*options.pairs) : "none");
  identity.add("edges in two rows", options.two_row_edges ? "yes" : "no");
  identity.add("empty labels", options.empty_label == EmptyLine::kUnlabelled ? "none" : "mistakes");
  if (options.stated_nodes) identity.add("stated nodes", options.stated_nodes->count);
  if (options.stated_edges) identity.add("stated edges", options.stated_edges->count);
  return identity.take();
}

}  // namespace unweave
