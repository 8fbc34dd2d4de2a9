// storage/input/nodes/name_reader.cpp - reads names of nodes from text and from .npy arrays.
#include "storage/input/nodes/name_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <optional>
#include <string>
#include <utility>

#include "storage/formats/name_file.h"
#include "storage/input/bytes/npy.h"
#include "storage/input/foreign_format.h"
#include "storage/input/words/line_reader.h"
#include "storage/input/words/quoted_word.h"
#include "storage/io/error.h"
#include "storage/io/plain_text.h"
#include "storage/io/small_letters.h"

namespace unweave {
namespace {

constexpr const char* kRemedy =
    "a name is a line of UTF-8, at most 255 bytes, without characters that nobody sees, does not begin with # and has no "
    "blanks at its ends; an empty line is a node without a name";

void require_name(std::string_view name, const std::filesystem::path& file, const std::string& place) {
  const char* const fault = name_fault(name);
  if (fault == nullptr) return;
  const std::optional<TextFault> character = text_fault(name);
  const bool has_place = character && character->what == std::string_view(fault);
  throw InputError(file, place,
                   quote_for_message(name) + " is no name of a node: " + (has_place ? text_of(*character) : fault),
                   kRemedy);
}

class TextNames final : public NameReader {
 public:
  explicit TextNames(ByteSource source) : lines_(std::move(source)) {}

  bool next(std::string_view& name) override {
    if (!next_line(name)) return false;
    if (std::exchange(is_first_, false)) {
      first_ = name;
      if (is_header(first_)) {
        ++left_out_;
        if (!next_line(name)) return false;
      } else {
        name = first_;
      }
    }
    if (name.starts_with('"')) {
      if (!is_quoted(name))
        throw InputError(lines_.name(), lines_.place(), "quotes in " + quote_for_message(name) + " that are not closed",
                         "close them at the end of the line, and write a quote in a name twice");
      text_ = unquoted(name);
      name = text_;
    } else if (name.find_first_of(",\t") != std::string_view::npos) {
      throw InputError(
          lines_.name(), lines_.place(), quote_for_message(name) + " may be one name, or several columns",
          "put a name with a comma in quotes, or name its column, as in " + lines_.name().string() + "[0]");
    }
    if (!name.empty() && name_fault(name) != nullptr) require_name(name, lines_.name(), lines_.place());
    return true;
  }
  [[nodiscard]] std::string place(std::uint64_t node) const override { return lines_.place_of(node + left_out_ + 1); }

 private:
  bool next_line(std::string_view& line) {
    if (lines_.next(line)) return true;
    lines_.require_order_of_nodes();
    return false;
  }

  /// Any word may be a name: where nobody has said so, only such as columns of names have are asked
  /// about, and words above numbers.
  bool is_header(std::string_view line) {
    if (line == "#") return true;  // what chosen columns make of a remark, behind which there is no header
    if (lines_.header() != Header::ask) return lines_.skips_header(line);
    if (!is_header_of_names(line) && line != "0" && (is_whole_number(line) || !stands_above_numbers())) return false;
    throw InputError(lines_.name(), lines_.place(),
                     quote_for_message(line) + " may be the name of node 0, or that of the column",
                     lines_.header_remedy("a node", "the name of the column"));
  }

  /// Whether the next lines have whole numbers alone, two of them at least.
  [[nodiscard]] bool stands_above_numbers() {
    constexpr int kLooked = 100;
    int numbers = 0;
    bool are_numbers = true;
    lines_.show_ahead([&](std::string_view line) {
      are_numbers = is_whole_number(line);
      return are_numbers && ++numbers < kLooked;
    });
    return are_numbers && numbers > 1;
  }

  LineReader lines_;
  std::string first_;  ///< the first line
  std::string text_;   ///< that of a name in quotes
  bool is_first_ = true;
  std::uint64_t left_out_ = 0;  ///< lines before the first name
};

class NpyNames final : public NameReader {
 public:
  explicit NpyNames(NpyReader array) : array_(std::move(array)) {
    const NpyHeader& header = array_.header();
    const bool is_column = header.shape.size() == 1 || (header.shape.size() == 2 && header.shape[1] == 1);
    if ((header.kind != 'i' && header.kind != 'u' && header.kind != 'S') || !is_column)
      throw InputError(array_.name(), ".npy header",
                       "shape " + header.shape_text() + " of kind '" + header.kind +
                           "', where names are a list of integers or byte strings",
                       header.kind == 'U' ? "encode the texts with numpy.char.encode(a, 'utf-8'), or write one a line"
                                          : "write one name a line, or give an array of shape (N,)");
  }

  bool next(std::string_view& name) override {
    const std::size_t bytes = array_.header().item_bytes;
    if (items_.empty()) {
      items_ = array_.read_items(kItems);
      if (items_.empty()) return false;
    }
    const std::string_view item = items_.substr(0, bytes);
    items_.remove_prefix(bytes);
    if (array_.header().kind == 'S') {
      name = item.substr(0, item.find_last_not_of('\0') + 1);  // NumPy fills short texts with zeros
      if (!name.empty()) require_name(name, array_.name(), place(number_));
    } else {
      name = digits(item);
    }
    ++number_;
    return true;
  }
  [[nodiscard]] std::string place(std::uint64_t node) const override { return "element " + array_.index_text(node); }

 private:
  static constexpr std::size_t kItems = std::size_t{1} << 14;

  std::string_view digits(std::string_view item) {
    std::uint64_t number = 0;
    std::memcpy(&number, item.data(), item.size());
    const auto unused = static_cast<unsigned>(64 - 8 * item.size());
    char* const end = text_.data() + text_.size();
    const auto result = array_.header().kind == 'u'
                            ? std::to_chars(text_.data(), end, number)
                            : std::to_chars(text_.data(), end, static_cast<std::int64_t>(number << unused) >> unused);
    return {text_.data(), static_cast<std::size_t>(result.ptr - text_.data())};
  }

  NpyReader array_;
  std::string_view items_;  ///< that were read and wait
  std::uint64_t number_ = 0;
  std::array<char, 24> text_{};
};

}  // namespace

bool is_header_of_names(std::string_view word) {
  constexpr std::array<std::string_view, 14> kWords{"id",    "ids",    "name",     "names",  "node",
                                                    "nodes", "nodeid", "nodename", "userid", "username",
                                                    "uid",   "nid",    "index",    "idx"};
  constexpr std::array<std::string_view, 5> kEnds{"_id", "-id", "_ID", "Id", " id"};
  const std::string plain = plain_name(word);
  return std::find(kWords.begin(), kWords.end(), plain) != kWords.end() ||
         std::any_of(kEnds.begin(), kEnds.end(), [&](std::string_view end) { return word.ends_with(end); });
}

bool is_header_of_labels(std::string_view word) {
  constexpr std::array<std::string_view, 15> kWords{"y",         "label",   "labels",   "target",   "targets",
                                                    "class",     "classes", "split",    "splits",   "trainmask",
                                                    "validmask", "valmask", "testmask", "category", "train"};
  const std::string plain = plain_name(word);
  return std::find(kWords.begin(), kWords.end(), plain) != kWords.end();
}

std::unique_ptr<NameReader> open_names(const InputFile& file) {
  ByteSource source(file);
  if (is_npy(file, source)) return std::make_unique<NpyNames>(NpyReader(std::move(source)));
  refuse_foreign_format(source, file, InputKind::kNodeIds);
  return std::make_unique<TextNames>(std::move(source));
}

}  // namespace unweave
