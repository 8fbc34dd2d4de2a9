// storage/input/tu_folder.cpp - finds the files of a data set of TUDataset, and counts what they
// speak of.
#include "storage/input/tu_folder.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <system_error>

#include "storage/input/bytes/memory_array.h"
#include "storage/input/words/line_reader.h"
#include "storage/io/error.h"
#include "storage/types/changes.h"

namespace unweave {
namespace {

namespace fs = std::filesystem;

fs::path part_of(const fs::path& prefix, const char* part) {
  return fs::path(prefix.string() + "_" + part + ".txt");
}

std::optional<InputFile> part_if_present(const fs::path& prefix, const char* part) {
  const fs::path path = part_of(prefix, part);
  std::error_code error;
  return fs::exists(path, error) ? std::optional(InputFile{path, {}}) : std::nullopt;
}

InputFile required_part(const fs::path& prefix, const char* part) {
  const std::optional<InputFile> file = part_if_present(prefix, part);
  if (!file)
    throw DataError(part_of(prefix, part).string() + ": no such file; " + option("tu") +
                    " takes FOLDER/NAME, where a data set of TUDataset lies as FOLDER/NAME_A.txt, "
                    "FOLDER/NAME_graph_indicator.txt and others");
  return *file;
}

/// Calls use(fields, lines) for every line that is not empty.
template <class Use>
void for_lines(const InputFile& file, const Use& use) {
  LineReader lines{ByteSource(file)};
  for (std::string_view line; lines.next(line);) {
    Fields fields(line);
    if (!fields.at_end()) use(fields, lines);
  }
}

/// The whole numbers of the lines, one each.
std::vector<std::int64_t> numbers_in(const InputFile& file, const char* what) {
  std::vector<std::int64_t> numbers;
  for_lines(file, [&](Fields& fields, const LineReader& lines) {
    std::int64_t number = 0;
    const bool is_number = fields.number(number) == std::errc();
    if (!is_number || !fields.at_end())
      throw InputError(lines.name(), lines.place(), std::string("no line of one whole number, ") + what, "correct it");
    numbers.push_back(number);
  });
  if (numbers.empty()) throw InputError(file.path, "whole file", "no line", "fetch the files again");
  return numbers;
}

/// Numbers as an array that whoever reads the input keeps alive.
InputFile in_memory(const InputFile& file, std::vector<std::int32_t> values) {
  struct Held {
    std::vector<std::int32_t> values;
    MemoryArray array;
  };
  const auto held = std::make_shared<Held>(Held{std::move(values), {}});
  const std::array<std::uint64_t, 1> shape{held->values.size()};
  const auto bytes =
      std::span(reinterpret_cast<const char*>(held->values.data()), held->values.size() * sizeof(std::int32_t));
  InputFile input = memory_input(file.path.string(), "<i4", shape, false, {bytes});
  held->array = *input.memory;
  input.memory = std::shared_ptr<const MemoryArray>(held, &held->array);
  return input;
}

std::vector<std::int32_t> graphs_of_nodes(const InputFile& file) {
  std::vector<std::int32_t> graphs;
  for_lines(file, [&](Fields& fields, const LineReader& lines) {
    std::int64_t graph = 0;
    const bool is_number = fields.number(graph) == std::errc();
    if (!is_number || !fields.at_end() || graph < 1 || graph > std::int64_t{kMostGraphs})
      throw InputError(lines.name(), lines.place(), "no number of a graph, of which the first is 1",
                       graph == 0 && is_number ? "add 1 to all numbers, or import the files one by one" : "correct it");
    graphs.push_back(static_cast<std::int32_t>(graph - 1));
  });
  if (graphs.empty()) throw InputError(file.path, "whole file", "no line", "fetch the files again");
  return graphs;
}

/// Classes from 0 in the order of the numbers that stand for them.
std::vector<std::int32_t> classes_in(const InputFile& file, std::uint64_t& count) {
  const std::vector<std::int64_t> labels = numbers_in(file, "the class of a graph");
  std::vector<std::int64_t> values = labels;
  std::sort(values.begin(), values.end());
  values.erase(std::unique(values.begin(), values.end()), values.end());
  count = values.size();
  std::vector<std::int32_t> classes;
  classes.reserve(labels.size());
  for (const std::int64_t label : labels)
    classes.push_back(
        static_cast<std::int32_t>(std::lower_bound(values.begin(), values.end(), label) - values.begin()));
  return classes;
}

/// The distinct numbers at each place of the lines.
std::vector<std::vector<std::int64_t>> values_in(const InputFile& file) {
  std::vector<std::set<std::int64_t>> values;
  for_lines(file, [&](Fields& fields, const LineReader& lines) {
    std::size_t place = 0;
    for (; !fields.at_end(); ++place) {
      std::int64_t number = 0;
      if (fields.number(number) != std::errc())
        throw InputError(lines.name(), lines.place(), quote_for_message(fields.take()) + " is no whole number",
                         "labels of nodes are whole numbers");
      if (lines.number() == 1) values.emplace_back();
      if (place < values.size()) values[place].insert(number);
    }
    if (place != values.size())
      throw InputError(lines.name(), lines.place(),
                       std::to_string(place) + " numbers, where line 1 has " + std::to_string(values.size()),
                       "write as many in every line");
  });
  std::vector<std::vector<std::int64_t>> sorted;
  sorted.reserve(values.size());
  for (const std::set<std::int64_t>& one : values) sorted.emplace_back(one.begin(), one.end());
  return sorted;
}

std::uint64_t columns_in(const InputFile& file) {
  LineReader lines{ByteSource(file)};
  std::string_view line;
  return lines.next(line) ? Fields(line).count() : 0;
}

}  // namespace

TuFolder open_tu_folder(const fs::path& prefix) {
  TuFolder folder;
  folder.edges = required_part(prefix, "A");
  const InputFile indicator = required_part(prefix, "graph_indicator");
  std::vector<std::int32_t> graphs = graphs_of_nodes(indicator);
  const std::size_t count = static_cast<std::size_t>(*std::max_element(graphs.begin(), graphs.end())) + 1;
  folder.features.indicator = indicator;
  folder.features.nodes = graphs.size();
  folder.graphs = in_memory(indicator, std::move(graphs));
  if (const auto labels = part_if_present(prefix, "graph_labels")) {
    std::vector<std::int32_t> classes = classes_in(*labels, folder.classes);
    if (classes.size() != count)
      throw InputError(labels->path, "end of the file",
                       std::to_string(classes.size()) + " lines, and the last graph of " + indicator.path.string() +
                           " is " + std::to_string(count),
                       "fetch the files again");
    folder.graph_labels = in_memory(*labels, std::move(classes));
  }
  folder.features.labels = part_if_present(prefix, "node_labels");
  if (folder.features.labels) folder.features.values = values_in(*folder.features.labels);
  folder.features.attributes = part_if_present(prefix, "node_attributes");
  if (folder.features.attributes) folder.features.attribute_columns = columns_in(*folder.features.attributes);
  for (const char* part : {"edge_labels", "edge_attributes", "graph_attributes"})
    if (const auto file = part_if_present(prefix, part)) folder.unread.push_back(file->path.filename().string());
  return folder;
}

std::vector<std::string> use_tu_folder(const fs::path& prefix, std::optional<double> bound, ImportOptions& options) {
  TuFolder folder = open_tu_folder(prefix);
  const std::string name = option("tu", prefix.string());
  if (folder.graph_labels && options.classes && *options.classes != folder.classes)
    throw UsageError(option("classes", std::to_string(*options.classes)) + ": the labels of graphs of " + name +
                     " have " + std::to_string(folder.classes) + " distinct values, which are the classes");
  if (folder.features.attributes.has_value() != bound.has_value())
    throw UsageError(bound ? option("attribute-bound") + ": the nodes of " + name + " have no attributes"
                           : name + ": its nodes have attributes; declare by " + option("attribute-bound") +
                                 " a public number that none exceeds, by which they are divided");
  if (bound && (!(*bound > 0) || !std::isfinite(*bound)))
    throw UsageError(option("attribute-bound") + " must be above 0 and finite");
  folder.features.bound = bound.value_or(1);
  options.edges = std::move(folder.edges);
  options.ids_from_one = true;
  options.nodes = folder.features.nodes;
  options.graphs = std::move(folder.graphs);
  options.graph_labels = std::move(folder.graph_labels);
  if (options.graph_labels && !options.classes) options.classes = folder.classes;
  options.features = std::move(folder.features);
  return folder.unread;
}

}  // namespace unweave
