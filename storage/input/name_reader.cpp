// storage/input/name_reader.cpp - reads names of nodes from text and from .npy arrays.
#include "storage/input/name_reader.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>

#include "storage/formats/name_file.h"
#include "storage/input/foreign_format.h"
#include "storage/input/line_reader.h"
#include "storage/input/npy.h"
#include "storage/io/error.h"

namespace unweave {
namespace {

constexpr const char* kRemedy =
    "a name is one word of UTF-8, at most 255 bytes, without blanks and commas, and does not begin with #; an empty "
    "line "
    "is a node without a name";

void require_name(std::string_view name, const std::filesystem::path& file, const std::string& place) {
  if (const char* const fault = name_fault(name))
    throw InputError(file, place, quote_for_message(name) + " is no name of a node: " + fault, kRemedy);
}

class TextNames final : public NameReader {
 public:
  explicit TextNames(ByteSource source) : lines_(std::move(source)) {}

  bool next(std::string_view& name) override {
    if (!lines_.next(name)) return false;
    if (name.size() > 1 && name.starts_with('"') && name.ends_with('"'))
      throw InputError(lines_.name(), lines_.place(), quote_for_message(name) + " is in quotes",
                       "write names without them, in every file; what needs quotes in CSV, a blank or a comma, no name "
                       "has");
    if (!name.empty() && name_fault(name) != nullptr) require_name(name, lines_.name(), lines_.place());
    return true;
  }
  [[nodiscard]] std::string place(std::uint64_t node) const override { return "line " + std::to_string(node + 1); }

 private:
  LineReader lines_;
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
  constexpr std::array<std::string_view, 10> kWords{"id",    "ids",    "name",     "names",  "node",
                                                    "nodes", "nodeid", "nodename", "userid", "username"};
  std::string plain;
  for (const char c : word)
    if (c != '_' && c != '-') plain += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return std::find(kWords.begin(), kWords.end(), plain) != kWords.end();
}

std::unique_ptr<NameReader> open_names(const InputFile& file) {
  ByteSource source(file);
  if (is_npy(file, source)) return std::make_unique<NpyNames>(NpyReader(std::move(source)));
  refuse_foreign_format(source, file, InputKind::kNodeIds);
  return std::make_unique<TextNames>(std::move(source));
}

}  // namespace unweave
