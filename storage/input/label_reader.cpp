// storage/input/label_reader.cpp - reads labels and node ids from text and from .npy arrays, masks included.
#include "storage/input/label_reader.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "storage/input/foreign_format.h"
#include "storage/input/line_reader.h"
#include "storage/input/node_id.h"
#include "storage/input/npy.h"
#include "storage/io/error.h"

namespace unweave {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 15;
constexpr std::uint64_t kAllNodes = std::uint64_t{kMaxNodeId} + 1;
constexpr std::uint64_t kMostClasses = std::uint64_t{1} << 31;

void require_column(const NpyReader& array, std::string_view what) {
  const std::vector<std::uint64_t>& shape = array.header().shape;
  if (shape.size() == 1 || (shape.size() == 2 && shape[1] == 1)) return;
  throw InputError(array.name(), ".npy header",
                   "shape " + array.header().shape_text() + " is not a list of " + std::string(what),
                   "give an array of shape (N,) or (N, 1)");
}

[[noreturn]] void throw_bad_label(const std::filesystem::path& file, std::string_view place, const std::string& label,
                                  std::uint64_t classes) {
  throw InputError(file, place, "label " + label + " is outside 0.." + std::to_string(classes - 1),
                   "correct the label, write -1 for none, or declare more classes");
}

class NpyLabels final : public LabelReader {
 public:
  NpyLabels(NpyReader array, std::uint64_t classes) : array_(std::move(array)), classes_(classes) {
    if (!array_.header().is_number()) array_.require_integers("labels");
    require_column(array_, "labels");
  }

  std::size_t read(std::span<std::int32_t> out) override {
    out = out.first(std::min(out.size(), kChunk));
    return array_.header().kind == 'f' ? read_floats(out) : read_integers(out);
  }

  [[nodiscard]] std::optional<std::uint64_t> count() const override { return array_.header().elements; }

 private:
  std::string place(std::uint64_t flat) const { return "element " + array_.index_text(flat); }

  std::size_t read_integers(std::span<std::int32_t> out) {
    const std::uint64_t first = array_.position();
    integers_.resize(out.size());
    const std::size_t count = array_.read(integers_);
    for (std::size_t i = 0; i < count; ++i) {
      const std::int64_t label = integers_[i];
      if (label < kNone || (label >= 0 && static_cast<std::uint64_t>(label) >= classes_)) {
        throw_bad_label(array_.name(), place(first + i), std::to_string(label), classes_);
      }
      out[i] = static_cast<std::int32_t>(label);
    }
    return count;
  }

  std::size_t read_floats(std::span<std::int32_t> out) {
    const std::uint64_t first = array_.position();
    floats_.resize(out.size());
    const std::size_t count = array_.read(floats_);
    for (std::size_t i = 0; i < count; ++i) {
      const double label = std::isnan(floats_[i]) ? kNone : floats_[i];
      if (label != std::floor(label)) {
        throw InputError(array_.name(), place(first + i), "label " + std::to_string(label) + " is not a whole number",
                         "labels are classes 0, 1, 2, ...; NaN or -1 for none");
      }
      if (!(label >= kNone && label < static_cast<double>(classes_))) {
        throw_bad_label(array_.name(), place(first + i), std::to_string(label), classes_);
      }
      out[i] = static_cast<std::int32_t>(label);
    }
    return count;
  }

  NpyReader array_;
  std::uint64_t classes_;
  std::vector<std::int64_t> integers_;
  std::vector<double> floats_;
};

class TextLabels final : public LabelReader {
 public:
  TextLabels(ByteSource source, std::uint64_t classes, EmptyLine empty_line)
      : lines_(std::move(source)), classes_(classes), empty_line_(empty_line) {}

  std::size_t read(std::span<std::int32_t> out) override {
    std::size_t count = 0;
    std::string_view line;
    while (count < out.size() && lines_.next(line)) {
      Fields fields(line);
      if (fields.first() == '#') continue;
      if (!fields.at_end() && lines_.skips_header(line)) continue;
      if (empty_line_ == EmptyLine::kUnlabelled && (fields.at_end() || line == kQuotedNothing)) {
        out[count++] = kNone;
        continue;
      }
      if (fields.at_end()) {
        if (first_empty_ == 0) first_empty_ = lines_.number();
        continue;
      }
      if (first_empty_ != 0) {
        throw InputError(lines_.name(), "line " + std::to_string(first_empty_), "an empty line among the labels",
                         "write -1 for a node without a label");
      }
      out[count++] = parse(fields);
    }
    return count;
  }

 private:
  std::int32_t parse(Fields& fields) const {
    const Fields start = fields;
    std::int64_t label = 0;
    const std::errc error = fields.number(label);
    if (error == std::errc::result_out_of_range) {
      throw_bad_label(lines_.name(), lines_.place(), std::string(fields.take()), classes_);
    }
    if (error != std::errc()) label = parse_real(fields);
    if (!fields.at_end() || fields.after_comma()) {
      throw InputError(lines_.name(), lines_.place(),
                       "wrong column count: " + std::to_string(Fields(start).count()) + " instead of 1",
                       "give one label a line, that of node 0 first");
    }
    if (label < kNone || (label >= 0 && static_cast<std::uint64_t>(label) >= classes_)) {
      throw_bad_label(lines_.name(), lines_.place(), std::to_string(label), classes_);
    }
    return static_cast<std::int32_t>(label);
  }

  /// A label with a decimal point, or none.
  std::int64_t parse_real(Fields& fields) const {
    Fields start = fields;
    double value = 0;
    const std::errc error = fields.number(value);
    if (error == std::errc() && std::isnan(value)) return kNone;
    const std::string_view text = start.take();
    if (error != std::errc() || value != std::floor(value)) {
      throw InputError(lines_.name(), lines_.place(), quote_for_message(text) + " is not a label",
                       "labels are classes 0, 1, 2, ...; nan or -1 for none; put # before a header line");
    }
    if (!(value >= kNone && value < static_cast<double>(classes_))) {
      throw_bad_label(lines_.name(), lines_.place(), std::string(text), classes_);
    }
    return static_cast<std::int64_t>(value);
  }

  // How Python writes a row of one empty column.
  static constexpr std::string_view kQuotedNothing = "\"\"";

  LineReader lines_;
  std::uint64_t classes_;
  EmptyLine empty_line_;
  std::uint64_t first_empty_ = 0;  // line of the first empty line where it is a mistake, except at the end of the file
};

/// The nodes for which a mask says true.
std::vector<NodeId> read_mask(NpyReader array, std::optional<std::uint64_t> nodes) {
  require_column(array, "booleans, one a node");
  const std::uint64_t elements = array.header().elements;
  if (nodes && elements != *nodes) {
    throw InputError(array.name(), ".npy header",
                     "a mask of " + std::to_string(elements) + " nodes, but there are " + std::to_string(*nodes),
                     "give a mask with one boolean a node, or node ids by numpy.flatnonzero(mask)");
  }
  if (elements > kAllNodes) {
    throw InputError(array.name(), ".npy header", "a mask of " + std::to_string(elements) + " nodes",
                     "a graph has at most " + std::to_string(kAllNodes) + " nodes");
  }
  std::vector<NodeId> ids;
  std::vector<std::int64_t> chunk(kChunk);
  NodeId node = 0;
  while (const std::size_t count = array.read(chunk)) {
    for (std::size_t i = 0; i < count; ++i, ++node)
      if (chunk[i] != 0) ids.push_back(node);
  }
  return ids;
}

std::vector<NodeId> read_npy_ids(NpyReader array, std::uint64_t limit) {
  array.require_integers("node ids");
  require_column(array, "node ids");
  std::vector<NodeId> ids;
  std::vector<std::int64_t> chunk(kChunk);
  NodeId largest = 0;
  while (const std::size_t count = array.read(chunk)) {
    for (std::size_t i = 0; i < count; ++i) {
      if (static_cast<std::uint64_t>(chunk[i]) >= limit) {
        throw_bad_id(array.name(), "element " + array.index_text(ids.size()), std::to_string(chunk[i]), limit);
      }
      ids.push_back(static_cast<NodeId>(chunk[i]));
      largest = std::max(largest, ids.back());
    }
  }
  if (ids.size() > 2 && largest <= 1) {
    throw InputError(array.name(), ".npy header",
                     std::to_string(ids.size()) + " node ids that are all 0 or 1 seem to be a mask",
                     "save a mask as booleans: mask.astype(bool)");
  }
  return ids;
}

/// Whether a line is a node without a name, as programs write it: # and its number, and nothing else.
bool is_number_word(std::string_view line) {
  Fields fields(line);
  const std::string_view word = fields.take();
  return fields.at_end() && word.size() > 1 && word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

NodeId parse_name(Fields& fields, const LineReader& lines, std::uint64_t limit, const ReadId& read_id) {
  const std::string_view word = fields.take();
  const std::uint64_t id = read_id(word);
  if (id < limit) return static_cast<NodeId>(id);
  throw InputError(lines.name(), lines.place(), "no node has the name " + quote_for_message(word),
                   "correct the name or take the line out");
}

std::vector<NodeId> read_text_ids(LineReader lines, std::uint64_t limit, const ReadId& read_id) {
  std::vector<NodeId> ids;
  std::string_view line;
  while (lines.next(line)) {
    Fields fields(line);
    if (fields.at_end() || (fields.first() == '#' && !(read_id && is_number_word(line))) ||
        (!read_id && lines.skips_header(line)))
      continue;
    const std::size_t columns = Fields(line).count();
    if (columns != 1) {
      throw InputError(lines.name(), lines.place(), "wrong column count: " + std::to_string(columns) + " instead of 1",
                       "give one node id a line");
    }
    ids.push_back(read_id ? parse_name(fields, lines, limit, read_id) : parse_id(fields, lines, limit));
  }
  return ids;
}

}  // namespace

std::unique_ptr<LabelReader> open_labels(const InputFile& file, std::optional<std::uint64_t> classes,
                                         EmptyLine empty_line) {
  ByteSource source(file);
  const std::uint64_t limit = std::min(classes.value_or(kMostClasses), kMostClasses);
  if (is_npy(file, source)) return std::make_unique<NpyLabels>(NpyReader(std::move(source)), limit);
  refuse_foreign_format(source, file, InputKind::kLabels);
  return std::make_unique<TextLabels>(std::move(source), limit, empty_line);
}

std::vector<NodeId> read_node_ids(const InputFile& file, std::optional<std::uint64_t> num_nodes,
                                  const ReadId& read_id) {
  ByteSource source(file);
  const std::uint64_t limit = id_limit(num_nodes);
  if (is_npy(file, source)) {
    NpyReader array(std::move(source));
    return array.header().kind == 'b' ? read_mask(std::move(array), num_nodes) : read_npy_ids(std::move(array), limit);
  }
  refuse_foreign_format(source, file, InputKind::kNodeIds);
  return read_text_ids(LineReader(std::move(source)), limit, read_id);
}

}  // namespace unweave
