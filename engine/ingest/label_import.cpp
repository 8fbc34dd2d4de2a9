// engine/ingest/label_import.cpp - reads labels and splits by ids, checks them, and writes them by
// positions.
#include "engine/ingest/label_import.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "storage/formats/class_names.h"
#include "storage/formats/node_file.h"
#include "storage/formats/whole_graph_file.h"
#include "storage/input/nodes/label_reader.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr std::size_t kReadLabels = std::size_t{1} << 16;

/// The name of the class of --replay, which no other class has.
std::string replay_class_name(const std::vector<std::string>& names) {
  std::string name = "replayed";
  while (std::find(names.begin(), names.end(), name) != names.end()) name += '_';
  return name;
}

NodeCount count_of_type(const ImportOptions& options) {
  if (!options.labels_of) return NodeCount(std::nullopt);
  const NodeType& type = options.types[*options.labels_of];
  return {type.nodes, option("type", type.name + "=" + std::to_string(type.nodes))};
}

}  // namespace

LabelImport::LabelImport(const ImportContext& context, const LabelFiles& files, NodeCount& count,
                         const std::vector<NodeId>& replayed, const ReadId& read_id)
    : options_(context.options),
      budget_(context.budget),
      meter_(context.meter),
      from_(files),
      nodes_(count),
      builder_(context.builder),
      report_(context.report),
      names_(files.are_of_graphs ? nullptr : context.names),
      replayed_(replayed),
      read_id_(read_id),
      rows_of_type_(count_of_type(options_)),
      rows_(options_.labels_of ? rows_of_type_ : nodes_) {}

void LabelImport::read() {
  Manifest& manifest = builder_.manifest();
  if (options_.classes) {
    if (*options_.classes < 1 || *options_.classes > std::uint64_t{std::numeric_limits<std::int32_t>::max()})
      throw UsageError(option("classes", std::to_string(*options_.classes)) + ": there are 1 to 2147483647 classes");
    manifest.classes = static_cast<std::uint32_t>(*options_.classes);
  }
  if (!options_.class_names.empty()) require_class_names();
  if (!from_.labels) return;
  class_names_ = options_.class_names;
  report_.labels_are_of_graphs = from_.are_of_graphs;
  labels_ = read_labels();
  rows_.agree(labels_.size(), *from_.labels, "rows");
  if (!options_.classes)
    manifest.classes = static_cast<std::uint32_t>(*std::max_element(labels_.begin(), labels_.end()) + 1);
  remark_on_classes();
  add_replay_class();
  report_.class_names = class_names_;
  read_splits();
  if (options_.labels_of) place_in_type();
}

void LabelImport::require_class_names() {
  if (options_.classes != options_.class_names.size())
    throw UsageError(option("classes") + ": " + std::to_string(options_.class_names.size()) + " names, and " +
                     std::to_string(options_.classes.value_or(0)) + " classes");
  if (const std::string fault = class_names_fault(options_.class_names); !fault.empty())
    throw UsageError(option("classes") + ": " + fault);
  if (!options_.labels && !options_.graph_labels)
    throw UsageError(option("classes") + ": names of classes need " + option("labels"));
}

std::vector<std::int32_t> LabelImport::read_labels() {
  const auto reader = open_labels(*from_.labels, options_.classes, options_.empty_label, options_.class_names);
  if (const auto count = reader->count()) rows_.agree(*count, *from_.labels, "rows");
  meter_.start(from_.are_of_graphs ? "labels of graphs" : "labels", rows_.known().value_or(0), "labels");
  std::vector<std::int32_t> labels;
  const auto make_room = [&](std::uint64_t count, std::uint64_t beside) {
    memory_of_labels_.release();
    memory_of_labels_ = budget_.reserve((count + beside) * sizeof(std::int32_t), "labels");
    labels.reserve(count);
  };
  // One more than there are nodes may be a header; others are counted, to be told.
  const std::uint64_t most = rows_.known() ? *rows_.known() + 1 : std::numeric_limits<std::uint64_t>::max();
  if (rows_.known()) make_room(most, 0);
  std::vector<std::int32_t> chunk(kReadLabels);
  std::uint64_t rows = 0;
  while (const std::size_t count = reader->read(chunk)) {
    const std::size_t taken = static_cast<std::size_t>(std::min<std::uint64_t>(count, most - labels.size()));
    if (labels.size() + taken > labels.capacity())
      make_room(std::max<std::uint64_t>(labels.size() + taken, 2 * labels.capacity()), labels.capacity());
    labels.insert(labels.end(), chunk.begin(), chunk.begin() + static_cast<std::ptrdiff_t>(taken));
    rows += count;
    meter_.advance(count);
  }
  if (rows > labels.size()) rows_.agree(rows, *from_.labels, "rows");
  if (reader->first_may_be_header()) drop_header(labels);
  minus_ones_ = reader->minus_ones();
  return labels;
}

/// The first line is 0, a label or the name that pandas gives to a column: the number of nodes
/// tells which.
void LabelImport::drop_header(std::vector<std::int32_t>& labels) {
  const std::string name = display_name(*from_.labels).string();
  if (!rows_.known())
    throw InputError(
        name, "the first line", "'0' may be a label, or the name that pandas gives to a column without any",
        "say which by " + option("header", "labels=no") + " (a label) or " + option("header", "labels=yes") +
            ", or declare the number of nodes by " + option("nodes", "N"));
  if (labels.size() != *rows_.known() + 1) return;
  labels.erase(labels.begin());
  report_.remark(name + ": the first line, '0', was skipped as a header: there is one more than there are " + things());
}

/// What nobody declared may be a slip: classes that count from 1, or one label far from the others.
void LabelImport::remark_on_classes() {
  const std::uint32_t classes = builder_.manifest().classes;
  count_empty_classes(labels_, classes, budget_, report_);
  if (options_.classes) return;
  const std::string name = display_name(*from_.labels).string();
  const auto is_sign = [](std::int32_t label) { return label == -1 || label == 1; };
  // What was missing is no -1, which may be a class.
  if (minus_ones_ > 0 && std::all_of(labels_.begin(), labels_.end(), is_sign) &&
      std::count(labels_.begin(), labels_.end(), 1) > 0 && std::count(labels_.begin(), labels_.end(), -1) > 0)
    throw InputError(name, "whole file", "labels that are all -1 or 1: -1 may be a class, or none",
                     "write classes 0 and 1 by (a + 1) // 2, or say by " + option("classes", "2") + " that " +
                         things() + " of -1 have no label");
  remark_on_minus_ones(name);
  if (classes > 1 && !report_.first_empty_classes.empty() && report_.first_empty_classes[0] == 0)
    report_.remark(name + ": no " + thing() + " has class 0; labels that count from 1 should have 1 subtracted");
  if (classes > kManyClasses)
    report_.remark(name + ": the largest label, " + std::to_string(classes - 1) + ", makes " + std::to_string(classes) +
                   " classes; " + option("classes", "C") + " declares them, if they are meant");
}

/// A class may be called -1, as those of sentiments or votes are, and is about as frequent as the
/// others then.
void LabelImport::remark_on_minus_ones(const std::string& name) {
  if (minus_ones_ == 0) return;
  std::map<std::int32_t, std::uint64_t> nodes;
  for (const std::int32_t label : labels_)
    if (label != kNoLabel) ++nodes[label];
  std::uint64_t all = 0, largest = 0;
  for (const auto& [label, count] : nodes) {
    all += count;
    largest = std::max(largest, count);
  }
  if (2 * minus_ones_ * nodes.size() < all || minus_ones_ > 2 * largest) return;
  report_.remark(name + ": " + std::to_string(minus_ones_) + " " +
                 (minus_ones_ == 1 ? thing() + std::string(" has") : things() + " have") +
                 " -1, which stands for no class; if it is a class, give classes from 0, or texts");
}

void LabelImport::add_replay_class() {
  if (replayed_.empty()) return;
  if (replayed_.back() >= labels_.size())
    throw InputError(display_name(*options_.replay), "node " + std::to_string(replayed_.back()),
                     "there are " + std::to_string(labels_.size()) + " nodes", "correct the id");
  const std::uint32_t own = builder_.manifest().classes++;
  if (!class_names_.empty()) class_names_.push_back(replay_class_name(class_names_));
  for (const NodeId node : replayed_) labels_[node] = static_cast<std::int32_t>(own);
}

void LabelImport::read_splits() {
  for (Split& split : splits_) {
    if (!split.file) continue;
    const auto make_room = [&](std::uint64_t bytes) {
      split.memory.release();
      split.memory = budget_.reserve(bytes, display_name(*split.file).string() + ": a list of " + things());
    };
    split.ids = read_node_ids(*split.file, labels_.size(), read_id_, options_.ids_are, make_room, thing());
    const std::size_t given = split.ids.size();
    std::sort(split.ids.begin(), split.ids.end());
    if (given >= labels_.size() && std::adjacent_find(split.ids.begin(), split.ids.end()) != split.ids.end())
      throw InputError(
          display_name(*split.file), "whole file",
          std::to_string(given) + " ids of " + std::to_string(labels_.size()) + " " + things() +
              ", some more than once, seem to be a code for each " + thing() + ", such as 0 for " + split.name,
          "give the ids of the " + things() + " by numpy.flatnonzero(codes == 0), or the booleans codes == 0");
    split.ids.erase(std::unique(split.ids.begin(), split.ids.end()), split.ids.end());
    constexpr std::size_t kFewIds = 8, kTimes = 4;
    if (given >= kFewIds && split.ids.size() * kTimes <= given)
      throw InputError(display_name(*split.file), "whole file",
                       std::to_string(given) + " ids, of which " + std::to_string(split.ids.size()) +
                           " are different, seem to be classes of " + things(),
                       "give the ids of the " + things() + ", each once");
    for (const Split* other = splits_; other != &split; ++other) require_disjoint(*other, split);
  }
  for (Split& split : splits_)
    unlabelled_split_ids_ += std::erase_if(split.ids, [&](NodeId node) { return labels_[node] == kNoLabel; });
  for (std::size_t i = 0; i < report_.splits.size(); ++i)
    if (splits_[i].file) report_.splits[i] = splits_[i].ids.size();
}

void LabelImport::require_disjoint(const Split& earlier, const Split& later) const {
  std::vector<NodeId> common;
  std::set_intersection(earlier.ids.begin(), earlier.ids.end(), later.ids.begin(), later.ids.end(),
                        std::back_inserter(common));
  if (common.empty()) return;
  throw InputError(later.file->path, thing() + std::string(" ") + text_of(common.front(), names_),
                   "is in the split " + std::string(earlier.name) + " too (" + earlier.file->path.string() + ")",
                   std::string("a ") + thing() + " belongs to one split at most");
}

/// Labels of one type become those of all nodes, of which the others have none.
void LabelImport::place_in_type() {
  const auto first = static_cast<NodeId>(first_id(options_.types, *options_.labels_of));
  const std::size_t nodes = nodes_.value();
  const Reservation of_type = std::move(memory_of_labels_);
  memory_of_labels_ = budget_.reserve(nodes * sizeof(std::int32_t), "labels of all types");
  std::vector<std::int32_t> all(nodes, kNoLabel);
  std::copy(labels_.begin(), labels_.end(), all.begin() + static_cast<std::ptrdiff_t>(first));
  labels_ = std::move(all);
  for (Split& split : splits_)
    for (NodeId& node : split.ids) node += first;
}

/// Copies of a node have its label. The splits list copy 0 alone, since a node is one row of a
/// model.
void LabelImport::repeat_for_copies() {
  const std::uint32_t copies = options_.layers.copies();
  if (copies == 1) return;
  const std::size_t nodes = labels_.size();
  memory_of_labels_.release();
  memory_of_labels_ = budget_.reserve((copies + 1) * nodes * sizeof(std::int32_t), "labels of all copies");
  labels_.reserve(copies * nodes);
  for (std::uint32_t copy = 1; copy < copies; ++copy) std::copy_n(labels_.begin(), nodes, std::back_inserter(labels_));
}

void LabelImport::write(std::span<const NodeId> positions) {
  if (!from_.labels) return;
  repeat_for_copies();
  if (!positions.empty()) {
    const Reservation memory = budget_.reserve(labels_.size() * sizeof(std::int32_t), "labels by position");
    std::vector<std::int32_t> moved(labels_.size());
    for (std::size_t node = 0; node < labels_.size(); ++node) moved[positions[node]] = labels_[node];
    labels_ = std::move(moved);
    for (Split& split : splits_) {
      for (NodeId& node : split.ids) node = positions[node];
      std::sort(split.ids.begin(), split.ids.end());
    }
  }
  const bool of_graphs = from_.are_of_graphs;
  from_.labels_entry = of_graphs ? write_graph_labels(builder_.path(), labels_, class_names_)
                                 : write_named_labels(builder_.path(), labels_, class_names_);
  for (const Split& split : splits_)
    if (split.file)
      split.entry = of_graphs ? write_graph_split(builder_.path(), split.name, split.ids)
                              : write_ids(builder_.path(), split.name, split.ids);
  std::vector<std::int32_t>().swap(labels_);
  memory_of_labels_.release();
}

}  // namespace unweave
