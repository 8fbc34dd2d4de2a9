// storage/input/nodes/label_reader.cpp - reads labels and node ids from text and from .npy arrays,
// masks included.
#include "storage/input/nodes/label_reader.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <utility>

#include "storage/input/bytes/npy.h"
#include "storage/input/foreign_format.h"
#include "storage/input/nodes/name_reader.h"
#include "storage/input/tables/column_choice.h"
#include "storage/input/words/class_words.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/node_id.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"
#include "storage/io/nearest_name.h"
#include "storage/io/small_letters.h"
#include "storage/types/class_names.h"

namespace unweave {

namespace {

constexpr std::size_t kChunk = std::size_t{1} << 15;
constexpr std::uint64_t kAllNodes = std::uint64_t{kMaxNodeId} + 1;
/// What Python makes of a missing value among texts: a class has such a name where it is declared,
/// and is not proposed.
constexpr std::string_view kMissing[] = {"None", "<NA>", "NaT"};
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
    if (array_.header().kind == 'S' || array_.header().kind == 'U')
      throw InputError(
          array_.name(), ".npy header", "texts, where an array of labels has numbers",
          "write them as text by numpy.savetxt(FILE, a, '%s'), and name the classes by " + option("classes", "A,B,C"));
    if (!array_.header().is_number()) array_.require_integers("labels");
    require_column(array_, "labels");
    if (array_.header().kind == 'u' && array_.header().item_bytes < 4)
      most_ = (std::int64_t{1} << (8 * array_.header().item_bytes)) - 1;
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
      if (label == most_ && static_cast<std::uint64_t>(label) + 1 < classes_)
        throw InputError(array_.name(), place(first + i),
                         "label " + std::to_string(label) +
                             " is the largest that the type has, and may be a class, or stand for none",
                         "write -1 for none, as a.astype('int64') can, or declare the number of classes by " +
                             option("classes", std::to_string(label + 1)));
      if (label < kNone || (label >= 0 && static_cast<std::uint64_t>(label) >= classes_)) {
        throw_bad_label(array_.name(), place(first + i), std::to_string(label), classes_);
      }
      out[i] = static_cast<std::int32_t>(label);
      minus_ones_ += label == kNone ? 1 : 0;
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
      minus_ones_ += floats_[i] == kNone ? 1 : 0;
    }
    return count;
  }

  NpyReader array_;
  std::uint64_t classes_;
  std::int64_t most_ = std::numeric_limits<std::int64_t>::max();  ///< that a short unsigned type has
  std::vector<std::int64_t> integers_;
  std::vector<double> floats_;
};

class TextLabels final : public LabelReader {
 public:
  TextLabels(ByteSource source, std::uint64_t classes, EmptyLine empty_line,
             const std::vector<std::string>& class_names)
      : lines_(std::move(source)), classes_(classes), empty_line_(empty_line), names_(class_names) {}

  std::size_t read(std::span<std::int32_t> out) override {
    std::size_t count = 0;
    std::string_view line;
    while (count < out.size() && lines_.next(line)) {
      Fields fields(line);
      if (fields.first() == '#' && !(names_.given() && find(line))) continue;
      if (!fields.at_end() && std::exchange(is_first_, false)) {
        may_be_header_ =
            !names_.given() && lines_.header() == Header::ask && lines_.number() == 1 && Fields(line).take() == "0";
        if (!may_be_header_ && is_header(line)) continue;
      }
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
      out[count++] = names_.given() ? parse_name(line) : parse(fields, line);
    }
    if (count == 0) lines_.require_order_of_nodes();
    return count;
  }
  [[nodiscard]] bool first_may_be_header() const override { return may_be_header_; }

 private:
  /// Where classes have names, one of them is no header, and what is nearly one is a mistake.
  bool is_header(std::string_view line) {
    if (lines_.header() != Header::yes && names_.given() && (find(line) || !names_.nearest(text_).empty()))
      return false;
    if (!lines_.skips_header(line)) return false;
    header_ = line;
    return true;
  }

  /// The class of this name, or none where nobody has declared it; text_ is the name then.
  std::optional<std::int32_t> find(std::string_view line) {
    constexpr std::string_view kAround = " \t";
    line.remove_prefix(std::min(line.find_first_not_of(kAround), line.size()));
    line.remove_suffix(line.size() - std::min(line.find_last_not_of(kAround) + 1, line.size()));
    text_ = is_quoted(line) ? unquoted(line) : std::string(line);
    return names_.find(line);
  }

  std::int32_t parse_name(std::string_view line) {
    if (const auto found = find(line)) return *found;
    if (text_ == "-1" || text_ == "nan" || text_ == "NaN") return kNone;
    throw InputError(
        lines_.name(), lines_.place(), quote_for_message(text_) + " is none of the classes " + names_.shown(),
        text_.empty()                   ? std::string("write -1 for a node without a class")
        : names_.nearest(text_).empty() ? "correct it, write -1 for none, or declare it: " + option("classes")
                                        : "correct it" + names_.nearest(text_));
  }

  /// How to declare the names that a file without declared ones has.
  std::string remedy_for_names(std::string_view line) {
    const std::string names = names_ahead(line);
    if (has_numbers_) return {};
    if (names.empty()) return "; names of classes are declared by " + option("classes", "A,B,C");
    return "; if these are names of classes, declare them by " + option("classes", names) +
           (header_.empty() ? "" : " (the first line, " + quote_for_message(header_) + ", was taken for a header)");
  }

  /// Names that the file has from the line last given on, as a value of --classes; nothing where
  /// they are too many to be classes.
  std::string names_ahead(std::string_view line) {
    std::set<std::string> found;
    do {
      if (!Fields(line).at_end() && Fields(line).first() != '#' && !find(line)) {
        double number = 0;
        if (Fields(text_).number(number) == std::errc()) {  // a class, or -1 or NaN
          has_numbers_ |= number >= 0;
          continue;
        }
        if (std::find(std::begin(kMissing), std::end(kMissing), text_) != std::end(kMissing)) continue;
        found.insert(text_);
        if (found.size() > kProposedNames) return {};
      }
    } while (lines_.next(line));
    const std::vector<std::string> names(found.begin(), found.end());
    return names.size() > 1 && class_names_fault(names).empty() ? class_word(names) : std::string();
  }

  std::int32_t parse(Fields& fields, std::string_view line) {
    const Fields start = fields;
    std::int64_t label = 0;
    const std::errc error = fields.number(label);
    if (error == std::errc::result_out_of_range) {
      throw_bad_label(lines_.name(), lines_.place(), std::string(fields.take()), classes_);
    }
    if (error != std::errc()) label = parse_real(fields, line);
    if (!fields.at_end() || fields.after_comma()) {
      throw InputError(lines_.name(), lines_.place(),
                       "wrong column count: " + std::to_string(Fields(start).count()) + " instead of 1",
                       "give one label a line, that of node 0 first");
    }
    if (label < kNone || (label >= 0 && static_cast<std::uint64_t>(label) >= classes_)) {
      throw_bad_label(lines_.name(), lines_.place(), std::to_string(label), classes_);
    }
    has_numbers_ |= label >= 0;
    minus_ones_ += label == kNone && !is_nan(Fields(line).take()) ? 1 : 0;
    return static_cast<std::int32_t>(label);
  }

  static bool is_nan(std::string_view word) {
    double value = 0;
    return Fields(word).number(value) == std::errc() && std::isnan(value);
  }

  /// A label with a decimal point, or none.
  std::int64_t parse_real(Fields& fields, std::string_view line) {
    Fields start = fields;
    double value = 0;
    const std::errc error = fields.number(value);
    if (error == std::errc() && std::isnan(value)) return kNone;
    const std::string_view text = start.take();
    if (error != std::errc() || value != std::floor(value)) {
      const std::string place = lines_.place(), shown = quote_for_message(text);
      throw InputError(lines_.name(), place, shown + " is not a label",
                       "labels are classes 0, 1, 2, ...; nan or -1 for none; put # before a header line" +
                           (error == std::errc() ? std::string() : remedy_for_names(line)));
    }
    if (!(value >= kNone && value < static_cast<double>(classes_))) {
      throw_bad_label(lines_.name(), lines_.place(), std::string(text), classes_);
    }
    return static_cast<std::int64_t>(value);
  }

  // How Python writes a row of one empty column.
  static constexpr std::string_view kQuotedNothing = "\"\"";

  static constexpr std::size_t kProposedNames = 20;

  LineReader lines_;
  std::uint64_t classes_;
  EmptyLine empty_line_;
  bool is_first_ = true, may_be_header_ = false;
  bool has_numbers_ = false;  ///< labels that are numbers, so that words are no classes
  ClassWords names_;
  std::string text_, header_;
  std::uint64_t first_empty_ = 0;  // line of the first empty line where it is a mistake, except at the end of the file
};

[[noreturn]] void throw_mask_of_others(const std::filesystem::path& file, std::string_view place,
                                       std::uint64_t elements, std::uint64_t nodes, const std::string& thing) {
  throw InputError(file, place,
                   "a mask of " + std::to_string(elements) + " " + thing + "s, but there are " + std::to_string(nodes),
                   "give a mask with one boolean a " + thing + ", or " + thing + " ids by numpy.flatnonzero(mask)");
}

[[noreturn]] void throw_seems_mask(const std::filesystem::path& file, std::string_view place, std::size_t ids,
                                   const std::string& thing, const std::string& remedy) {
  throw InputError(file, place, std::to_string(ids) + " " + thing + " ids that are all 0 or 1 seem to be a mask",
                   remedy);
}

[[noreturn]] void throw_no_number(const std::filesystem::path& file, std::string_view place, const std::string& text,
                                  std::uint64_t limit, const std::string& thing) {
  throw InputError(file, place, text + " is not the number of one of " + std::to_string(limit) + " " + thing + "s",
                   "numbers of " + thing + "s count from 0; correct it, or how many " + thing + "s there are");
}

/// As parse_id(), of what may be numbers of whole graphs.
NodeId parse_thing(Fields& fields, const LineReader& lines, std::uint64_t limit, const std::string& thing) {
  if (thing == "node") return parse_id(fields, lines, limit);
  Fields start = fields;
  std::uint64_t id = 0;
  if (fields.number(id) == std::errc() && id < limit) return static_cast<NodeId>(id);
  throw_no_number(lines.name(), lines.place(), quote_for_message(start.take()), limit, thing);
}

/// One mask, or several side by side or one below the other, of which one is chosen.
struct MaskShape {
  std::uint64_t nodes = 0;
  std::uint64_t masks = 1;
  bool rows = false;  ///< a mask is a row of the array
};

MaskShape mask_shape(const NpyReader& array, std::optional<std::uint64_t> nodes, const std::string& thing) {
  const std::vector<std::uint64_t>& shape = array.header().shape;
  if (shape.size() == 1) return {shape[0]};
  if (shape.size() != 2)
    throw InputError(array.name(), ".npy header", "shape " + array.header().shape_text() + " is not that of masks",
                     "give an array of shape (N,), or of several masks side by side, (N, S)");
  if (!nodes || shape[0] == *nodes) return {shape[0], shape[1], false};
  if (shape[1] == *nodes) return {shape[1], shape[0], true};
  throw_mask_of_others(array.name(), ".npy header", shape[0], *nodes, thing);
}

/// The nodes for which a mask says true.
/// Ids in their order, for which there is room.
class IdList {
 public:
  explicit IdList(const MakeRoom& make_room) : make_room_(make_room) {}
  void push_back(NodeId id) {
    if (ids_.size() == ids_.capacity()) grow();
    ids_.push_back(id);
  }
  [[nodiscard]] std::size_t size() const noexcept { return ids_.size(); }
  [[nodiscard]] std::vector<NodeId> take() { return std::move(ids_); }

 private:
  void grow() {
    constexpr std::size_t kFirst = 1024;
    const std::size_t capacity = std::max(kFirst, 2 * ids_.capacity());
    if (make_room_) make_room_((capacity + ids_.capacity()) * sizeof(NodeId));  // both are there while it grows
    ids_.reserve(capacity);
  }

  const MakeRoom& make_room_;
  std::vector<NodeId> ids_;
};

std::vector<NodeId> read_mask(NpyReader array, std::optional<std::uint64_t> nodes, const std::string& thing,
                              const MakeRoom& make_room) {
  const MaskShape shape = mask_shape(array, nodes, thing);
  if (nodes && shape.nodes != *nodes) throw_mask_of_others(array.name(), ".npy header", shape.nodes, *nodes, thing);
  if (shape.nodes > kAllNodes)
    throw InputError(array.name(), ".npy header", "a mask of " + std::to_string(shape.nodes) + " " + thing + "s",
                     "a graph has at most " + std::to_string(kAllNodes) + " nodes");
  const std::optional<std::size_t> chosen = ColumnChoice(array.columns()).one();
  if ((shape.masks > 1 && !chosen) || chosen.value_or(0) >= shape.masks)
    throw InputError(array.name(), ".npy header",
                     "shape " + array.header().shape_text() + " is that of " + std::to_string(shape.masks) + " masks",
                     "name one by its place, from 0: " + array.name().string() + "[0]");
  const std::uint64_t mask = chosen.value_or(0);
  // Whether the values of one mask lie one behind the other.
  const bool is_run = shape.rows != array.header().fortran_order;
  const std::uint64_t first = is_run ? mask * shape.nodes : 0, apart = is_run ? 1 : shape.masks;
  array.skip(first);
  IdList ids(make_room);
  std::vector<std::int64_t> chunk(kChunk);
  for (std::uint64_t at = 0; at < shape.nodes * apart;) {
    const auto wanted = static_cast<std::size_t>(std::min<std::uint64_t>(kChunk, shape.nodes * apart - at));
    const std::size_t count = array.read(std::span(chunk).first(wanted));
    for (std::size_t i = 0; i < count; ++i, ++at)
      if (chunk[i] != 0 && (is_run || at % apart == mask)) ids.push_back(static_cast<NodeId>(at / apart));
  }
  array.skip(array.remaining());
  return ids.take();
}

std::vector<NodeId> read_npy_ids(NpyReader array, std::uint64_t limit, const ReadId& read_name,
                                 const std::string& thing, const MakeRoom& make_room) {
  const std::string what = thing + " ids";
  array.require_integers(what);
  if (const std::vector<std::uint64_t>& shape = array.header().shape; shape.size() == 2 && shape[0] > 1 && shape[1] > 1)
    throw InputError(array.name(), ".npy header", "shape " + array.header().shape_text() + " is not a list of " + what,
                     "give an array of shape (N,) or (N, 1); of several masks, saved by masks.astype(bool), name one, "
                     "as in " +
                         array.name().string() + "[0]");
  require_column(array, what);
  IdList ids(make_room);
  std::vector<std::int64_t> chunk(kChunk);
  bool seems_mask = true;
  while (const std::size_t count = array.read(chunk)) {
    for (std::size_t i = 0; i < count; ++i) {
      const std::string text = read_name ? std::to_string(chunk[i]) : "";
      const std::uint64_t id = read_name ? read_name(text).id : static_cast<std::uint64_t>(chunk[i]);
      const auto place = [&] { return "element " + array.index_text(ids.size()); };
      if (id >= limit && read_name)
        throw InputError(array.name(), place(), "no node has the name '" + text + "'",
                         "correct the name, or take it out");
      if (id >= limit && thing != "node")
        throw_no_number(array.name(), place(), std::to_string(chunk[i]), limit, thing);
      if (id >= limit) throw_bad_id(array.name(), place(), std::to_string(chunk[i]), limit);
      seems_mask = seems_mask && (chunk[i] == 0 || chunk[i] == 1);
      ids.push_back(static_cast<NodeId>(id));
    }
  }
  if (seems_mask && ids.size() > 2)
    throw_seems_mask(array.name(), ".npy header", ids.size(), thing, "save a mask as booleans: mask.astype(bool)");
  return ids.take();
}

/// Whether a line is a node without a name, as programs write it: # and its number, and nothing
/// else.
bool is_number_word(std::string_view line) {
  Fields fields(line);
  const std::string_view word = fields.take();
  return fields.at_end() && word.size() > 1 && word.find_first_not_of("0123456789", 1) == std::string_view::npos;
}

/// Whether a word is what splits are called, as in a column that says of each node which it is in.
bool is_split_name(std::string_view word) {
  constexpr std::array<std::string_view, 7> kSplits{"train", "training", "valid", "validation", "val", "test", "dev"};
  return std::find(kSplits.begin(), kSplits.end(), in_small_letters(word)) != kSplits.end();
}

/// One id a line, or a mask of words.
class TextIds {
 public:
  /// `thing`: what the ids are of.
  TextIds(LineReader lines, std::optional<std::uint64_t> nodes, const ReadId& read_id, bool names_may_be_gone,
          std::string thing, const MakeRoom& make_room)
      : lines_(std::move(lines)),
        thing_(std::move(thing)),
        nodes_(nodes),
        limit_(id_limit(nodes)),
        read_id_(read_id),
        names_may_be_gone_(names_may_be_gone),
        ids_(make_room) {}

  std::vector<NodeId> read() {
    std::string_view line;
    while (lines_.next(line)) {
      Fields fields(line);
      if (fields.at_end()) continue;
      if (fields.first() == '#') {
        if (!is_number_word(line)) continue;
        if (!read_id_)
          throw InputError(lines_.name(), lines_.place(),
                           quote_for_message(line) + " may be a " + thing_ + ", or a comment",
                           "write the number alone for the " + thing_ + ", or a blank behind # for a comment");
      }
      const bool is_first = std::exchange(is_first_, false);
      const std::string_view word = word_of(line);
      if (is_first && skips_header(line, word)) continue;
      require_one_column(word.empty() ? Fields(line).count() : 1);
      add(fields, word);
    }
    if (is_mask_ && nodes_ && number_ != *nodes_)
      throw_mask_of_others(lines_.name(), "whole file", number_, *nodes_, thing_);
    if (is_mask_) lines_.require_order_of_nodes();
    if (seems_mask_ && ids_.size() > 2)
      throw_seems_mask(lines_.name(), "whole file", ids_.size(), thing_,
                       "write a mask as True and False, and each " + thing_ + " once");
    return ids_.take();
  }

 private:
  /// The only word of a line, which may have blanks where it is a name; empty where there are
  /// several.
  [[nodiscard]] std::string_view word_of(std::string_view line) const {
    Fields fields(line);
    const std::string_view word = fields.take();
    if (fields.at_end() && !fields.after_comma()) return word;
    if (!read_id_ || line.find_first_of(",\t") != std::string_view::npos) return {};
    while (line.starts_with(' ')) line.remove_prefix(1);
    while (line.ends_with(' ')) line.remove_suffix(1);
    return read_id_(line).id < limit_ ? line : std::string_view();
  }

  void require_one_column(std::size_t columns) {
    if (columns == 1) return;
    const std::string place = lines_.place(), file = lines_.name().string();
    const bool is_only = number_ == 0 && lines_.look_ahead().empty();
    throw InputError(file, place, "wrong column count: " + std::to_string(columns) + " instead of 1",
                     is_only ? "write one " + thing_ + " id a line, not all on one"
                             : "give the ids of these " + thing_ +
                                   "s alone, one a line, or name the column that has them by its "
                                   "place, counted from 0, as in " +
                                   file + "[0] or " + file + '[' + std::to_string(columns - 1) + ']');
  }

  bool skips_header(std::string_view line, std::string_view word) {
    // The index of a frame, to which pandas gives no name.
    if (word == "\"\"" && lines_.header() == Header::ask) return lines_.skips_named_header(line);
    if (!read_id_ || lines_.header() != Header::ask) return !mask_word(line) && lines_.skips_header(line);
    if (word.empty()) return line.find_first_of(",\t") == std::string_view::npos && skips_no_name(line);
    if (mask_word(word)) return false;
    const bool is_name = read_id_(word).id < limit_;
    if (!is_name) return skips_no_name(line);
    // Behind a remark it is data, as skips_header() has it.
    if (lines_.number() > 1 || (!is_header_of_names(word) && word != "0")) return false;
    throw InputError(lines_.name(), lines_.place(),
                     quote_for_message(word) + " may be the name of a node, or that of the column",
                     lines_.header_remedy("a node", "the name of the column"));
  }

  /// Whether a line that no node has as its name is a header.
  bool skips_no_name(std::string_view line) {
    return (!names_may_be_gone_ || is_header_of_names(line)) && lines_.skips_named_header(line);
  }

  static std::optional<bool> mask_word(std::string_view word) {
    if (word == "True" || word == "true" || word == "TRUE") return true;
    if (word == "False" || word == "false" || word == "FALSE") return false;
    return std::nullopt;
  }

  void add(Fields& fields, std::string_view word) {
    const std::optional<bool> says = mask_word(word);
    const bool in_mask = says && !(read_id_ && read_id_(word).id < limit_);
    if (number_ > 0 && in_mask != is_mask_)
      throw InputError(lines_.name(), lines_.place(),
                       quote_for_message(word) + " among " + (is_mask_ ? "words of a mask" : thing_ + " ids"),
                       "give ids alone, or one of True and False for each " + thing_);
    if (!in_mask && is_split_name(word) && !(read_id_ && read_id_(word).id < limit_))
      throw InputError(
          lines_.name(), lines_.place(), quote_for_message(word) + " seems to say which split the line belongs to",
          "give the " + thing_ + "s of this split alone, one a line, or a column of True and False for each split");
    is_mask_ = in_mask;
    if (in_mask) {
      if (*says) ids_.push_back(static_cast<NodeId>(number_));
      seems_mask_ = false;
    } else {
      seems_mask_ = seems_mask_ && (word == "0" || word == "1");
      ids_.push_back(read_id_ ? named(word) : parse_thing(fields, lines_, limit_, thing_));
    }
    if (++number_ > kAllNodes)
      throw InputError(lines_.name(), lines_.place(), "more lines than a graph has nodes", "give fewer");
  }

  [[nodiscard]] NodeId named(std::string_view word) const {
    const std::uint64_t id = read_id_(word).id;
    if (id < limit_) return static_cast<NodeId>(id);
    throw InputError(lines_.name(), lines_.place(), "no node has the name " + quote_for_message(word),
                     number_ == 0 ? "correct the name, or take the line out if it is the name of the column"
                                  : "correct the name or take the line out");
  }

  LineReader lines_;
  std::string thing_;
  std::optional<std::uint64_t> nodes_;
  std::uint64_t limit_;
  const ReadId& read_id_;
  bool names_may_be_gone_;
  IdList ids_;
  std::uint64_t number_ = 0;  ///< lines so far
  bool is_first_ = true, is_mask_ = false, seems_mask_ = true;
};

}  // namespace

std::unique_ptr<LabelReader> open_labels(const InputFile& file, std::optional<std::uint64_t> classes,
                                         EmptyLine empty_line, const std::vector<std::string>& class_names) {
  ByteSource source(file);
  const std::uint64_t limit = std::min(classes.value_or(kMostClasses), kMostClasses);
  if (is_npy(file, source)) {
    // What is in memory was numbered by whoever has named the classes.
    const auto number = std::find_if(class_names.begin(), class_names.end(), is_number_name);
    if (number != class_names.end() && !file.memory)
      throw InputError(source.name(), ".npy header",
                       "numbers, and a class has the number " + *number +
                           " as its name, so that a number may be a name or count classes from 0",
                       "give the labels as text, one name a line");
    return std::make_unique<NpyLabels>(NpyReader(std::move(source)), limit);
  }
  refuse_foreign_format(source, file, InputKind::kLabels);
  return std::make_unique<TextLabels>(std::move(source), limit, empty_line, class_names);
}

std::vector<NodeId> read_node_ids(const InputFile& file, std::optional<std::uint64_t> num_nodes, const ReadId& read_id,
                                  std::optional<IdsAre> ids_are, const MakeRoom& make_room, std::string_view of) {
  const std::string thing(of);
  ByteSource source(file);
  if (is_npy(file, source)) {
    NpyReader array(std::move(source), true);
    if (array.header().kind == 'b') return read_mask(std::move(array), num_nodes, thing, make_room);
    if (!array.columns().empty())
      throw InputError(
          array.name(), ".npy header", "a column of " + thing + " ids is asked for",
          "only one of several masks is chosen so, and these are booleans: save them by masks.astype(bool)");
    return read_npy_ids(std::move(array), id_limit(num_nodes),
                        ids_are == IdsAre::names && !file.memory ? read_id : ReadId(), thing, make_room);
  }
  refuse_foreign_format(source, file, InputKind::kNodeIds);
  return TextIds(LineReader(std::move(source)), num_nodes, read_id, file.names_may_be_gone, thing, make_room).read();
}

}  // namespace unweave
